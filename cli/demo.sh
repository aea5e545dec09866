#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the main experiments: proofs, sweeps, models of real text; plots them; writes OUT/report.md.
#   cli/demo.sh SPECLAB OUT [TEXT]
set -eu
speclab=$1 out=$2 text=${3:-}
set -- prove prove_policies speedup_table correlated temperature losslessness real_text_alpha \
    real_text
if [ -n "$text" ]; then
    [ -r "$text" ] && [ -f "$text" ] || {
        echo "demo: TEXT=$text: there is no such readable file" >&2
        exit 2
    }
    for name in temperature real_text_alpha real_text; do
        set -- "$@" --set "$name:TEXT=$text"
    done
fi
exec "$speclab" run -d "$out" "$@"
