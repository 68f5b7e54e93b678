//! Every question, to be looked through.

use serde::Serialize;

use crate::report::{QuestionRow, Report};

const SCRIPT: &str = include_str!("drill.js");

/// What the script shows.
#[derive(Serialize)]
struct Data<'a> {
    questions: &'a [QuestionRow],
    passages: &'a std::collections::BTreeMap<String, String>,
    arms: Vec<String>,
}

/// The controls, the data as JSON, and the script that shows it.
pub(super) fn section(report: &Report) -> String {
    let arms = report.run.identity.arms.iter();
    let data = Data {
        questions: &report.questions,
        passages: &report.passages,
        arms: arms.map(ToString::to_string).collect(),
    };
    // No text of a book or a question can end the element.
    let json = serde_json::to_string(&data).unwrap_or_default();
    let json = json.replace('<', "\\u003c");
    format!(
        "<section aria-labelledby=\"questions\">\n<h2 id=\"questions\">Question by question</h2>\n\
         <p>What each stage found, what was answered, and where a question was lost: in \
         retrieval (no supporting passage in either list), in fusion (below what is reranked), in \
         reranking (not among the evidence) or in answering (shown, but answered wrong).</p>\n\
         <form class=\"filters\" id=\"filters\">\n\
         <label>Set <select id=\"filter-set\"><option value=\"\">all</option></select></label>\n\
         <label>Lost in <select id=\"filter-lost\"><option value=\"\">anywhere or not at all</option>\
         <option value=\"retrieval\">retrieval</option><option value=\"fusion\">fusion</option>\
         <option value=\"reranking\">reranking</option><option value=\"answering\">answering</option>\
         <option value=\"nowhere\">not lost</option><option value=\"unknown\">unknown</option>\
         </select></label>\n\
         <label>With words <input id=\"filter-text\" type=\"search\"></label>\n</form>\n\
         <p id=\"shown\" role=\"status\"></p>\n<div id=\"drill\"></div>\n\
         <button id=\"more\" type=\"button\" hidden>Show more</button>\n\
         <noscript><p>This part needs a browser that runs scripts; report.json has the same.</p>\
         </noscript>\n\
         <script type=\"application/json\" id=\"data\">{json}</script>\n\
         <script>\n{SCRIPT}</script>\n</section>\n"
    )
}
