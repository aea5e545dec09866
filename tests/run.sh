#!/bin/sh
# Run cmocka programs one after another: a line for each, and everything that a failing one said. At the end what was
# skipped and why, what fails and how to run it again, and one line for all.
#   tests/run.sh PROGRAM...
# Threads that wait sleep: spinning takes the processor from the other processes of a test, and from other programs.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
programs=0 passed=0 failed=0 skipped=0 started=$(date +%s)
folder=$(mktemp -d)
log=$folder/log
trap 'rm -rf "$folder"' EXIT
: >"$folder/skipped" && : >"$folder/failing"
count() { sed -nE "s/^\[  *$1  *\] ([0-9]+) test\(s\).*/\1/p" "$log" | awk '{ n += $1 } END { print n + 0 }'; }
for program in "$@"; do
    begin=$(date +%s%N)
    "$program" >"$log" 2>&1
    code=$?
    seconds=$(( ($(date +%s%N) - begin) / 10000000 ))
    p=$(count PASSED) f=$(count FAILED) s=$(count SKIPPED)
    # A program that dies (a signal, a sanitizer) counts as one failure even if cmocka counted none.
    [ $code -ne 0 ] && [ "$f" -eq 0 ] && f=1
    programs=$((programs + 1)) passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    name=$(basename "$program")
    printf '%-4s %-28s [  PASSED  ] %d test(s).%s %d.%02d s\n' \
        "$([ $code -eq 0 ] && echo ok || echo FAIL)" "$name" "$p" \
        "$([ "$s" -gt 0 ] && echo " [  SKIPPED ] $s.")" $((seconds / 100)) $((seconds % 100))
    if [ "$s" -gt 0 ]; then
        grep -i '^skipped' "$log" >"$folder/why" || echo "skipped: $s test(s), of which it does not say why" >"$folder/why"
        sed "s/^[Ss][Kk][Ii][Pp][Pp][Ee][Dd]:* */  $name: /" "$folder/why" >>"$folder/skipped"
    fi
    if [ $code -ne 0 ]; then
        echo "  $program: $f failed, exit code $code" >>"$folder/failing"
        sed 's/^/     | /' "$log"
    fi
done
[ -s "$folder/skipped" ] && echo "skipped, and why:" && cat "$folder/skipped"
[ -s "$folder/failing" ] && echo "failing, each is a program that runs by itself (SPECLAB=${SPECLAB:-}):" && cat "$folder/failing"
echo "$passed passed, $failed failed, $skipped skipped, of $programs programs in $(($(date +%s) - started)) s"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
