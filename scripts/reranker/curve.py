#!/usr/bin/env python3
"""Quality against cost: one set asked at several depths of reranking and lengths of passages, a row of a table each.

    scripts/reranker/curve.py SET... [--depths 0,4,8,12,16,20] [--max-tokens 256] [-- FLAG...]

What follows `--` goes to every `quire eval run`, such as `--profile small-cross --limit 200`. Times are wall time of one
question after the other, so run it on a machine that does nothing else. Reports stay in OUT (default: a temporary
folder); what was stopped goes on where it was.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

DEPTHS = "0,4,8,12,16,20"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--depths", type=numbers, default=numbers(DEPTHS), help=f"candidates that are reranked (default: {DEPTHS})")
    parser.add_argument("--max-tokens", type=numbers, default=[256], help="tokens of a passage at most (default: 256)")
    parser.add_argument("--out", type=Path, help="where the reports go")
    parser.add_argument("--quire", default="quire", help="the program (default: the one on the path)")
    arguments, flags = parser.parse_known_args()
    out = arguments.out or Path(tempfile.mkdtemp())
    print("| set | passages of | depth | hit@1 | hit@5 | mrr@10 | rerank p50 | p95 | question p50 | p95 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for tokens in arguments.max_tokens:
        for depth in arguments.depths:
            folder = out / f"{tokens}-{depth}"
            subprocess.run(
                [arguments.quire, "eval", "run", "--retrieval-only", "--rerank", str(depth), "--max-tokens", str(tokens)]
                + [*[flag for flag in flags if flag != "--"], "--out", folder, *arguments.sets],
                check=True, stdout=subprocess.DEVNULL,
            )
            for row in rows(json.loads((folder / "report.json").read_text()), depth):
                print(f"| {row[0]} | {tokens} | {depth} | " + " | ".join(row[1:]) + " |", flush=True)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def rows(report: dict, depth: int):
    """A row a set: its last stage's quality, and its times."""
    last = "reranked" if depth else "fused"
    told = set()
    times = {(one["set"], one["stage"]): one["wall_ms"] for one in report["latency"]}
    for one in report["retrieval"]:
        # A set may be judged by several criteria: the first that it has.
        if one["stage"] != last or one["set"] in told:
            continue
        told.add(one["set"])
        quality = (f"{one['measures'][name]['mean']:.3f}".removeprefix("0") for name in ("hit@1", "hit@5", "mrr@10"))
        rerank, whole = times.get((one["set"], "rerank")), times[one["set"], "total"]
        spent = [f"{part[name]:.0f} ms" if part else "" for part in (rerank, whole) for name in ("p50", "p95")]
        yield [one["set"], *quality, *spent]


if __name__ == "__main__":
    main()
