#!/usr/bin/env python3
"""The tables of docs/results.md, from the folders that scripts/results.sh left: results_table.py OUT."""

import json
import sys
from pathlib import Path

MEASURES = ("hit@1", "hit@5", "mrr@10", "ndcg@10", "recall@20")
# By how sure they are.
CRITERIA = ("judged", "quoted", "answer_words", "answer_text")


def main():
    reports = [json.loads(path.read_text("utf-8")) for path in sorted(Path(sys.argv[1]).glob("*/report.json"))]
    retrieval(reports)
    steps(reports)
    routing(reports)
    answers(reports)
    indexing(reports)


def retrieval(reports):
    heading("set", "over", "questions", "stage", *MEASURES)
    for report in reports:
        for row in best(report["retrieval"], report):
            values = [estimate(row["measures"][name], name == "mrr@10") for name in MEASURES]
            first = row["stage"] == "bm25"
            what = (row["set"], row["over"], f"{row['questions']:,} of {row['asked']:,}") if first else ("", "", "")
            line(*what, row["stage"], *values)


def steps(reports):
    heading("set", "over", "step", "gain in MRR@10", "95 % interval", "p", "better / worse")
    for report in reports:
        for row in best(report["steps"], report):
            gain = row["difference"]
            interval = f"{signed(gain['low'])} to {signed(gain['high'])}"
            counts = f"{gain['better']} / {gain['worse']}"
            line(row["set"], row["over"], f"{row['from']} → {row['to']}", signed(gain["mean"]), interval, f"{gain['p']:.4f}", counts)


def routing(reports):
    heading("set", "stage", "of the first 5 from the right book", "of the first 10", "right book first", "its MRR")
    for report in reports:
        for row in report["routing"]:
            values = [estimate(row["measures"][name]) for name in ("share@5", "share@10", "book_first", "book_mrr")]
            line(row["set"], row["stage"], *values)


def answers(reports):
    heading("set", "over", "task", "evidence by", "answers", "score", "evidence holds it", "evidence tokens")
    for report in reports:
        for row in report["answers"]:
            held = next((row["evidence_recall"][name] for name in CRITERIA if name in row["evidence_recall"]), None)
            line(
                row["set"], row["over"], row["task"], row["arm"]["by"], row["answers"], estimate(row["score"], True),
                estimate(held) if held else "-", f"{row['tokens']['evidence']:,.0f}",
            )


def indexing(reports):
    heading("run", "passages", "books", "tokens", "MiB", "built in")
    for report in reports:
        for row in report["indexing"]:
            seconds = row["seconds"]
            total = seconds["total"] if isinstance(seconds, dict) else seconds
            names = ", ".join(one["name"] for one in report["run"]["identity"]["sets"])
            line(names, row["passages"], row["books"], f"{row['tokens']:,}", f"{row['bytes'] / 2**20:.1f}", f"{total:.0f} s")


def best(rows, report):
    """Of each set, the rows by the surest criterion that it has."""
    for entry in report["run"]["identity"]["sets"]:
        mine = [row for row in rows if row["set"] == entry["name"]]
        for criterion in CRITERIA:
            chosen = [row for row in mine if row["criterion"] == criterion]
            if chosen:
                yield from chosen
                break


def estimate(value, with_error: bool = False) -> str:
    error = f" ± {value['standard_error']:.3f}".replace("0.", ".") if with_error else ""
    return f"{value['mean']:.3f}".replace("0.", ".", 1) + error


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1).replace("-", "−")


def heading(*names):
    print()
    line(*names)
    line(*["---"] * len(names))


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


if __name__ == "__main__":
    main()
