#!/usr/bin/env python3
"""Checks the dependency rules of ARCHITECTURE.md against `cargo metadata`.

Development dependencies are left out: a test may look across.
"""

import json
import subprocess
import sys
from pathlib import Path

# Invariant 1: one crate names each engine.
ENGINES = {
    "ort": "quire-onnx",
    "tokenizers": "quire-onnx",
    "tantivy": "quire-bm25",
    "hnsw_rs": "quire-dense",
    "axum": "quire-server",
    "rmcp": "quire-server",
}

# Which crates of the workspace a crate may depend on, by its folder.
INDEXES = {"quire-corpus", "quire-index", "quire-bm25", "quire-dense"}
ENGINE = {"quire-engine", "quire-corpus", "quire-index", "quire-model", "quire-answer"}
MAY_USE = {
    "quire-corpus": set(),
    "quire-model": set(),
    "quire-hub": set(),
    "quire-index": {"quire-corpus"},
    "quire-bm25": {"quire-corpus", "quire-index"},
    "quire-dense": {"quire-corpus", "quire-index"},
    "quire-onnx": {"quire-model"},
    "quire-answer": {"quire-model"},
    "quire-engine": INDEXES | {"quire-model", "quire-answer"},
    "quire-indexer": ENGINE,
    "quire-traces": ENGINE,
    "quire-server": ENGINE | {"quire-indexer", "quire-traces"},
    "quire-pages": set(),
    "quire-bench": ENGINE | {"quire-indexer", "quire-pages"},
    "quire-eval": ENGINE | {"quire-pages"},
}

# Invariant 2: everything below the server is synchronous; what sends it load is not below it.
ASYNC = {"tokio", "async-std", "smol", "hyper"}
MAY_WAIT = {"quire-server", "quire-bench"}


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    root = Path(metadata["workspace_root"])
    wrong = []
    for package in metadata["packages"]:
        name = package["name"]
        folder = Path(package["manifest_path"]).parent.relative_to(root)
        used = {d["name"] for d in package["dependencies"] if d["kind"] != "dev"}
        for engine, owner in ENGINES.items():
            if engine in used and name != owner:
                wrong.append(f"{folder}: names {engine}, which only {owner} may")
        ours = {dependency for dependency in used if dependency.startswith("quire")}
        if name in MAY_USE and not ours <= MAY_USE[name]:
            wrong.append(f"{folder}: depends on {', '.join(sorted(ours - MAY_USE[name]))}")
        if name in MAY_USE.keys() - MAY_WAIT and used & ASYNC:
            wrong.append(f"{folder}: depends on {', '.join(sorted(used & ASYNC))}")
        if folder.parts[0] in ("indexes", "models") and name not in MAY_USE:
            wrong.append(f"{folder}: has no rule in {sys.argv[0]}")
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"layers: {len(metadata['packages'])} crates keep the rules")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
