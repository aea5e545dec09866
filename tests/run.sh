#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Run cmocka programs side by side, one per processor.
#   tests/run.sh PROGRAM...         JOBS=N  programs at a time (default: one per processor)
#                                   RUNNER=COMMAND  runs each program, such as an emulator
# Prints each failing test with its program's output, reasons to skip tests, and totals.
# Also prints the ten programs of the most processor time.
# Programs whose names are in ALONE run one after another at the end.
# Sleeping instead of spinning threads leave the processor to the other programs.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

# One program: its output, its counts and its time, in files of $1 named after it.
if [ "$1" = --one ]; then
    name=$(printf '%s' "$3" | tr / _)
    begin=$(date +%s%N)
    ${RUNNER:-} "$3" >"$2/$name.log" 2>&1
    code=$?
    times >"$2/$name.times" # of this shell, then of its children
    took=$(( ($(date +%s%N) - begin) / 10000000 ))
    awk -v program="$3" -v code=$code -v took=$took '
    /^\[ *(PASSED|FAILED|SKIPPED) *\] [0-9]+ test\(s\)/ { sub(/^\[ */, ""); n[$1] += $3 }
    END {
        failed = n["FAILED"] + 0
        if (code != 0 && failed == 0) failed = 1 # a signal or a sanitizer
        print took, n["PASSED"] + 0, failed, n["SKIPPED"] + 0, code, program, cpu
    }
    FNR == 2 && FILENAME ~ /[.]times$/ {
        for (i = 1; i <= 2; i++) { split($i, t, "m"); cpu += 60 * t[1] + t[2] }
    }' "$2/$name.log" "$2/$name.times" >"$2/$name.counts"
    if [ $code -ne 0 ]; then
        failing=$(sed -n 's/^\[  *FAILED  *\] \([A-Za-z_].*\)/\1/p' "$2/$name.log" | sort -u)
        for test in ${failing:-"(exit code $code)"}; do echo "FAIL $(basename "$3"): $test"; done
    fi
    exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
started=$(date +%s)
together="" alone=""
for program in "$@"; do
    case " ${ALONE:-} " in
    *" $(basename "$program") "*) alone="$alone $program" ;;
    *) together="$together $program" ;;
    esac
done
[ -z "$together" ] ||
    printf '%s\n' $together | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one "$folder"
for program in $alone; do "$0" --one "$folder" "$program"; done

cat "$folder"/*.counts >"$folder/all" 2>/dev/null
if [ "$(wc -l <"$folder/all")" -ne $# ]; then
    echo "FAIL run.sh: $(wc -l <"$folder/all") of $# programs left a result"
    exit 1
fi
while read -r took passed failed skipped code program cpu; do
    name=$(basename "$program") log=$folder/$(printf '%s' "$program" | tr / _).log
    [ "$skipped" -eq 0 ] || {
        grep -i '^skipped' "$log" || echo "skipped: $skipped test(s), no reason printed"
    } | sed 's/^[Ss][Kk][Ii][Pp][Pp][Ee][Dd]:* *//; s/^[a-zA-Z_0-9]*_[a-zA-Z_0-9]*: //' \
        >>"$folder/skipped"
    [ "$code" -eq 0 ] || {
        echo "---- $program: exit code $code; run it by itself with SPECLAB=${SPECLAB:-}"
        grep -vE '^\[( RUN   |       OK|=====)' "$log" | fold -s -w 160 | sed 's/^/     | /'
    } >>"$folder/failing"
done <"$folder/all"
[ ! -s "$folder/failing" ] || cat "$folder/failing"
[ ! -s "$folder/skipped" ] ||
    { echo "skipped tests, and why:" && sort "$folder/skipped" | uniq -c; }
if [ $# -gt 10 ]; then
    echo "the most processor time:"
    sort -k 7,7 -rn "$folder/all" |
        awk -v most="${SLOWEST:-10}" '
        NR <= most { n = $6; sub(/.*\//, "", n); printf "  %7.2f s  %s\n", $7, n }'
fi
awk -v programs=$# -v wall=$(($(date +%s) - started)) '
{ cpu += $7; passed += $2; failed += $3; skipped += $4 }
END {
    printf "%d passed, %d failed, %d skipped, of %d programs", passed, failed, skipped, programs
    printf " in %d s (%d s of processor time)\n", wall, cpu
    exit !(failed == 0 && passed > 0)
}' "$folder/all"
