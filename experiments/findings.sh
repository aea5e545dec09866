#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks that each experiment still has the inputs that its finding was written for.
#   experiments/findings.sh SPECLAB          list experiments with a stale digest; exit 1 if any
#   experiments/findings.sh SPECLAB NAME...  write their digests, after reading their findings
set -eu
speclab=$(realpath "$1")
shift
cd "$(dirname "$0")/cfg"
stale=0
if [ $# -gt 0 ]; then
    files=$(printf '%s.cfg\n' "$@")
else
    files=$(grep -l '^finding = ' ./*.cfg)
fi
for file in $files; do
    name=$(basename "$file" .cfg)
    digest=$("$speclab" run "$file" --digest | cut -d' ' -f2)
    written=$(sed -n 's/^finding_for = "\(.*\)";$/\1/p' "$file")
    [ "$digest" = "$written" ] && continue
    if [ $# -gt 0 ]; then
        sed -i '/^finding_for = /d' "$file"
        sed -i "/^measure = /i finding_for = \"$digest\";" "$file"
        echo "$name: its finding is for $digest"
    else
        echo "$name: inputs have changed: read its finding again," \
            "then type 'make findings CONFIRM=$name'"
        stale=1
    fi
done
exit $stale
