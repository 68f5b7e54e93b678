#!/usr/bin/env python3
"""Checks that every dependency may be shipped with quire.

Reads `cargo metadata` and fails when a dependency has no licence, has one
outside the list below, or comes from anywhere but the package registry.
A crate under `A OR B` passes when either passes; `A AND B` needs both.
"""

import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",  # file-wise copyleft, unmodified
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met from ALLOWED."""
    expression = expression.replace("/", " OR ").strip()
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)
    place = 0

    def either() -> bool:
        nonlocal place
        result = both()
        while place < len(tokens) and tokens[place] == "OR":
            place += 1
            right = both()
            result = result or right
        return result

    def both() -> bool:
        nonlocal place
        result = one()
        while place < len(tokens) and tokens[place] == "AND":
            place += 1
            right = one()
            result = result and right
        return result

    def one() -> bool:
        nonlocal place
        if tokens[place] == "(":
            place += 1
            result = either()
            place += 1
            return result
        name = tokens[place]
        place += 1
        if place < len(tokens) and tokens[place] == "WITH":
            name = f"{name} WITH {tokens[place + 1]}"
            place += 2
        return name in ALLOWED

    return either()


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    members = set(metadata["workspace_members"])
    wrong = []
    for package in metadata["packages"]:
        name = f"{package['name']} {package['version']}"
        if package["id"] in members:
            continue
        if not (package["source"] or "").startswith("registry+"):
            wrong.append(f"{name}: not from the package registry but from {package['source']}")
        licence = package["license"]
        if not licence:
            wrong.append(f"{name}: names no licence")
        elif not allowed(licence):
            wrong.append(f"{name}: {licence} is not on the list in {sys.argv[0]}")
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"licences: {len(metadata['packages']) - len(members)} dependencies, all allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
