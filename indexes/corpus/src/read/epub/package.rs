//! The container and the package document: what an EPUB consists of.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::href::resolve;
use crate::read::Limits;
use crate::read::markup::{Markup, walk_xml};

/// An entry of the manifest.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) href: String,
    pub(super) media_type: String,
    /// Whether it is the EPUB 3 navigation document.
    pub(super) is_navigation: bool,
}

impl Item {
    /// An image in the spine: a cover or a comic's page.
    pub(super) fn holds_no_text(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    /// Whether it is XHTML, by its type or by its name.
    pub(super) fn is_document(&self) -> bool {
        let by_type = matches!(
            self.media_type.as_str(),
            "application/xhtml+xml" | "text/html" | "text/x-oeb1-document" | "application/xml" | ""
        );
        let path = self.href.split(['#', '?']).next().unwrap_or_default();
        let extension = path.rsplit('.').next().unwrap_or_default();
        by_type
            || ["xhtml", "html", "htm"]
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
    }
}

/// A place in the reading order.
#[derive(Debug, PartialEq)]
pub(super) struct Place {
    /// The item's id in the manifest.
    pub(super) id: String,
    pub(super) linear: bool,
}

/// What a package document says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Package {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) language: Option<String>,
    pub(super) items: HashMap<String, Item>,
    pub(super) spine: Vec<Place>,
    /// The EPUB 2 table of contents page, if it is a document of its own.
    contents: Option<String>,
}

impl Package {
    /// Reads a package document; namespaces and their prefixes are ignored.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(document: &str, limits: Limits) -> Result<Self, String> {
        let mut parser = Parser::default();
        walk_xml(document, limits.max_depth, |markup| {
            parser.take(markup);
            ControlFlow::Continue(())
        })
        .map_err(|error| error.to_string())?;
        let package = parser.finish();
        if package.spine.is_empty() {
            return Err("its spine lists no chapter".to_owned());
        }
        if package.spine.len() > limits.max_entries {
            return Err(format!(
                "its spine lists more than {} chapters",
                limits.max_entries
            ));
        }
        Ok(package)
    }

    /// Whether an item is the page of contents and not the only chapter.
    pub(super) fn is_contents_page(&self, item: &Item) -> bool {
        self.spine.len() > 1
            && self
                .contents
                .as_ref()
                .is_some_and(|contents| resolve("", contents) == resolve("", &item.href))
    }
}

#[derive(Default)]
struct Parser {
    package: Package,
    titles: Vec<String>,
    authors: Vec<String>,
    languages: Vec<String>,
    /// The metadata element that is open, with its text so far.
    metadata: Option<(String, String)>,
}

impl Parser {
    fn take(&mut self, markup: Markup<'_>) {
        match markup {
            Markup::Start { name, attributes } => self.start(name, attributes),
            Markup::Text(text) => {
                if let Some((_, so_far)) = &mut self.metadata {
                    so_far.push_str(text);
                }
            }
            Markup::End { name } => self.end(name),
        }
    }

    fn start(&mut self, name: &str, attributes: &[(String, String)]) {
        let attribute = |name: &str| attribute(attributes, name);
        match name {
            "title" | "creator" | "language" => {
                self.metadata = Some((name.to_owned(), String::new()));
            }
            "item" => {
                let properties = attribute("properties");
                let item = Item {
                    href: attribute("href"),
                    media_type: attribute("media-type").trim().to_ascii_lowercase(),
                    is_navigation: properties
                        .split_ascii_whitespace()
                        .any(|word| word == "nav"),
                };
                self.package.items.entry(attribute("id")).or_insert(item);
            }
            "itemref" => self.package.spine.push(Place {
                id: attribute("idref"),
                linear: !attribute("linear").trim().eq_ignore_ascii_case("no"),
            }),
            "reference" if attribute("type").eq_ignore_ascii_case("toc") => {
                // With a fragment it is a place in a chapter.
                self.package.contents = Some(attribute("href")).filter(|href| !href.contains('#'));
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        let Some((_, text)) = self.metadata.take_if(|(open, _)| open == name) else {
            return;
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        match name {
            "title" => self.titles.push(text),
            "creator" => self.authors.push(text),
            _ => self.languages.push(text),
        }
    }

    fn finish(self) -> Package {
        let first = |list: Vec<String>| list.into_iter().next();
        Package {
            title: first(self.titles),
            author: (!self.authors.is_empty()).then(|| self.authors.join(", ")),
            language: first(self.languages),
            ..self.package
        }
    }
}

fn attribute(attributes: &[(String, String)], name: &str) -> String {
    let found = attributes.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.clone()).unwrap_or_default()
}

/// The path of the package document that a container names.
pub(super) fn root_file(document: &str, limits: Limits) -> Result<String, String> {
    let mut path = None;
    walk_xml(document, limits.max_depth, |markup| {
        if let Markup::Start {
            name: "rootfile",
            attributes,
        } = markup
        {
            let media_type = attribute(attributes, "media-type");
            if media_type.is_empty() || media_type == "application/oebps-package+xml" {
                path = resolve("", &attribute(attributes, "full-path"));
            }
        }
        match path {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    })
    .map_err(|error| error.to_string())?;
    path.ok_or_else(|| "it names no package document".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: fn() -> Limits = Limits::default;

    #[test]
    fn a_package_gives_metadata_manifest_and_spine() {
        let package = Package::parse(
            "<?xml version='1.0'?>
            <opf:package xmlns:opf='o' xmlns:dc='d'><opf:metadata>
              <dc:title> A &amp;\n B </dc:title><dc:title>Subtitle</dc:title>
              <dc:creator>First</dc:creator><dc:creator>Second</dc:creator>
              <dc:language>en</dc:language>
            </opf:metadata><opf:manifest>
              <opf:item id='n' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav x'/>
              <opf:item id='c' href='toc.html' media-type='text/html'/>
              <opf:item id='i' href='i.svg' media-type='image/svg+xml'/>
            </opf:manifest><opf:spine>
              <opf:itemref idref='n'/><opf:itemref idref='c' linear='no'/><opf:itemref idref='?'/>
            </opf:spine>
            <opf:guide><opf:reference type='toc' href='./toc.html'/></opf:guide></opf:package>",
            LIMITS(),
        )
        .unwrap();
        assert_eq!(package.title.as_deref(), Some("A & B"));
        assert_eq!(package.author.as_deref(), Some("First, Second"));
        assert_eq!(package.language.as_deref(), Some("en"));
        assert!(package.items["n"].is_navigation && !package.items["c"].is_navigation);
        assert!(package.is_contents_page(&package.items["c"]));
        assert!(!package.is_contents_page(&package.items["n"]));
        assert!(package.items["i"].holds_no_text());
        let linear: Vec<bool> = package.spine.iter().map(|place| place.linear).collect();
        assert_eq!(linear, [true, false, true]);
    }

    #[test]
    fn a_package_without_a_spine_is_an_error() {
        assert!(Package::parse("<package/>", LIMITS()).is_err());
        assert!(Package::parse("<package>", LIMITS()).is_err());
    }

    #[test]
    fn the_container_names_the_package() {
        let container = "<container><rootfiles>
            <rootfile full-path='x.pdf' media-type='application/pdf'/>
            <rootfile full-path='OEBPS/a%20b.opf' media-type='application/oebps-package+xml'/>
            </rootfiles></container>";
        assert_eq!(
            root_file(container, LIMITS()).as_deref(),
            Ok("OEBPS/a b.opf")
        );
        assert!(root_file("<container/>", LIMITS()).is_err());
    }
}
