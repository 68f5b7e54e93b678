//! A page and its pictures.

use crate::parts::{escape, legend};
use crate::plot;

const STYLE: &str = include_str!("style.css");

/// A picture and what is said beside it.
pub struct Figure {
    /// Its name on the page, of which there is no second.
    pub id: String,
    /// Its heading.
    pub heading: String,
    /// What it shows, for those who do not see it.
    pub described: String,
    /// For a window of a desk.
    pub wide: String,
    /// For that of a telephone.
    pub narrow: String,
    /// Names of the series, with the number of their colour.
    pub series: Vec<(String, usize)>,
    /// What is said above it.
    pub note: String,
    /// The same figures, as a table.
    pub table: String,
}

impl Figure {
    /// The part of a page that shows it.
    pub fn section(&self) -> String {
        let id = &self.id;
        let picture = |svg: &str, class: &str| {
            format!(
                "<svg class=\"{class}\" role=\"img\" aria-labelledby=\"{id}-{class}-t {id}-{class}-d\" \
             {}<title id=\"{id}-{class}-t\">{}</title><desc id=\"{id}-{class}-d\">{}</desc>{}",
                plot::view_box(svg),
                escape(&self.heading),
                escape(&self.described),
                plot::content(svg),
            )
        };
        format!(
            "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n<p>{}</p>\n<figure>\n{}\
         {}\n{}\n</figure>\n{}</section>\n",
            escape(&self.heading),
            escape(&self.note),
            legend(&self.series),
            picture(&self.wide, "wide"),
            picture(&self.narrow, "narrow"),
            self.table,
        )
    }
}

/// A whole page: `body` is what stands in its main part, `more` what follows
/// the common style in the head's style element.
pub fn page(title: &str, more: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}{}{more}</style>\n</head>\n<body>\n<main>\n{body}\
         </main>\n</body>\n</html>\n",
        escape(title),
        plot::palette_style(),
    )
}
