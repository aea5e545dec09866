#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Prints millions of Monte Carlo rounds per second of processor time: the module in node, and the
# program on this machine with portable code.
#   tests/web/speed.sh SPECLAB MODULE
set -euo pipefail
speclab=$1 module=$2 here=$(dirname "$0")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TIMEFORMAT=%U
row() { # NAME MILLIONS QUESTION EXPERIMENT
    { printf '%s\trounds=%s000000\n' "$3" "$2"; printf 'next\n%.0s' {1..60}; } >"$scratch/questions"
    web=$({ time node "$here/ask.js" "$module" <"$scratch/questions" >/dev/null; } 2>&1)
    echo "$4 rounds = ${2}000000;" >"$scratch/speed.cfg"
    native=$({ time SPECLAB_ISA=portable "$speclab" run --threads 1 "$scratch/speed.cfg" \
        >/dev/null; } 2>&1)
    awk -v name="$1" -v n="$2" -v web="$web" -v native="$native" \
        'BEGIN { printf "%-34s %8.2f %8.2f\n", name, n / web, n / native }'
}
draft='perturb?of=target&alpha=0.8'
echo "                                     module portable"
row "acceptance, alpha 0.8, K 5" 300 "simulate_acceptance	K=5	alpha=0.8" \
    'measure = "acceptance"; grid = { alpha = 0.8; K = 5; c = 0.1; };'
for target in "dirichlet?V=3" "zipf?V=200"; do
    row "token rule, $target, K 5" 3 "simulate	target=$target	draft=$draft	K=5" \
        "measure = \"decode\"; grid = { target = \"$target\"; draft = \"$draft\"; K = 5; };"
done
