#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs commands with the C library's functions for processors without AVX2 and FMA, and compares.
# The last bits of exp, log, pow, sin and cos differ there. Texts and whole numbers of tables must
# be the same; other numbers may differ by 1e-7 of themselves, or of 1 near 0.
#   tests/libm.sh SPECLAB
set -eu
speclab=$1
grep -qw fma /proc/cpuinfo 2>/dev/null && ldd --version 2>&1 | grep -qi glibc || {
    echo "libm: skipped: neither a processor with FMA nor glibc, which has two versions of libm"
    exit 0
}
without="env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
n=0 bad=0
# The check of a row, a hash of its digits, is left out.
compare() {
    awk -F, -v OFS=, '
        function differ(a, b) {
            if (a == b) return 0
            if (a b !~ /[.e]/ || a !~ number || b !~ number) return 1
            size = a < 0 ? -a : +a
            return (a > b ? a - b : b - a) > 1e-7 * (size > 1 ? size : 1)
        }
        BEGIN { number = "^-?[0-9.]+(e[-+][0-9]+)?$" }
        /^#/ { next }
        FILENAME == ARGV[1] { line[++lines] = $0; next }
        {
            m = split(line[++at], was)
            if (at == 1) checked = $NF == "row_check"
            if (m != NF) { print line[at] "\n" $0; bad = 1; next }
            for (i = 1; i <= NF - checked; i++)
                if (differ(was[i], $i)) { print was[i], "is now", $i, "in", $0; bad = 1 }
            numbers += NF
        }
        END { exit bad || at != lines || numbers == 0 }' "$folder/with" "$folder/without"
}
while read -r arguments; do
    n=$((n + 1)) status=0 again=0
    # shellcheck disable=SC2086
    "$speclab" $arguments >"$folder/with" 2>"$folder/said" </dev/null || status=$?
    # shellcheck disable=SC2086
    $without "$speclab" $arguments >"$folder/without" 2>"$folder/said2" </dev/null || again=$?
    [ $status -eq $again ] && [ $status -ne 2 ] && compare && continue
    echo "libm: status $status, then $again: speclab $arguments"
    cat "$folder/said" "$folder/said2"
    bad=1
done <<LIST
predict --alpha 0.3,0.5,0.8,0.9 --K 1:8 --format csv
predict --guess 0.8 --K 1:6 --format csv
sweep --alpha 0.55,0.71 --K 2,4 --rounds 20000 --format csv
sweep --alpha 0.6 --process markov?rho=0.5&spread=0.2 --K 4 --rounds 20000 --format csv
sweep --alpha 0.6 --process decay?rate=0.9 --K 4 --rounds 20000 --format csv
sweep --target dirichlet?V=30 --alpha 0.55,0.71 --K 2,3 --rounds 3000 --format csv
sweep --target zipf?V=99 --draft zipf?V=99&s=2 --K 3 --rounds 3000 --format csv
run speedup_table --rounds 2000 --format csv
run lossy --rounds 100 --format csv
prove --K 2 --tokens 2 --format csv
accept --target zipf?V=30 --draft perturb?alpha=0.7 --n 1:2 --format csv
plan --accept 0.7,0.12 --format csv
serve --rate 2,4 --requests 200 --arrivals gamma?cv=2 --prompt geometric?mean=99 --format csv
serve --rate 3 --requests 200 --spread beta?concentration=4 --K 0,2 --format csv
validate rule:token --only two-2,plain-4 --budget 20k --format csv
generate --target zipf?V=99 --draft perturb?alpha=0.7 -n 200
LIST
[ $bad = 0 ] && echo "libm: $n commands have the same results with and without FMA"
exit $bad
