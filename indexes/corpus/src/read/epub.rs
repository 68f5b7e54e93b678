//! EPUB 2 and 3: an archive, a package document, chapters in spine order.
//!
//! Auxiliary documents (`linear="no"`: notes, answers) are kept, after the
//! rest: where they stand in the spine they would split the story. Tables of
//! contents are left out. Nothing is ever written to disk.

mod archive;
mod href;
mod package;
mod protection;

use std::collections::HashSet;

use archive::{Archive, EntryError};
use href::{parent, resolve};
use package::{Item, Package};
use protection::Protection;

use super::canonical::canonical;
use super::decode::{Declared, decode};
use super::markup::{TooDeep, extract_xhtml};
use super::report::{Malformed, Problems};
use super::{EncodingReport, Format, ReadError, ReadOptions, ReadReport, SourceBook};
use crate::BookId;

const CONTAINER: &str = "META-INF/container.xml";

/// Reads an EPUB.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<SourceBook, ReadError> {
    let mut archive = Archive::open(name, bytes, options.limits)?;
    let mut problems = Problems::new(name, options.strictness);
    let protection = Protection::of(&mut archive, options, &mut problems)?;
    let path = package_path(&mut archive, options, &mut problems)?;
    let document = required(&mut archive, &path, options)?;
    let package = Package::parse(&document, options.limits).map_err(|what| ReadError::Package {
        name: name.to_owned(),
        part: path.clone(),
        what,
    })?;
    let mut chapters = Chapters {
        archive: &mut archive,
        base: parent(&path),
        protection: &protection,
        options,
        problems,
        text: String::new(),
        malformed: Malformed::default(),
        encoding: None,
        failed: 0,
        encrypted: 0,
    };
    let spine = chapters.read_all(&package)?;
    let Chapters {
        problems,
        text,
        malformed,
        encoding,
        failed,
        encrypted,
        ..
    } = chapters;
    if encrypted > 0 && text.is_empty() {
        return Err(ReadError::Protected {
            name: name.to_owned(),
            scheme: protection.scheme,
        });
    }
    let problems = problems.into_list();
    if let Some(first) = problems.first().filter(|_| failed > 0 && text.is_empty()) {
        return Err(ReadError::NoChapter {
            name: name.to_owned(),
            count: spine,
            first: first.clone(),
        });
    }
    let text = canonical(text);
    let Some(encoding) = encoding.filter(|_| !text.trim().is_empty()) else {
        return Err(ReadError::Empty {
            name: name.to_owned(),
        });
    };
    let text = text + "\n";
    Ok(SourceBook {
        id: BookId::of_text(&text),
        text,
        title: package.title,
        author: package.author,
        language: package.language,
        source: name.to_owned(),
        report: ReadReport {
            format: Format::Epub,
            encoding,
            malformed,
            problems,
        },
    })
}

/// Where the package document is: as the container says, else the only one.
fn package_path(
    archive: &mut Archive<'_>,
    options: &ReadOptions,
    problems: &mut Problems<'_>,
) -> Result<String, ReadError> {
    let wrong = |archive: &Archive<'_>, what: String| ReadError::Package {
        name: archive.name().to_owned(),
        part: CONTAINER.to_owned(),
        what,
    };
    match required(archive, CONTAINER, options) {
        Ok(document) => {
            package::root_file(&document, options.limits).map_err(|what| wrong(archive, what))
        }
        Err(error @ ReadError::Excessive { .. }) => Err(error),
        Err(error) => {
            let path = archive.only_with_extension("opf").ok_or(error)?;
            let what = format!("missing or unreadable; {path} used instead");
            problems.add(CONTAINER, what)?;
            Ok(path)
        }
    }
}

