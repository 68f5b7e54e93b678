//! Paths inside an archive.

/// The folder of a path, empty at the top.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The path that a reference in a document of `folder` names, without its
/// fragment and query; `None` when it leads out of the archive to elsewhere.
/// No `..` climbs above the top.
pub(super) fn resolve(folder: &str, href: &str) -> Option<String> {
    let href = href.trim();
    let end = href.find(['#', '?']).unwrap_or(href.len());
    let path = &href[..end];
    let first = path.split('/').next().unwrap_or_default();
    if path.is_empty() || path.starts_with("//") || first.contains(':') {
        return None;
    }
    let decoded = percent_decoded(path).replace('\\', "/");
    let mut names: Vec<&str> = Vec::new();
    let base = if decoded.starts_with('/') { "" } else { folder };
    for name in base.split('/').chain(decoded.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

fn percent_decoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = bytes
            .get(at + 1..at + 3)
            .filter(|digits| byte == b'%' && digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_inside_the_archive() {
        for (folder, href, path) in [
            ("OEBPS", "ch1.xhtml", Some("OEBPS/ch1.xhtml")),
            (
                "OEBPS/a",
                "../text/ch%201.xhtml#p3",
                Some("OEBPS/text/ch 1.xhtml"),
            ),
            ("", "./%E4%B8%80.xhtml?x", Some("一.xhtml")),
            ("OEBPS", "/top.html", Some("top.html")),
            ("OEBPS", "../../../etc/passwd", Some("etc/passwd")),
            ("OEBPS", "a\\b.html", Some("OEBPS/a/b.html")),
            ("OEBPS", "100%.html", Some("OEBPS/100%.html")),
            ("OEBPS", "%2e%2e/x.html", Some("x.html")),
            ("OEBPS", "http://example.org/x", None),
            ("OEBPS", "//example.org/x", None),
            ("OEBPS", "#top", None),
            ("OEBPS", "", None),
            ("OEBPS", "..", None),
        ] {
            assert_eq!(resolve(folder, href).as_deref(), path, "{folder} {href}");
        }
        assert_eq!(parent("a/b/c"), "a/b");
        assert_eq!(parent("c"), "");
    }
}
