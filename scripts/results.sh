#!/usr/bin/env bash
# Every row of docs/results.md: each set asked, its tables in OUT/NAME.txt, its report in OUT/NAME/report.html.
#
#   scripts/results.sh DATA OUT [FLAG...]      the flags go to every `quire eval run`:
#   scripts/results.sh DATA OUT --profile bge-m3
#
# DATA holds the public sets as docs/results.md names them; a set that is not there is left out, and said. What was
# stopped goes on where it was. QUIRE_BIN names the program (default: target/release/quire).
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
data=$1
out=$2
shift 2
flags=("$@")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quire=${QUIRE_BIN:-$root/target/release/quire}
sample=("$root/tests/sample/the-wet-ledger.questions.jsonl" "$root/tests/sample/一庹水.questions.jsonl")
left_out=0

# ask NAME ARGUMENT...: one run; its sets are the arguments that are paths.
ask() {
    local name=$1 argument
    shift
    for argument in "$@"; do
        case $argument in
            /*) [ -e "$argument" ] || { printf '%s: left out, %s is not there\n' "$name" "$argument"; left_out=$((left_out + 1)); return; } ;;
        esac
    done
    printf '== %s\n' "$name"
    "$quire" eval run "${flags[@]+"${flags[@]}"}" --out "$out/$name" "$@" | tee "$out/$name.txt"
}

mkdir -p "$out"
data=$(cd "$data" && pwd)
ask sample "${sample[@]}"
ask sample-library --over all "${sample[@]}"
ask fairytaleqa --retrieval-only "$data/fairytaleqa"
ask fairytaleqa-library --retrieval-only --over all "$data/fairytaleqa"
ask graphrag-novel --retrieval-only "$data/graphrag-novel"
ask graphrag-novel-library --retrieval-only --over all "$data/graphrag-novel"
ask leval --vary by=lexical,dense,fusion,rerank "$data/leval/quality.jsonl" "$data/leval/sci_fi.jsonl"
ask xquad --retrieval-only "$data/xquad/xquad.en.json" "$data/xquad/xquad.zh.json"
ask cmrc2018 --retrieval-only "$data/cmrc2018/cmrc2018_dev.json"
ask cranfield --retrieval-only "$data/cranfield"
if [ "$left_out" != 0 ]; then printf '%s of 10 runs were left out\n' "$left_out"; exit 3; fi