/// A document without which there is no book, decoded.
fn required(
    archive: &mut Archive<'_>,
    path: &str,
    options: &ReadOptions,
) -> Result<String, ReadError> {
    let bytes = match archive.read(path) {
        Ok(bytes) => bytes,
        Err(EntryError::Excessive(error)) => return Err(*error),
        Err(error) => {
            return Err(ReadError::Package {
                name: archive.name().to_owned(),
                part: path.to_owned(),
                what: error.to_string(),
            });
        }
    };
    let part = format!("{} ({path})", archive.name());
    let decoded = decode(&part, &bytes, options.encoding, Declared::InMarkup)?;
    Ok(canonical(decoded.text))
}

/// Reading the chapters one after the other.
struct Chapters<'a, 'b> {
    archive: &'a mut Archive<'b>,
    /// The folder of the package document.
    base: &'a str,
    protection: &'a Protection,
    options: &'a ReadOptions,
    problems: Problems<'a>,
    text: String,
    malformed: Malformed,
    /// The least certain so far.
    encoding: Option<EncodingReport>,
    failed: usize,
    encrypted: usize,
}

impl Chapters<'_, '_> {
    /// Reads the spine and returns how many chapters it has.
    fn read_all(&mut self, package: &Package) -> Result<usize, ReadError> {
        let mut seen: HashSet<&str> = HashSet::new();
        let mut count = 0;
        for linear in [true, false] {
            for place in package.spine.iter().filter(|place| place.linear == linear) {
                if !seen.insert(&place.id) {
                    continue;
                }
                let Some(item) = package.items.get(&place.id) else {
                    count += 1;
                    self.fail(&place.id, "in the spine, but not in the manifest")?;
                    continue;
                };
                if item.holds_no_text() || package.is_contents_page(item) {
                    continue;
                }
                count += 1;
                self.read_one(item)?;
            }
        }
        Ok(count)
    }

    fn fail(&mut self, part: &str, what: impl ToString) -> Result<(), ReadError> {
        self.failed += 1;
        self.problems.add(part, what)
    }

    fn read_one(&mut self, item: &Item) -> Result<(), ReadError> {
        let Some(path) = resolve(self.base, &item.href) else {
            return self.fail(&item.href, "not a file in the archive");
        };
        if self.protection.encrypted.contains(&path) {
            self.encrypted += 1;
            return self.fail(&path, "encrypted; left out");
        }
        if !item.is_document() {
            let what = format!("not a text document but {}; left out", item.media_type);
            return self.fail(&path, what);
        }
        let bytes = match self.archive.read(&path) {
            Ok(bytes) => bytes,
            Err(EntryError::Excessive(error)) => return Err(*error),
            Err(error) => return self.fail(&path, format!("{error}; left out")),
        };
        let encoding = self.options.encoding;
        let decoded = match decode(&path, &bytes, encoding, Declared::InMarkup) {
            Ok(decoded) => decoded,
            Err(error) => return self.fail(&path, format!("{error}; left out")),
        };
        let part = format!("{} ({path})", self.archive.name());
        decoded.refuse_malformed_if_strict(&part, self.options.strictness)?;
        decoded.note_wrong_declaration(&path, &mut self.problems)?;
        let document = canonical(decoded.text);
        let max_depth = self.options.limits.max_depth;
        let extracted = match extract_xhtml(&document, max_depth) {
            Ok((extracted, problem)) => {
                if let Some(problem) = problem {
                    self.problems.add(&path, problem)?;
                }
                extracted
            }
            Err(TooDeep) => {
                let what = format!("nests elements deeper than {max_depth}; left out");
                return self.fail(&path, what);
            }
        };
        self.malformed.absorb(&path, decoded.malformed);
        let surer = |known: &EncodingReport| known.confidence <= decoded.encoding.confidence;
        if !self.encoding.as_ref().is_some_and(surer) {
            self.encoding = Some(decoded.encoding);
        }
        // What a navigation document has besides its lists of links is their
        // heading.
        if item.is_navigation && extracted.text.lines().all(is_heading_or_blank) {
            return Ok(());
        }
        if !self.text.is_empty() && !extracted.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(&extracted.text);
        Ok(())
    }
}

fn is_heading_or_blank(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}
