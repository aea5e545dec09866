#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks that links, anchors, citation keys and column names exist.
#   tests/links.sh
# Links: relative ones in *.md, and docs/NAME.md or docs/NAME.md#anchor in any source, also in a
#   folder of docs.
# Keys: docs/references.md lists each key like [Leviathan23] that a source cites, and no other key.
#   No key and no arXiv number is there twice, and no arXiv number is later than the year beside it.
# Columns: docs/notation.md explains the columns of all measures, with or without their suffix.
# Measures: each one has a row in docs/formats.md.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0
fail() { echo "$1" >&2; bad=1; }

# The anchors of a document: <a id="..."> and headings, as GitHub names them.
anchors() {
    sed -n 's/.*<a id="\([^"]*\)">.*/\1/p' "$1" | tr ' ' '\n'
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}

check() { # the file with the link, the path, the anchor
    if [ ! -e "$2" ]; then fail "$1: no file $2"; return; fi
    [ -z "$3" ] || anchors "$2" | grep -qxF -e "$3" || fail "$1: $2 has no anchor #$3"
}

# The sources: the files of git; outside a repository, all files except build outputs.
if git rev-parse --git-dir >/dev/null 2>&1; then all=$(git ls-files -co --exclude-standard); else
    all=$(find . -path ./build -prune -o -path ./out -prune -o -type f -print | sed 's|^\./||'); fi
files=$(printf '%s\n' "$all" | grep -E '\.(md|h|c|cfg|sh|gp|py)$')

for file in $(printf '%s\n' "$all" | grep '\.md$'); do
    for target in $(grep -oE '\]\([^)# ]*(#[^) ]*)?\)' "$file" | sed 's/^](//; s/)$//'); do
        case $target in
        http*) ;;
        '#'*) check "$file" "$file" "${target#\#}" ;;
        *'#'*) check "$file" "$(dirname "$file")/${target%%#*}" "${target#*#}" ;;
        *) check "$file" "$(dirname "$file")/$target" "" ;;
        esac
    done
done

reference='docs/([a-z-]+/)?([a-z_-]+|README)\.md(#[A-Za-z0-9-]+)?'
for said in $(grep -oE "$reference" $files | sort -u); do
    target=${said#*:}
    case $target in
    *'#'*) check "${said%%:*}" "${target%%#*}" "${target#*#}" ;;
    *) check "${said%%:*}" "$target" "" ;;
    esac
done

listed=$(sed -n 's/^| \[\([A-Za-z0-9.-]*\)\] |.*/\1/p' docs/references.md | sort)
elsewhere=$(printf '%s\n' $files | grep -vx docs/references.md)
for key in $listed; do
    grep -qwF -e "$key" $elsewhere || fail "docs/references.md: nothing cites [$key]"
done
key='[A-Z][A-Za-z]+[0-9]{2}'
cited="\\[$key[];, ]|[;,] $key\\]|; $key;|\.reference = \"[A-Za-z0-9]+\""
for key in $(grep -ohE "$cited" $elsewhere | sed 's/.*= //' | tr -d '[];," ' | sort -u); do
    printf '%s\n' $listed | grep -qx "$key" ||
        fail "docs/references.md: [$key] is cited and not listed"
done
twice=$(awk -F'[][]' '/^\| \[/ {
    if (seen[$2]++) print "[" $2 "] is listed twice"
    if (!match($0, /arXiv:[0-9.]+[0-9]/)) next
    number = substr($0, RSTART + 6, RLENGTH - 6)
    if (number in of) print "arXiv:" number " is [" of[number] "] and [" $2 "]"
    of[number] = $2
    rest = $0
    gsub(/arXiv:[0-9.]+/, "", rest)
    for (last = 0; match(rest, /[12][0-9][0-9][0-9]/); rest = substr(rest, RSTART + 4))
        if (substr(rest, RSTART, 4) > last) last = substr(rest, RSTART, 4)
    if (last < 2000 + substr(number, 1, 2)) print "[" $2 "]: arXiv:" number " is later than " last
}' docs/references.md)
[ -z "$twice" ] || fail "docs/references.md: $twice"

columns=$(awk '/ columns[a-z_]*\[\] = /{on = 1} on{print} /;/{on = 0}' \
    experiments/measures/measure_*.c tools/*/measure_*.c tools/bench/*.c |
    grep -oE '"[^"]+"' | tr -d '"' | sort -u)
for column in $columns; do
    bare=$(printf '%s\n' "$column" | sed -E 's/_(se|theory|z|var)$//')
    grep -qF -e "\`$column\`" -e "\`$bare\`" docs/notation.md ||
        fail "docs/notation.md: column $column is not explained"
done

names='s/^ *\.name = "\([a-z_]*\)",.*/\1/p'
for measure in $(sed -n "$names" experiments/measures/measure_*.c tools/*/measure_*.c); do
    grep -q "^| \`$measure\` |" docs/formats.md ||
        fail "docs/formats.md: no row for measure $measure"
done

# Each column with an axis title is explained.
words=cli/figures/figure_words.c
for column in $(sed -n 's/^    {"\([a-zA-Z][a-zA-Z_0-9]*\)", [N"].*/\1/p' $words); do
    grep -qF -e "\`$column\`" docs/notation.md docs/formats.md experiments/cfg/*.cfg ||
        grep -qE "(^|[^a-zA-Z_])$column( = |\")" experiments/cfg/*.cfg ||
        fail "$words: column $column is explained nowhere"
done

[ $bad = 0 ] && echo "links: every link, anchor, reference and column exists"
exit $bad
