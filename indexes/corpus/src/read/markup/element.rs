//! What elements mean for the text.

/// How an element stands among its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    /// In the line.
    Inline,
    /// A block of its own, set off by blank lines.
    Block,
    /// A line of a table.
    Row,
    /// A cell in a line, set off by a tab.
    Cell,
    /// A line break.
    Break,
    /// An element without content that leaves no trace in the text.
    Void,
}

/// What an element does to what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Plain,
    /// Leaves it out.
    Hidden,
    /// Leaves it out and takes it for the document's title.
    Title,
    /// Keeps its white space.
    Preformatted,
    /// Makes it a heading of this level, from 1.
    Heading(u8),
    /// Makes the headings and lines in it one heading.
    HeadingGroup,
}

pub(super) fn display(name: &str) -> Display {
    match name {
        "br" => Display::Break,
        "area" | "base" | "basefont" | "bgsound" | "col" | "embed" | "frame" | "img" | "input"
        | "keygen" | "link" | "meta" | "param" | "source" | "track" | "wbr" => Display::Void,
        "tr" | "thead" | "tbody" | "tfoot" => Display::Row,
        "td" | "th" => Display::Cell,
        "address" | "article" | "aside" | "blockquote" | "body" | "caption" | "center" | "dd"
        | "details" | "dialog" | "dir" | "div" | "dl" | "dt" | "fieldset" | "figcaption"
        | "figure" | "footer" | "form" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "head"
        | "header" | "hgroup" | "hr" | "html" | "legend" | "li" | "listing" | "main" | "menu"
        | "nav" | "ol" | "p" | "plaintext" | "pre" | "search" | "section" | "summary" | "table"
        | "title" | "ul" | "xmp" => Display::Block,
        _ => Display::Inline,
    }
}

pub(super) fn effect(name: &str) -> Effect {
    match name {
        "h1" => Effect::Heading(1),
        "h2" => Effect::Heading(2),
        "h3" => Effect::Heading(3),
        "h4" => Effect::Heading(4),
        "h5" => Effect::Heading(5),
        "h6" => Effect::Heading(6),
        "hgroup" => Effect::HeadingGroup,
        "title" => Effect::Title,
        "pre" | "listing" | "xmp" | "plaintext" => Effect::Preformatted,
        // Code and controls, what stands in for media that cannot be shown,
        // lists of links, and the readings over ruby.
        "script" | "style" | "template" | "noscript" | "noframes" | "noembed" | "iframe"
        | "object" | "audio" | "video" | "canvas" | "svg" | "select" | "datalist" | "textarea"
        | "nav" | "rt" | "rp" | "rtc" | "annotation" | "annotation-xml" => Effect::Hidden,
        _ => Effect::Plain,
    }
}

/// Whether attributes keep an element out of the text: hidden ones, and the
/// page numbers of a printed edition.
pub(super) fn is_hidden(attributes: &[(String, String)]) -> bool {
    attributes.iter().any(|(key, value)| match key.as_str() {
        "hidden" => true,
        "style" => {
            let style: String = value
                .chars()
                .filter(|character| !character.is_whitespace())
                .map(|character| character.to_ascii_lowercase())
                .collect();
            style.contains("display:none") || style.contains("visibility:hidden")
        }
        "epub:type" | "role" => value
            .split_ascii_whitespace()
            .any(|word| matches!(word, "pagebreak" | "doc-pagebreak")),
        _ => false,
    })
}

/// The open elements that a start tag ends in HTML, and those it does not
/// look beyond.
pub(super) fn ends(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    const TABLE: &[&str] = &["table"];
    match name {
        "li" => Some((&["li"], &["ul", "ol", "menu", "dir"])),
        "dt" | "dd" => Some((&["dt", "dd"], &["dl"])),
        "td" | "th" => Some((&["td", "th"], &["tr", "table"])),
        "tr" => Some((&["tr"], TABLE)),
        "thead" | "tbody" | "tfoot" => Some((&["thead", "tbody", "tfoot"], TABLE)),
        "rt" | "rp" | "rb" | "rtc" => Some((&["rt", "rp"], &["ruby"])),
        _ => None,
    }
}

/// Where the search for an open paragraph ends.
pub(super) const PARAGRAPH_SCOPE: &[&str] = &["td", "th", "table", "caption", "html", "object"];
