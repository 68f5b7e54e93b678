#!/usr/bin/env bash
# Every check of the project: formatting, lints, docs, licences, layers, and
# all tests. Sets up what it needs. Tests that want something absent are
# skipped by name; the last lines say which, and how many.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

say "set-up"
scripts/setup.sh --dev --clients

# Pages are looked at in a real browser. Where none can be installed, those
# tests are skipped by name.
if ! { command -v chromium && command -v chromedriver; } >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium chromium-driver >/dev/null
fi

# The smoke run of the reranker's training wants PyTorch: the system's own is the small one.
if ! /usr/bin/python3 -c 'import torch' 2>/dev/null && ! [ -e .quire/reranker/venv ] &&
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-torch >/dev/null || true
fi

log_dir=$(mktemp -d)
trap 'rm -rf "$log_dir"' EXIT
export QUIRE_SKIP_LOG="$log_dir/skipped"
: >"$QUIRE_SKIP_LOG"
# Tests see only what they set themselves.
unset QUIRE_DATA QUIRE_CONFIG QUIRE_PROFILE QUIRE_DEVICE QUIRE_HOME HF_HOME HF_HUB_CACHE

say "formatting"
cargo fmt --all --check

say "layers and licences"
python3 scripts/check_layers.py
python3 scripts/check_licences.py

say "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

say "docs"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

say "build"
# With the tests, so that dependencies are built once, with the same features.
cargo build --workspace --lib --bins --tests --locked

say "tests"
status=0
cargo test --workspace --locked --no-fail-fast 2>&1 | tee "$log_dir/tests" || status=$?

say "quickstart"
if [ "$status" = 0 ]; then
    QUIRE_BIN="${CARGO_TARGET_DIR:-target}/debug/quire" QUIRE_DATA="$log_dir/quickstart data" \
        scripts/quickstart.sh || status=$?
fi

sum() { awk -v what="$1" '/^test result:/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ "^" what) total += $i } END { print total + 0 }' "$log_dir/tests"; }
skipped=$(sort -u "$QUIRE_SKIP_LOG" | grep -c . || true)
passed=$(($(sum passed) - skipped))
failed=$(sum failed)
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then failed=1; fi
if [ "$skipped" != 0 ]; then
    say "skipped"
    sort -u "$QUIRE_SKIP_LOG"
fi
printf '\n%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
exit "$status"
