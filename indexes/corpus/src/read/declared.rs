//! The encoding that a document says it has.

/// How far into a document a declaration may stand, in bytes.
const SEARCHED: usize = 4096;

/// The label in the XML declaration or a `meta` element of a document in an
/// ASCII-compatible encoding.
pub(super) fn declared_label(bytes: &[u8]) -> Option<String> {
    // Declarations are ASCII; a lossy view keeps them and every position.
    let head: String = bytes[..bytes.len().min(SEARCHED)]
        .iter()
        .map(|&byte| char::from(byte).to_ascii_lowercase())
        .collect();
    xml_declaration(&head).or_else(|| meta(&head))
}

fn xml_declaration(head: &str) -> Option<String> {
    let declaration = head.trim_start().strip_prefix("<?xml")?;
    let declaration = declaration.split_once("?>")?.0;
    value_of("encoding", declaration)
}

fn meta(head: &str) -> Option<String> {
    let mut rest = head;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let end = if rest.starts_with("<!--") { "-->" } else { ">" };
        let (tag, after) = rest.split_once(end)?;
        if let Some(label) = tag
            .strip_prefix("<meta")
            .and_then(|attributes| value_of("charset", attributes))
        {
            return Some(label);
        }
        rest = after;
    }
    None
}

/// What follows `name =`, without quotes.
fn value_of(name: &str, attributes: &str) -> Option<String> {
    let (_, after) = attributes.split_once(name)?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value
        .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '/' | '>'))
        .unwrap_or(value.len());
    (end > 0).then(|| value[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found_where_the_standards_put_them() {
        for (document, label) in [
            ("<?xml version='1.0' encoding='GBK'?><html>", Some("gbk")),
            ("<html><META CHARSET=Big5>", Some("big5")),
            (
                "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=shift_jis\"/>",
                Some("shift_jis"),
            ),
            (
                "<!-- <meta charset=gbk> --><meta charset = 'utf-8' >",
                Some("utf-8"),
            ),
            ("<meta name=x><p>charset=gbk</p>", None),
            ("<meta charset=>", None),
            ("<meta charset", None),
            ("plain text", None),
            ("", None),
        ] {
            assert_eq!(
                declared_label(document.as_bytes()).as_deref(),
                label,
                "{document}"
            );
        }
    }
}
