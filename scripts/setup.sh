#!/usr/bin/env bash
# Makes a checkout ready to build and test: a Python environment, ONNX Runtime's library and the small models.
#
#   scripts/setup.sh              what `quire` needs to run
#   scripts/setup.sh --dev        and what the tests need
#   scripts/setup.sh --clients    and the official clients that the tests speak through, in an environment of their own
#
# Everything goes to .quire/ and nothing outside it changes. A run that finds everything in place ends at once.
# A run may be stopped at any moment: files are built aside, checked against pinned digests, then renamed.
set -euo pipefail

usage() {
    sed -n '2,9s/^# \{0,1\}//p' "$0"
}

say() { printf '%s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

dev=no
clients=no
for argument in "$@"; do
    case $argument in
        --dev) dev=yes ;;
        --clients) clients=yes ;;
        -h | --help) usage; exit 0 ;;
        *) fail "unknown argument '$argument'; see --help" ;;
    esac
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
home=$root/.quire
venv=$home/venv
python=$venv/bin/python
clients_venv=$home/clients
runtime=$home/runtime
small=$home/models/small
digests=$here/models/small.sha256

case $(uname -s) in
    Linux) library=libonnxruntime.so; how_to_install='apt install' ;;
    Darwin) library=libonnxruntime.dylib; how_to_install='brew install' ;;
    *) fail "$(uname -s) is not supported: Linux or macOS is needed" ;;
esac

# --- digests ---------------------------------------------------------------------------------------------------------

if command -v sha256sum >/dev/null; then
    sha256() { sha256sum "$@"; }
elif command -v shasum >/dev/null; then
    sha256() { shasum -a 256 "$@"; }
else
    fail "sha256sum is missing: $how_to_install coreutils"
fi

digest_of() { sha256 | cut -d ' ' -f 1; }

# The names that the digest file lists, and whether all of them in folder $1 have their digests.
model_files() { awk '{ print $2 }' "$digests"; }
models_match() { (cd "$1" 2>/dev/null && sha256 -c "$digests" >/dev/null 2>&1); }

# What the products depend on. The stamp holds it once everything is in place, so it is written last.
wheels_key() { { uname -sm; cat "$here/$1"; } | digest_of; }
setup_key() { { wheels_key requirements.txt; cat "$here/setup.sh" "$digests" "$here"/models/*.{py,npz}; } | digest_of; }

# Whether the packages of file $1 are in the environment $2.
installed() { [ "$(cat "$2/.installed-$1" 2>/dev/null)" = "$(wheels_key "$1")" ]; }

clients_in_place() { installed requirements-clients.txt "$clients_venv" && [ -x "$clients_venv/bin/python" ]; }

in_place() {
    local stamp=$home/stamp name
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ] && [ -x "$python" ] || return 1
    [ "$dev" = no ] || installed requirements-dev.txt "$venv" || return 1
    [ "$clients" = no ] || clients_in_place || return 1
    [ -f "$runtime/$library" ] && ! [ "$runtime/$library" -nt "$stamp" ] || return 1
    for name in $(model_files); do
        [ -f "$small/$name" ] && ! [ "$small/$name" -nt "$stamp" ] || return 1
    done
}

# --- tools -----------------------------------------------------------------------------------------------------------

need_cargo() {
    command -v cargo >/dev/null ||
        fail "cargo is missing: $how_to_install rustup, then: rustup default stable"
}

# The first Python that has wheels; QUIRE_PYTHON names one to use instead.
find_python() {
    local candidate
    for candidate in ${QUIRE_PYTHON:+"$QUIRE_PYTHON"} python3 python3.13 python3.12 python3.11 python3.14; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "python3 from 3.11 to 3.14 is missing: $how_to_install python3"
}

need_venv() {
    "$1" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$1 cannot make environments, its venv module is incomplete: $how_to_install python3-venv"
}

# --- products --------------------------------------------------------------------------------------------------------

# Installs the packages of file $1 into the environment $2.
install() {
    say "installing $1"
    "$2/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
        --only-binary=:all: --require-hashes -r "$here/$1" || fail "the packages of $1 could not be installed"
    wheels_key "$1" >"$2/.installed-$1"
}

# Makes the environment $1, empty.
make_venv() {
    local base
    base=$(find_python)
    need_venv "$base"
    say "making ${1#"$root"/} with $("$base" --version)"
    rm -rf "$1"
    "$base" -m venv "$1"
}

make_environment() {
    if ! installed requirements.txt "$venv" || ! "$python" -c '' 2>/dev/null; then
        make_venv "$venv"
        install requirements.txt "$venv"
    fi
    if [ "$dev" = yes ] && ! installed requirements-dev.txt "$venv"; then install requirements-dev.txt "$venv"; fi
}

# Apart from the products' own, so that no client decides what builds the models.
make_clients() {
    clients_in_place && return
    make_venv "$clients_venv"
    install requirements-clients.txt "$clients_venv"
}

copy_runtime() {
    local source name
    source=$("$python" -c '
import importlib.util, pathlib
package = pathlib.Path(importlib.util.find_spec("onnxruntime").submodule_search_locations[0])
found = [p for p in sorted((package / "capi").glob("libonnxruntime.*")) if "providers" not in p.name]
print(found[0])')
    name=$(basename "$source")
    mkdir -p "$runtime"
    if ! cmp -s "$source" "$runtime/$name"; then
        say "copying $name to .quire/runtime"
        cp "$source" "$runtime/.$name.$$"
        mv -f "$runtime/.$name.$$" "$runtime/$name"
    fi
    if [ "$name" != "$library" ]; then
        ln -sfn "$name" "$runtime/$library"
    fi
}

build_models() {
    local aside=$home/models/.small.$$ name
    models_match "$small" && return
    say "building the small models"
    rm -rf "$home"/models/.small.*
    mkdir -p "$aside" "$small"
    "$python" "$here/models/build_small.py" --out "$aside"
    "$python" "$here/models/build_reranker.py" --out "$aside"
    if ! models_match "$aside"; then
        (cd "$aside" && sha256 -c "$digests" >&2) || true
        fail "the models that were built are not the pinned ones; they are in ${aside#"$root"/}"
    fi
    for name in $(model_files); do mv -f "$aside/$name" "$small/$name"; done
    rm -rf "$aside"
}

key=$(setup_key)
need_cargo
if in_place; then
    say "everything is in place"
    exit 0
fi
mkdir -p "$home"
rm -f "$home/stamp"
make_environment
copy_runtime
build_models
if [ "$clients" = yes ]; then make_clients; fi
printf '%s\n' "$key" >"$home/stamp.$$"
mv -f "$home/stamp.$$" "$home/stamp"
say "ready: .quire/runtime/$library and the models in .quire/models/small"
