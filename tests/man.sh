#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks the man pages of speclab and of each verb, made without help2man.
# Each has every word of --help. An empty page of an earlier build is replaced.
#   tests/man.sh SPECLAB
set -eu
speclab=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
fail() { echo "man: $*" >&2; bad=1; }

# A PATH without help2man: only the tools of man.sh.
mkdir "$scratch/bin"
for tool in sh awk sed tr mkdir mv rm dirname; do
    ln -s "$(command -v $tool)" "$scratch/bin/$tool"
done
mkdir "$scratch/man" && : >"$scratch/man/speclab-plan.1"
PATH="$scratch/bin" cli/man.sh "$speclab" "$scratch/man" || fail "man.sh fails"

pages=0
for verb in "" $("$speclab" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    page=$scratch/man/speclab${verb:+-$verb}.1
    [ -s "$page" ] || { fail "$page is missing or empty"; continue; }
    pages=$((pages + 1))
    for section in NAME SYNOPSIS 'EXIT STATUS' ENVIRONMENT 'SEE ALSO'; do
        grep -q "^\.SH $section\$" "$page" || fail "$page has no $section"
    done
    # The page has every word of the help; its lines may differ.
    words() { tr -s ' ' '\n' | sed 's/:$//' | grep -v '^$' | sort -u; }
    "$speclab" $verb --help | sed 1d | words >"$scratch/words"
    sed -e 's/^\.[A-Z]*//;s/\\-/-/g;s/\\&//g;s/\\e/\\/g;s/speclab-\([a-z]*\)$/\1/' "$page" |
        words >"$scratch/said"
    missing=$(comm -23 "$scratch/words" "$scratch/said" | tr '\n' ' ')
    [ -z "$missing" ] || fail "$page lacks: $missing"
    if command -v groff >/dev/null; then
        warning=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null | head -1)
        [ -z "$warning" ] || fail "$warning"
    fi
done
[ $(ls "$scratch/man" | wc -l) -eq $pages ] ||
    fail "files besides the $pages pages: $(ls "$scratch/man")"

# Help text of another format is refused, and no page is written.
printf '%s\n' '#!/bin/sh' '[ "$1" != --version ] || { echo speclab 0; exit; }' \
    'echo "  plan  a verb"' >"$scratch/odd"
chmod +x "$scratch/odd"
if cli/man.sh "$scratch/odd" "$scratch/none" 2>"$scratch/said"; then
    fail "help of another format is accepted"
fi
[ "$(wc -l <"$scratch/said")" -eq 1 ] || fail "not one line: $(cat "$scratch/said")"
! ls "$scratch"/none/*.1 >/dev/null 2>&1 || fail "help of another format leaves a page"
[ $bad -eq 0 ] && echo "man: $pages pages say what --help says"
