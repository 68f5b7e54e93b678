#!/usr/bin/env bash
# From a fresh checkout to ranked evidence: sets up, builds, indexes the sample
# corpus and asks it a few questions. A second run reuses everything.
#
# QUIRE_BIN names a binary to use instead of building one; QUIRE_DATA says where
# the index goes.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh

quire=${QUIRE_BIN:-}
if [ -z "$quire" ]; then
    quire="${CARGO_TARGET_DIR:-target}/release/quire"
    [ -x "$quire" ] || echo "building the release binary (the first time takes some minutes)"
    cargo build --quiet --release --locked -p quire
fi

# Shows a command as one would type it, and runs it.
run() {
    local shown="$quire" argument
    for argument in "$@"; do
        case $argument in
        *[![:alnum:]./-]*) shown+=" \"$argument\"" ;;
        *) shown+=" $argument" ;;
        esac
    done
    printf '\n$ %s\n' "$shown"
    "$quire" "$@"
}

run index tests/sample
run search --evidence-passages 2 "Who found the short weight in the salt, and where was it hidden?"
run search --evidence-passages 2 "毁船的人是谁，为什么要烧掉那条船？"
run search --evidence-passages 1 --explain "Which of the twins is the elder, and by how much?"
run ask --evidence-passages 3 "What did it cost to be taken across the Orrel by ferry?"
run ask --evidence-passages 3 "府城的纸厂每年肯出多少钱租用新沙洲上的芦苇？" \
    --option "三百元" --option "六百八十元" --option "四千元" --option "二百四十元"

cat <<TXT

What to try next:
  $quire ask "your own question"
  $quire serve                   then open http://127.0.0.1:8080/ in a browser
  $quire index PATH/TO/BOOKS     .txt .md .html .epub or InfiniteBench .jsonl
  $quire books                   what is indexed
  $quire search --json "..."     everything, for programs
  $quire --help                  all commands; every command has its own --help
  scripts/test.sh                every test
TXT
