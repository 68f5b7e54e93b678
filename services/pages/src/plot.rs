//! Drawing with the plotting library.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::*;

use crate::PlotError;
use crate::axis::Axis;

/// Pixels of a picture in a window of a desk.
pub const WIDE: (u32, u32) = (900, 400);
/// In that of a telephone.
pub const NARROW: (u32, u32) = (350, 310);

const INK: RGBColor = RGBColor(0x1b, 0x1b, 0x19);
const AXIS: RGBColor = RGBColor(0x8a, 0x87, 0x7d);
const GRID: RGBColor = RGBColor(0xe3, 0xe0, 0xd8);

/// Colours of series, in the order of growing load, on light and on dark.
const SERIES: [(RGBColor, &str); 8] = [
    (RGBColor(0x0f, 0x76, 0x6e), "#2dd4bf"),
    (RGBColor(0x03, 0x69, 0xa1), "#38bdf8"),
    (RGBColor(0x43, 0x38, 0xca), "#93a0ff"),
    (RGBColor(0x7e, 0x22, 0xce), "#c794ff"),
    (RGBColor(0xb0, 0x1f, 0x8a), "#f28be0"),
    (RGBColor(0xbe, 0x12, 0x3c), "#ff8fa3"),
    (RGBColor(0xc2, 0x41, 0x0c), "#fb923c"),
    (RGBColor(0x85, 0x61, 0x0b), "#facc15"),
];

/// How many series have a colour of their own.
pub const MOST_SERIES: usize = SERIES.len();

fn color(number: usize) -> RGBColor {
    SERIES[number % SERIES.len()].0
}

/// Style rules that give the pictures' colours, which are those of a light
/// page, their counterparts on a dark one; and the legends the same.
pub fn palette_style() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    let mut fixed = |color: RGBColor, name: &str| {
        let hex = hex(color);
        light += &format!("svg [fill=\"{hex}\"]{{fill:var({name})}}\n");
        light += &format!("svg [stroke=\"{hex}\"]{{stroke:var({name})}}\n");
    };
    fixed(INK, "--ink");
    fixed(AXIS, "--axis");
    fixed(GRID, "--line");
    for (at, (on_light, on_dark)) in SERIES.iter().enumerate() {
        let hex = hex(*on_light);
        light += &format!(".s{at}{{background:{hex}}}\n");
        dark += &format!(
            ".s{at}{{background:{on_dark}}}\nsvg [fill=\"{hex}\"]{{fill:{on_dark}}}\n\
             svg [stroke=\"{hex}\"]{{stroke:{on_dark}}}\n"
        );
    }
    format!("{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n")
}

/// As the plotting library writes it.
fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// One line through points, in values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// The number of its colour.
    pub color: usize,
    /// The points, from the left.
    pub points: Vec<(f64, f64)>,
    /// Written beside each point; none for a line without marks.
    pub marks: Vec<String>,
    /// How far a whisker goes up and down from each point; none for a line
    /// without whiskers.
    pub errors: Vec<f64>,
}

/// One bar of pieces that follow one another, in values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bar {
    /// Colour and length of each.
    pub pieces: Vec<(usize, f64)>,
    /// Where a mark is drawn across it.
    pub mark: Option<f64>,
}

/// Lines over two axes, as an SVG document of that size in pixels. `plot` names
/// it in an error.
///
/// # Errors
/// When the plotting library fails.
pub fn lines(
    plot: &'static str,
    size: (u32, u32),
    x: &Axis,
    y: &Axis,
    lines: &[Line],
) -> Result<String, PlotError> {
    draw(plot, size, 50, x, y, |chart| {
        let mut written: Vec<(i32, i32)> = Vec::new();
        for line in lines {
            let places: Vec<(f64, f64)> = line
                .points
                .iter()
                .map(|(at, value)| (x.place(*at), y.place(*value)))
                .collect();
            let style = color(line.color).stroke_width(2);
            chart.draw_series(LineSeries::new(places.clone(), style))?;
            for ((at, value), error) in line.points.iter().zip(&line.errors) {
                let ends = [value - error, value + error];
                let whisker = ends.map(|end| (x.place(*at), y.place(end)));
                chart.draw_series(LineSeries::new(whisker, style))?;
            }
            for (place, mark) in places.iter().zip(&line.marks) {
                let dot = Circle::new(*place, 4, color(line.color).filled());
                chart.draw_series(std::iter::once(dot))?;
                // Where points lie close, the first one's name stands for all.
                let (left, top) = chart.backend_coord(place);
                let covered = |(x, y): &(i32, i32)| (x - left).abs() < 26 && (y - top).abs() < 14;
                if mark.is_empty() || written.iter().any(covered) {
                    continue;
                }
                written.push((left, top));
                let style = ("sans-serif", 13).into_font().color(&INK);
                let name = EmptyElement::at(*place) + Text::new(mark.clone(), (-4, -21), style);
                chart.draw_series(std::iter::once(name))?;
            }
        }
        Ok(())
    })
}

