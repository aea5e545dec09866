#!/bin/sh
# Run cmocka programs one after another; a line for each, everything that a failing one said, and one closing line for
# all.
#   tests/run.sh PROGRAM...
passed=0 failed=0 skipped=0 broken=""
log=$(mktemp)
trap 'rm -f "$log"' EXIT
count() { sed -nE "s/^\[  *$1  *\] ([0-9]+) test\(s\).*/\1/p" "$log" | awk '{ n += $1 } END { print n + 0 }'; }
for program in "$@"; do
    begin=$(date +%s%N)
    "$program" >"$log" 2>&1
    code=$?
    seconds=$(( ($(date +%s%N) - begin) / 10000000 ))
    p=$(count PASSED) f=$(count FAILED) s=$(count SKIPPED)
    # A program that dies (a signal, a sanitizer) counts as one failure even if cmocka counted none.
    [ $code -ne 0 ] && [ "$f" -eq 0 ] && f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '%-4s %-28s [  PASSED  ] %d test(s).%s %d.%02d s\n' \
        "$([ $code -eq 0 ] && echo ok || echo FAIL)" "$(basename "$program")" "$p" \
        "$([ "$s" -gt 0 ] && echo " [  SKIPPED ] $s.")" $((seconds / 100)) $((seconds % 100))
    grep -hi '^skipped' "$log" | sed 's/^/       /'
    if [ $code -ne 0 ]; then
        broken="$broken $(basename "$program")"
        sed 's/^/     | /' "$log"
    fi
done
[ -n "$broken" ] && echo "failing:$broken"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
