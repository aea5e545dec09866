#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the main experiments: proofs, sweeps, models of real text; plots them; writes OUT/report.md.
#   cli/demo.sh SPECLAB OUT [TEXT]
set -eu
speclab=$1 out=$2 text=${3:-}
begin=$(date +%s)
mkdir -p "$out"
names='prove prove_policies speedup_table correlated temperature losslessness'
names="$names real_text_alpha real_text"
set -- $names
if [ -n "$text" ]; then
    [ -r "$text" ] && [ -f "$text" ] || {
        echo "demo: TEXT=$text: there is no such readable file" >&2
        exit 2
    }
    for name in temperature real_text_alpha real_text; do
        set -- "$@" --set "$name:TEXT=$text"
    done
fi
"$speclab" run -d "$out" "$@"

echo
count() { for name in $names; do [ ! -e "$out/$name.$1" ] || echo "$name"; done | wc -l; }
echo "made in $(($(date +%s) - begin)) s:" \
    "$(count csv) tables, $(count svg) figures, and $out/report.md, which shows them"
echo "found:"
sed -n '/^## Summary/,/^<a/ {
    s/\\|/|/g
    s/^| \[\(.*\)\](#[^|]*| *[0-9]* *| \(.*\) |$/    \1: \2/p
    /^[0-9]/p
}' "$out/report.md"