/// Bars from the left, one for each name of the axis `y`; otherwise as
/// [`lines`].
///
/// # Errors
/// When the plotting library fails.
pub fn bars(
    plot: &'static str,
    size: (u32, u32),
    x: &Axis,
    y: &Axis,
    bars: &[Bar],
) -> Result<String, PlotError> {
    draw(plot, size, 84, x, y, |chart| {
        for (at, bar) in bars.iter().enumerate() {
            let middle = (bars.len() - 1 - at) as f64;
            let (bottom, top) = (middle - 0.32, middle + 0.32);
            let mut from = 0.0;
            for (number, length) in &bar.pieces {
                let corners = [(from, bottom), (from + length, top)];
                let piece = Rectangle::new(corners, color(*number).filled());
                chart.draw_series(std::iter::once(piece))?;
                from += length;
            }
            if let Some(mark) = bar.mark {
                let (bottom, top) = (middle - 0.44, middle + 0.44);
                let across = vec![(mark, bottom), (mark, top)];
                chart.draw_series(LineSeries::new(across, INK.stroke_width(2)))?;
            }
        }
        Ok(())
    })
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Placed, Placed>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// An axis as the plotting library wants it: labelled at its own places only.
#[derive(Clone)]
struct Placed(Axis);

impl Ranged for Placed {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (place - self.0.low) / (self.0.high - self.0.low);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.0.labels.iter().map(|(place, _)| *place).collect()
    }

    fn range(&self) -> Range<f64> {
        self.0.low..self.0.high
    }
}

impl ValueFormatter<f64> for Placed {
    fn format(place: &f64) -> String {
        place.to_string()
    }
}

/// Draws axes, and in them what is given.
fn draw(
    plot: &'static str,
    size: (u32, u32),
    left: u32,
    x: &Axis,
    y: &Axis,
    content: impl FnOnce(&mut Chart<'_, '_>) -> Drawn,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    let draw = || -> Drawn {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin_right(14)
            .margin_top(8)
            .x_label_area_size(46)
            .y_label_area_size(left)
            .build_cartesian_2d(Placed(x.clone()), Placed(y.clone()))?;
        let text = ("sans-serif", 13).into_font().color(&INK);
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS)
            .label_style(text.clone())
            .axis_desc_style(text)
            .x_desc(x.title)
            .y_desc(y.title)
            .x_label_formatter(&|place| x.label(*place))
            .y_label_formatter(&|place| y.label(*place))
            .draw()?;
        content(&mut chart)?;
        area.present()
    };
    let outcome = draw();
    outcome.map_err(|error| PlotError {
        plot,
        why: error.to_string(),
    })?;
    Ok(svg)
}

/// The opening tag's `viewBox`, and its end.
pub fn view_box(svg: &str) -> String {
    let from = svg.find("viewBox=\"").unwrap_or(0);
    let rest = &svg[from..];
    let end = rest.match_indices('"').nth(1).map_or(0, |(at, _)| at + 1);
    format!("{}>", &rest[..end])
}

/// All behind the opening tag, the closing one included.
pub fn content(svg: &str) -> &str {
    svg.find('>').map_or("", |end| svg[end + 1..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_taken_apart() {
        let svg = "<svg width=\"9\" viewBox=\"0 0 9 4\" xmlns=\"x\">\n<g/></svg>\n";
        assert_eq!(view_box(svg), "viewBox=\"0 0 9 4\">");
        assert_eq!(content(svg), "<g/></svg>");
    }

    #[test]
    fn every_colour_the_library_writes_has_a_rule_for_dark_pages() {
        let line = Line {
            color: 3,
            points: vec![(1.0, 2.0), (2.0, 3.0)],
            marks: vec!["a".to_owned(), "b".to_owned()],
            errors: vec![0.1, 0.2],
        };
        let (x, y) = (Axis::linear("x", 3.0), Axis::log("y", &[2.0, 3.0]));
        let svg = lines("test", WIDE, &x, &y, &[line]).unwrap();
        let style = palette_style();
        let used: Vec<&str> = svg
            .match_indices("=\"#")
            .map(|(at, _)| &svg[at + 2..at + 9])
            .collect();
        assert!(used.len() > 10, "{svg}");
        for color in used {
            assert!(style.contains(color), "{color}");
        }
    }
}
