//! Axes: from a value to its place, and the places that are labelled.

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From 0, evenly.
    Linear,
    /// By orders of magnitude.
    Log,
    /// Shares from 0 to below 1, by how few lie above: as much room from 90 %
    /// to 99 % as from 99 % to 99.9 %.
    Percentile,
}

/// An axis of a plot.
#[derive(Debug, Clone)]
pub struct Axis {
    pub(crate) title: &'static str,
    pub(crate) low: f64,
    /// Where it ends.
    pub high: f64,
    /// Places and what is written there.
    pub(crate) labels: Vec<(f64, String)>,
    scale: Scale,
}

impl Axis {
    /// From 0 to a little above the greatest value.
    pub fn linear(title: &'static str, greatest: f64) -> Self {
        let high = if greatest > 0.0 { greatest } else { 1.0 };
        let step = nice_step(high / 5.0);
        let count = (high / step).floor() as u32;
        Self {
            title,
            low: 0.0,
            high: high * 1.02,
            labels: (0..=count)
                .map(|at| f64::from(at) * step)
                .map(|value| (value, short(value)))
                .collect(),
            scale: Scale::Linear,
        }
    }

    /// Around the values, which must be above 0.
    pub fn log(title: &'static str, values: &[f64]) -> Self {
        let positive = || values.iter().copied().filter(|value| *value > 0.0);
        let least = positive().min_by(f64::total_cmp).unwrap_or(1.0);
        let greatest = positive().max_by(f64::total_cmp).unwrap_or(10.0);
        // At least half an order of magnitude, so that noise stays small.
        let middle = (least * greatest).sqrt();
        let low = least.min(middle / 1.8).log10() - 0.04;
        let high = greatest.max(middle * 1.8).log10() + 0.04;
        let digits: &[f64] = match high - low {
            span if span > 2.5 => &[1.0],
            span if span > 1.2 => &[1.0, 3.0],
            _ => &[1.0, 2.0, 3.0, 5.0, 7.0],
        };
        let decades = low.floor() as i32..=high.ceil() as i32;
        let labels = decades
            .flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)))
            .map(|value| (value.log10(), short(value)))
            .filter(|(place, _)| (low..=high).contains(place));
        Self {
            title,
            low,
            high,
            labels: labels.collect(),
            scale: Scale::Log,
        }
    }

    /// Percentiles up to the last that so many values tell.
    pub fn percentile(title: &'static str, count: u64) -> Self {
        let high = if count >= 1000 { 3.0 } else { 2.0 };
        let shown = [
            (0.0, "0"),
            (0.5, "50"),
            (0.9, "90"),
            (0.99, "99"),
            (0.999, "99.9"),
        ];
        let mut axis = Self {
            title,
            low: 0.0,
            high: high + 0.15,
            labels: Vec::new(),
            scale: Scale::Percentile,
        };
        axis.labels = shown
            .iter()
            .map(|(share, text)| (axis.place(*share), format!("{text} %")))
            .filter(|(place, _)| *place <= axis.high)
            .collect();
        axis
    }

    /// Around these values, each of which is labelled: by orders of magnitude.
    pub fn steps(title: &'static str, values: &[f64]) -> Self {
        let mut axis = Self::log(title, values);
        axis.labels = values
            .iter()
            .map(|value| (axis.place(*value), short(*value)))
            .collect();
        axis
    }

    /// Names at 0, 1, 2 and so on, from the left, with room beside them.
    pub fn columns(title: &'static str, names: &[&str]) -> Self {
        let labels = names.iter().enumerate();
        Self {
            title,
            low: -0.5,
            high: names.len() as f64 - 0.5,
            labels: labels
                .map(|(at, name)| (at as f64, (*name).to_owned()))
                .collect(),
            scale: Scale::Linear,
        }
    }

    /// Names at 0, 1, 2 and so on, the first at the top.
    pub fn names(names: &[String]) -> Self {
        let last = names.len() as f64 - 1.0;
        let place = |(at, name): (usize, &String)| (last - at as f64, name.clone());
        Self {
            title: "",
            low: -0.5,
            high: last + 0.5,
            labels: names.iter().enumerate().map(place).collect(),
            scale: Scale::Linear,
        }
    }

    /// Where a value lies.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).log10().max(self.low),
            Scale::Percentile => -(1.0 - value).log10(),
        }
    }

    /// What is written at a place.
    pub(crate) fn label(&self, place: f64) -> String {
        let here = |(at, _): &&(f64, String)| (at - place).abs() < 1e-9;
        let label = self.labels.iter().find(here);
        label.map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

/// The step of 1, 2 or 5 times a power of ten that is next above a length.
fn nice_step(length: f64) -> f64 {
    let power = 10f64.powf(length.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let next = steps.into_iter().find(|step| *step >= length * 0.999);
    next.unwrap_or(10.0 * power)
}

/// A label's number, without digits that say nothing.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match value >= 10_000.0 {
        true => format!("{}k", value / 1000.0),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.labels.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn labels_are_round_numbers_within_the_axis() {
        assert_eq!(
            texts(&Axis::linear("", 43.0)),
            ["0", "10", "20", "30", "40"]
        );
        assert_eq!(
            texts(&Axis::linear("", 0.0)),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(texts(&Axis::log("", &[0.5, 900.0])), ["1", "10", "100"]);
        assert_eq!(texts(&Axis::log("", &[10.0, 10.0])), ["7", "10"]);
    }

    #[test]
    fn percentiles_have_equal_room_for_each_nine() {
        let axis = Axis::percentile("", 5000);
        let place = |share| (axis.place(share) * 1e6).round() / 1e6;
        assert_eq!([0.0, 0.9, 0.99, 0.999].map(place), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(texts(&axis), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        assert_eq!(texts(&Axis::percentile("", 50)).last(), Some(&"99 %"));
    }

    #[test]
    fn a_name_is_written_at_its_place_and_nothing_between() {
        let axis = Axis::names(&["first".to_owned(), "second".to_owned()]);
        assert_eq!(axis.label(1.0), "first");
        assert_eq!(axis.label(0.0), "second");
        assert_eq!(axis.label(0.5), "");
    }
}
