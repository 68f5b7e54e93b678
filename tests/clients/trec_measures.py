"""The measures of a run against trec_eval's own, of the run's TREC files, to the last digit."""

import json
import os
import unittest
from collections import defaultdict
from pathlib import Path

import pytrec_eval

RUN = Path(os.environ["QUIRE_RUN"])
STAGES = ["bm25", "dense", "fused", "reranked"]
# What trec_eval calls ours.
NAMES = {"hit": "success", "recall": "recall", "ndcg": "ndcg_cut", "map": "map_cut"}


def bare(name):
    return "".join("_" if c.isspace() or c in "/\\" else c for c in name)


def qrels(path):
    judged = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, _, document, grade = line.split(" ")
        judged[query][document] = int(grade)
    return judged


def ranked(path):
    lists = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, _, document, _, score, _ = line.split(" ")
        lists[query][document] = float(score)
    return lists


def first(lists, depth):
    """The beginning of each list: trec_eval's reciprocal rank has no depth."""
    by_score = lambda entry: -entry[1]
    return {query: dict(sorted(documents.items(), key=by_score)[:depth]) for query, documents in lists.items()}


class Measures(unittest.TestCase):
    def test_every_value_is_trec_evals(self):
        values = 0
        ours = defaultdict(dict)
        for line in (RUN / "measures.jsonl").read_text().splitlines():
            row = json.loads(line)
            level = ".".join(bare(row[part]) for part in ("set", "passages", "over"))
            query = bare(row["question"])
            if row["bundle"] is not None:
                query = f"{query}@{row['seed']}.{row['bundle']}"
            ours[level, row["criterion"], row["stage"]][query] = row["measures"]
        self.assertTrue(ours)
        for (level, criterion, stage), queries in ours.items():
            judged = qrels(RUN / "trec" / f"{level}.{criterion}.qrels")
            lists = ranked(RUN / "trec" / f"{level}.{stage}.run")
            names = next(iter(queries.values()))
            depths = sorted({int(name.split("@")[1]) for name in names})
            wanted = {f"{theirs}.{','.join(map(str, depths))}" for theirs in NAMES.values()}
            whole = pytrec_eval.RelevanceEvaluator(judged, wanted).evaluate(lists)
            reciprocal = {
                depth: pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(first(lists, depth))
                for depth in depths
            }
            for query, measures in queries.items():
                for name, value in measures.items():
                    kind, depth = name.split("@")
                    if query not in whole:
                        # Its list is empty.
                        theirs = 0.0
                    elif kind == "mrr":
                        theirs = reciprocal[int(depth)][query]["recip_rank"]
                    else:
                        theirs = whole[query][f"{NAMES[kind]}_{depth}"]
                    self.assertEqual(value, theirs, f"{level} {criterion} {stage} {query} {name}")
                    values += 1
        self.assertGreater(values, 1000)
        self.assertEqual({stage for _, _, stage in ours}, set(STAGES))
        print(f"{values} values are equal")


if __name__ == "__main__":
    unittest.main()
