//! Reports: stored, compared, drawn.

#![allow(clippy::unwrap_used)]

mod fake;

use fake::{Fake, Reply, Unwatched, plan, question};
use quire_bench::{Length, Load, Loads, Mismatch, Report, compare, html, run};

const LOADS: [Load; 2] = [
    Load::Closed { concurrency: 1 },
    Load::Closed { concurrency: 2 },
];

fn report() -> Report {
    let fake = Fake::start(|_, body| Reply::usual(&question(body)));
    let mut plan = plan(&fake.url, LOADS[0], Length::Requests(40));
    plan.loads = Loads::Sweep(LOADS.to_vec());
    run(&plan, &Unwatched).unwrap()
}

#[test]
fn a_report_survives_being_stored() {
    let report = report();
    let text = serde_json::to_string(&report).unwrap();
    let read: Report = serde_json::from_str(&text).unwrap();
    assert_eq!(read, report);
}

#[test]
fn a_comparison_gives_the_second_by_the_first_for_loads_both_have() {
    let a = report();
    let mut b = a.clone();
    b.runs.remove(1);
    let half = a.runs[0].throughput / 2.0;
    b.runs[0].throughput = half;
    for cell in &mut b.runs[0].answered.histogram {
        cell.0 *= 3;
    }
    let compared = compare(&a, &b);
    assert_eq!(compared.not_comparable, Vec::<String>::new());
    assert_eq!(compared.only_a, [LOADS[1]]);
    assert_eq!(compared.rows.len(), 1);
    let row = &compared.rows[0];
    assert!((row.throughput.ratio.unwrap() - 0.5).abs() < 1e-9);
    // Both percentiles are rounded to three digits.
    assert!((row.p99_ms.ratio.unwrap() - 3.0).abs() < 0.01, "{row:?}");
    assert_eq!(row.failed.b, Some(0.0));
    assert_eq!(row.failed.ratio, None);
}

#[test]
fn runs_of_one_load_are_taken_together() {
    let a = report();
    let mut b = a.clone();
    let again = b.runs[0].clone();
    b.runs.push(again);
    let row = &compare(&a, &b).rows[0];
    let ratio = row.throughput.ratio.unwrap();
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    assert_eq!(row.p50_ms.a, row.p50_ms.b);
}

#[test]
fn other_questions_requests_or_machines_are_not_comparable() {
    let a = report();
    let mut b = a.clone();
    b.questions.sha256 = "0".repeat(64);
    b.request.insert("timeout_ms".to_owned(), 9.into());
    b.machine.cores += 1;
    b.seed += 1;
    b.server.fingerprint.as_mut().unwrap()["budgets"]["rerank"] = 5.into();
    let compared = compare(&a, &b);
    let all = compared.not_comparable.join("; ");
    for what in [
        "other questions",
        "other requests",
        "other machines",
        "budgets of the answers",
    ] {
        assert!(all.contains(what), "{all}");
    }
    assert_eq!(compared.differences, ["seed: 1 against 2"]);
}

#[test]
fn a_page_escapes_what_it_is_given_and_fetches_nothing() {
    let mut report = report();
    let hostile = "<script src=\"http://books/x.js\">&'";
    report.questions.files = vec![hostile.to_owned()];
    report.command = vec![hostile.to_owned()];
    report.server.version = Some(hostile.to_owned());
    let stage = report.runs[0].stages.remove("embed").unwrap();
    report.runs[0].stages.insert(hostile.to_owned(), stage);
    report.runs[0].mismatches = 1;
    report.runs[0].first_mismatch = Some(Mismatch {
        question: hostile.to_owned(),
        at: 7,
        expected: hostile.to_owned(),
        got: hostile.to_owned(),
    });
    let page = html::page(&report).unwrap();
    assert!(!page.contains("<script"), "a script got through");
    assert!(page.contains("&lt;script src=&quot;http://books/x.js&quot;&gt;&amp;&#39;"));
    for fetching in [
        "src=", "href=", "url(", "@import", "<link", "<iframe", "xmlns",
    ] {
        let plain = page.replace("src=&quot;", "");
        assert!(!plain.contains(fetching), "{fetching}");
    }
    // Three pictures, each for two widths, each with a title and a description.
    assert_eq!(page.matches("role=\"img\"").count(), 6);
    assert_eq!(page.matches("<desc ").count(), 6);
    assert_eq!(
        page.matches("<svg ").count(),
        page.matches("</svg>").count()
    );
}

#[test]
fn a_page_without_any_answer_still_says_what_happened() {
    let mut report = report();
    for run in &mut report.runs {
        run.answered = quire_bench::Latency::default();
        run.throughput = 0.0;
        run.stages.clear();
    }
    report.knee = None;
    let page = html::page(&report).unwrap();
    assert!(page.contains("Each load") && !page.contains("<svg"));
}
