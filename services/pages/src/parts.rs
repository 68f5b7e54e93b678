//! Text, numbers and tables of a page.

/// Text as it may stand in HTML, in an element or in a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            // Marks that reverse the direction of text could rewrite a line.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => escaped.push('\u{fffd}'),
            c if c.is_control() && c != '\n' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A count, grouped.
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A measured number to three digits or, above, whole and grouped.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    grouped(&format!("{value:.digits$}"))
}

/// With a comma before each three digits of the whole part.
fn grouped(text: &str) -> String {
    let whole = text.find('.').unwrap_or(text.len());
    let mut shown = String::new();
    for (at, c) in text.char_indices() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(c);
    }
    shown
}

/// Microseconds, in milliseconds.
pub fn milliseconds(micros: f64) -> String {
    number(micros / 1000.0)
}

/// A cell of a table.
pub struct Cell {
    text: String,
    bad: bool,
}

/// A plain cell.
pub fn cell(text: String) -> Cell {
    Cell { text, bad: false }
}

/// A cell with a count that should be 0.
pub fn unwanted(number: u64) -> Cell {
    Cell {
        text: count(number),
        bad: number > 0,
    }
}

/// A table whose first column names the row.
pub fn table(header: &[&str], rows: Vec<Vec<Cell>>) -> String {
    let mut html = "<div class=\"scroll\" tabindex=\"0\">\n<table>\n<thead><tr>".to_owned();
    for name in header {
        html += &format!("<th scope=\"col\">{}</th>", escape(name));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        html += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            let text = escape(&cell.text);
            html += &match (at, cell.bad) {
                (0, _) => format!("<th scope=\"row\">{text}</th>"),
                (_, true) => format!("<td class=\"bad\">{text}</td>"),
                (_, false) => format!("<td>{text}</td>"),
            };
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table>\n</div>\n"
}

/// What each colour stands for: names, with the number of their colour.
pub fn legend(series: &[(String, usize)]) -> String {
    let entries = series
        .iter()
        .map(|(name, color)| format!("<li><i class=\"s{color}\"></i>{}</li>", escape(name)));
    format!(
        "<ul class=\"legend\">{}</ul>\n",
        entries.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(
            escape("<script>\"'&\u{202e}\x1b"),
            "&lt;script&gt;&quot;&#39;&amp;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn numbers_keep_three_digits_and_are_grouped() {
        let shown = [0.0, 0.1234, 1.234, 12.0, 123.4, 1234.0, 1_234_567.8].map(number);
        assert_eq!(
            shown,
            ["0", "0.123", "1.23", "12.0", "123", "1,234", "1,234,568"]
        );
    }
}
