#!/bin/sh
# The main job on embedded defaults: prove, sweep, simulate real text models, plot, and write OUT/report.md.
#   cli/demo.sh SPECLAB OUT [TEXT]
set -eu
speclab=$1 out=$2 text=${3:-}
begin=$(date +%s)
mkdir -p "$out"
if [ -n "$text" ]; then
    [ -r "$text" ] && [ -f "$text" ] || { echo "demo: TEXT=$text: there is no such readable file" >&2; exit 2; }
    "$speclab" run -d "$out" prove speedup_table correlated temperature losslessness real_text --set "real_text:TEXT=$text"
else
    "$speclab" run -d "$out" prove speedup_table correlated temperature losslessness real_text
fi
echo
echo "made: $(ls "$out"/*.csv | wc -l) tables, $(ls "$out"/*.svg | wc -l) figures and $out/report.md, in $(($(date +%s) - begin)) s"
sed -n '/^## Summary/,/^## [^S]/{/^##/d;/^$/d;p;}' "$out/report.md"
