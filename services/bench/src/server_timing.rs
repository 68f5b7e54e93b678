//! The `Server-Timing` header.

/// The entries of a `Server-Timing` header that have a duration: name and
/// milliseconds, in the header's order. What is malformed is passed over.
pub fn entries(header: &str) -> impl Iterator<Item = (&str, f64)> {
    header.split(',').filter_map(|entry| {
        let mut parts = entry.split(';');
        let name = parts.next()?.trim();
        let milliseconds = parts.find_map(|part| {
            let (key, value) = part.split_once('=')?;
            if !key.trim().eq_ignore_ascii_case("dur") {
                return None;
            }
            value.trim().trim_matches('"').parse::<f64>().ok()
        })?;
        (!name.is_empty() && milliseconds.is_finite() && milliseconds >= 0.0)
            .then_some((name, milliseconds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_durations_are_read_in_order() {
        let header = "queue;dur=0.12, embed;dur=3,total;desc=\"all\";dur=12.5";
        let read: Vec<_> = entries(header).collect();
        assert_eq!(read, [("queue", 0.12), ("embed", 3.0), ("total", 12.5)]);
    }

    #[test]
    fn what_has_no_sound_duration_is_passed_over() {
        let header = "cache, hit;desc=x, a;dur=, b;dur=-1, c;dur=inf, ;dur=1, d;DUR=\"2\"";
        assert_eq!(entries(header).collect::<Vec<_>>(), [("d", 2.0)]);
    }
}
