#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Resumes shipped experiments from results cut at a random byte, and compares with complete results.
# Where gnuplot is installed, it also draws them.
# The experiments are made small: 4 rounds; 2 cases, contexts and samples; a short text.
#   tests/resume.sh SPECLAB EXPERIMENT...
# SPEC_TEST_SEED, by default 42, chooses the bytes.
set -eu
speclab=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
tree=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
head -c 1500 "$tree/docs/ahead.md" >small.txt
"$speclab" rows --target 'zipf?V=9' --draft 'zipf?V=9&s=2' -n 40 -o pair.rows >rows.txt
seed=${SPEC_TEST_SEED:-42} bad=0 n=0
for name in "$@"; do
    n=$((n + 1))
    sed -E 's/\b(cases|contexts|samples|positions) = [0-9]+/\1 = 2/g
        s/\brounds = [0-9]+/rounds = 4/
        s#(TEXT|CODE) = "[^"]*"#\1 = "small.txt"#g' "$tree/experiments/cfg/$name.cfg" >"$name.cfg"
    given= # what the experiment needs from its user
    ! grep -q '\${ROWS}' "$name.cfg" || given='--set ROWS=pair.rows'
    whole=0 again=0
    # shellcheck disable=SC2086
    "$speclab" run "$name.cfg" $given -o whole.csv --force 2>whole.txt || whole=$?
    size=$(wc -c <whole.csv)
    at=$(awk -v seed="$seed$n" -v size="$size" 'BEGIN { srand(seed); print int(rand() * size) }')
    head -c "$at" whole.csv >cut.csv
    "$speclab" run "$name.cfg" $given -o cut.csv --resume 2>again.txt || again=$?
    if [ "$whole" -gt 1 ] || [ "$whole" -ne "$again" ] ||
        ! cmp -s whole.csv cut.csv || ! cmp -s whole.txt again.txt; then
        echo "resume: $name, cut at byte $at of $size: status $whole, then $again:" \
            "$(cat whole.txt again.txt)"
        bad=1
    fi
    ! command -v gnuplot >/dev/null || [ "$whole" -gt 1 ] ||
        "$speclab" plot whole.csv -o drawn.svg --force >plot.txt 2>&1 || {
        echo "resume: $name is not drawn: $(cat plot.txt)"
        bad=1
    }
done
[ $bad = 0 ] &&
    echo "resume: $n experiments, each cut at a random byte, end with equal bytes and verdicts"
exit $bad
