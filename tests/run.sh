#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test programs suite by suite, one more at a time than there are processors: some wait.
#   tests/run.sh [--only PATTERN,...] [--tag TAG,...] [--skip-tag TAG,...] PROGRAM...
#       JOBS=N          suites at a time (default: one more than processors)
#       RUNNER=COMMAND  runs each program, such as an emulator
# Prints each failing test with its output, reasons to skip tests, the ten suites of the most
# processor time, and totals. The longest of the previous run begin first.
# Sleeping instead of spinning threads leave the processor to the other suites.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

# A suite of a program: its output, its counts and its time, in files of the folder $2.
if [ "$1" = --one ]; then
    folder=$2 program=$3 suite=$4
    shift 4
    file=$folder/$(printf '%s' "$program" | tr / _)_$suite
    begin=$(date +%s%N)
    ${RUNNER:-} "$program" --suite "$suite" "$@" >"$file.log" 2>&1
    code=$?
    times >"$file.times" # of this shell, then of its children
    took=$((($(date +%s%N) - begin) / 10000000))
    awk -v program="$program" -v suite="$suite" -v code=$code -v took=$took '
    /^\[ *(PASSED|FAILED|SKIPPED) *\] [0-9]+ test\(s\)/ { sub(/^\[ */, ""); n[$1] += $3 }
    END {
        failed = n["FAILED"] + 0
        if (code != 0 && failed == 0) failed = 1 # a signal or a sanitizer
        print took, n["PASSED"] + 0, failed, n["SKIPPED"] + 0, code, program, suite, cpu
    }
    FNR == 2 && FILENAME ~ /[.]times$/ {
        for (i = 1; i <= 2; i++) { split($i, t, "m"); cpu += 60 * t[1] + t[2] }
    }' "$file.log" "$file.times" >"$file.counts"
    if [ $code -ne 0 ]; then
        failing=$(sed -n 's/^\[  *FAILED  *\] \([A-Za-z_].*\)/\1/p' "$file.log" | sort -u)
        for test in ${failing:-"(exit code $code)"}; do echo "FAIL $program $suite/$test"; done
    fi
    exit 0
fi

options="" programs=""
while [ $# -gt 0 ]; do
    case $1 in
    --*) options="$options $1 $2" && shift 2 ;;
    *) programs="$programs $1" && shift ;;
    esac
done
set -f # patterns of --only are for the program
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
started=$(date +%s)
for program in $programs; do
    ${RUNNER:-} "$program" --list $options >"$folder/list" || {
        echo "FAIL $program: --list: exit code $?"
        exit 1
    }
    awk -v p="$program" '{ sub(/\/.*/, ""); if (!seen[$0]++) print p, $0 }' \
        "$folder/list" >>"$folder/suites"
done
[ -s "$folder/suites" ] || {
    echo "FAIL run.sh: no test matches$options"
    exit 1
}
# The seconds of earlier runs, with the program and suite, beside the first program's folder.
previous=$(printf '%s' "${programs# }" | sed 's|/tests/.*|/tests|')/seconds
touch "$previous"
awk 'FILENAME != ARGV[2] { last[$2 " " $3] = $1; next }
     { print ($0 in last) ? last[$0] : 1e9, $0 }' "$previous" "$folder/suites" |
    sort -rn | cut -d' ' -f2- |
    xargs -P "${JOBS:-$(($(nproc) + 1))}" -L 1 \
        sh -c '"$1" --one "$2" "$4" "$5" $3' - "$0" "$folder" "$options"

set +f
cat "$folder"/*.counts >"$folder/all" 2>/dev/null
awk 'FILENAME != ARGV[2] { last[$2 " " $3] = $1; next } { last[$6 " " $7] = $8 }
     END { for (k in last) print last[k], k }' "$previous" "$folder/all" >"$folder/seconds"
mv "$folder/seconds" "$previous"
n_suites=$(wc -l <"$folder/suites")
if [ "$(wc -l <"$folder/all")" -ne "$n_suites" ]; then
    echo "FAIL run.sh: $(wc -l <"$folder/all") of $n_suites suites left a result"
    exit 1
fi
while read -r took passed failed skipped code program suite cpu; do
    log=$folder/$(printf '%s' "$program" | tr / _)_$suite.log
    [ "$skipped" -eq 0 ] || {
        grep -ai '^skipped' "$log" || echo "skipped: $skipped test(s), no reason printed"
    } | sed 's/^[Ss][Kk][Ii][Pp][Pp][Ee][Dd]:* *//; s/^[a-zA-Z_0-9]*_[a-zA-Z_0-9]*: //' \
        >>"$folder/skipped"
    [ "$code" -eq 0 ] || {
        echo "---- $program --suite $suite: exit code $code"
        grep -avE '^\[( RUN   |       OK|=====)' "$log" | fold -s -w 160 | sed 's/^/     | /'
    } >>"$folder/failing"
done <"$folder/all"
[ ! -s "$folder/failing" ] || cat "$folder/failing"
[ ! -s "$folder/skipped" ] ||
    { echo "skipped tests, and why:" && sort "$folder/skipped" | uniq -c; }
if [ "$n_suites" -gt 10 ]; then
    echo "the most processor time:"
    sort -k 8,8 -rn "$folder/all" | awk -v most="${SLOWEST:-10}" '
        NR <= most { sub(/.*\/tests\//, "", $6); sub(/\/test$/, "", $6)
                     printf "  %7.2f s  %s/%s\n", $8, $6, $7 }'
fi
awk -v suites="$n_suites" -v wall=$(($(date +%s) - started)) '
{ cpu += $8; passed += $2; failed += $3; skipped += $4 }
END {
    printf "%d passed, %d failed, %d skipped, of %d suites", passed, failed, skipped, suites
    printf " in %d s (%d s of processor time)\n", wall, cpu
    exit !(failed == 0 && passed > 0)
}' "$folder/all"
