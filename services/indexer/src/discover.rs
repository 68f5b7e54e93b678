//! From what was named to the files to read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use quire_corpus::Format;

/// Something to read books from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input.
    StandardInput,
}

impl Source {
    /// The name people know it by.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::StandardInput => "-".to_owned(),
        }
    }
}

/// What was found below the named paths.
#[derive(Debug, Default)]
pub struct Discovered {
    /// What to read: in the order named, a folder's files by path. Each once.
    pub sources: Vec<Source>,
    /// Files in folders that are no books, by path.
    pub passed_over: Vec<PathBuf>,
    /// Named paths that cannot be indexed, in the order named.
    pub failed: Vec<DiscoverError>,
}

/// A path that cannot be indexed.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// Nothing is there, or it cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder without a book.
    #[error(
        "{0} holds no book: quire reads .txt, .md, .html, .xhtml, .epub and InfiniteBench .jsonl"
    )]
    NoBook(PathBuf),
}

/// How deep folders are followed.
const DEEPEST: usize = 64;

/// Finds what to read. `-` is standard input; a folder is read recursively,
/// hidden files left out; a file that is named is read whatever its name. A
/// path that cannot be read does not keep the others from being found.
pub fn discover(paths: &[PathBuf]) -> Discovered {
    let mut found = Discovered::default();
    let mut seen = BTreeSet::new();
    for path in paths {
        if let Err(error) = add(path, &mut found, &mut seen) {
            found.failed.push(error);
        }
    }
    found
}

fn add(
    path: &PathBuf,
    found: &mut Discovered,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<(), DiscoverError> {
    if path.as_os_str() == "-" {
        if seen.insert(path.clone()) {
            found.sources.push(Source::StandardInput);
        }
        return Ok(());
    }
    let metadata = fs::metadata(path).map_err(|source| DiscoverError::Read {
        path: path.clone(),
        source,
    })?;
    if !metadata.is_dir() {
        if seen.insert(identity(path)) {
            found.sources.push(Source::File(path.clone()));
        }
        return Ok(());
    }
    let mut files = Vec::new();
    walk(path, 0, &mut BTreeSet::new(), &mut files)?;
    let (books, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_book(file));
    if books.is_empty() {
        return Err(DiscoverError::NoBook(path.clone()));
    }
    found.passed_over.extend(others);
    let new = books.into_iter().filter(|file| seen.insert(identity(file)));
    found.sources.extend(new.map(Source::File));
    Ok(())
}

/// Every file below a folder, by path. A folder reached twice, as through a
/// link to its parent, is read once.
fn walk(
    folder: &Path,
    depth: usize,
    visited: &mut BTreeSet<PathBuf>,
    files: &mut Vec<PathBuf>,
) -> Result<(), DiscoverError> {
    if depth > DEEPEST || !visited.insert(identity(folder)) {
        return Ok(());
    }
    let failed = |source| DiscoverError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        if hidden {
            continue;
        }
        // A dangling link is not a book.
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            walk(&path, depth + 1, visited, files)?;
        } else if metadata.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a file of a folder is to be read: by its name, and JSON lines only
/// if they are InfiniteBench's.
fn is_book(path: &Path) -> bool {
    match Format::of_path(path) {
        None => false,
        Some(Format::InfiniteBench) => has_context(path).unwrap_or(true),
        Some(_) => true,
    }
}

/// Whether the first line is an object with a `context`. What cannot be told
/// is left to the reader, whose error says why.
fn has_context(path: &Path) -> io::Result<bool> {
    const LOOK: u64 = 64 << 20;
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(LOOK)).read_until(b'\n', &mut line)?;
    let key = b"\"context\"";
    Ok(line.windows(key.len()).any(|window| window == key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn folders_are_read_recursively_in_order_and_other_files_passed_over() {
        let folder = folder(&[
            ("b/two.epub", ""),
            ("a.txt", ""),
            ("c.MD", ""),
            ("cover.png", ""),
            (".hidden.txt", ""),
            ("bench.jsonl", "{\"id\": 0, \"context\": \"x\"}\n"),
            ("questions.jsonl", "{\"question\": \"x\"}\n"),
        ]);
        let found = discover(&[folder.path().to_owned()]);
        let below = |path: &Path| path.strip_prefix(folder.path()).unwrap().to_owned();
        let names: Vec<_> = found
            .sources
            .iter()
            .map(|source| match source {
                Source::File(path) => below(path),
                Source::StandardInput => PathBuf::from("-"),
            })
            .collect();
        assert_eq!(
            names,
            ["a.txt", "b/two.epub", "bench.jsonl", "c.MD"].map(PathBuf::from)
        );
        let others: Vec<_> = found.passed_over.iter().map(|path| below(path)).collect();
        assert_eq!(others, ["cover.png", "questions.jsonl"].map(PathBuf::from));
    }

    #[test]
    fn a_file_named_twice_is_read_once_and_any_named_file_is_read() {
        let folder = folder(&[("a.txt", ""), ("odd.name", "")]);
        let (a, odd) = (folder.path().join("a.txt"), folder.path().join("odd.name"));
        let found = discover(&[a.clone(), odd.clone(), folder.path().to_owned()]);
        assert_eq!(found.sources, [Source::File(a), Source::File(odd)]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_parent_folder_ends() {
        let folder = folder(&[("in/a.txt", "")]);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("in/loop")).unwrap();
        assert_eq!(discover(&[folder.path().to_owned()]).sources.len(), 1);
    }

    #[test]
    fn what_is_not_there_or_holds_no_book_is_an_error_that_names_it() {
        let folder = folder(&[("cover.png", "")]);
        let missing = &discover(&[folder.path().join("gone.txt")]).failed[0];
        assert!(missing.to_string().contains("gone.txt"), "{missing}");
        let none = &discover(&[folder.path().to_owned()]).failed[0];
        assert!(none.to_string().contains("holds no book"), "{none}");
    }
}
