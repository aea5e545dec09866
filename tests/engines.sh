#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Print docs/engines.md from docs/engines.txt: options of engines and speclab's names for them.
#   tests/engines.sh                     the page, as Markdown
#   tests/engines.sh --check SPECLAB     compare it with docs/engines.md, and its names with the
#                                        lists that SPECLAB prints
set -eu
cd "$(dirname "$0")/.."
table=docs/engines.txt

page() {
    cat <<'END'
# Options of engines

Every engine has its own names for methods. The first tables go from an option of an engine to
speclab's name, and the last one goes back. `tests/engines.sh` writes this page from
`docs/engines.txt`. The second column says which list has the name: `speclab list rules` and so on.
What an engine releases may differ from its documents: see the [verdicts](verdicts.md) on their
samplers.
END
    awk -F ' *[|] *' '
    function fail(text) {
        print FILENAME ":" FNR ": " text >"/dev/stderr"
        bad = 1
    }
    function shown(name) { return "`" name "`" }
    /^#/ || NF == 0 { next }
    NF == 2 { engine[++engines] = $1; version[engines] = $2; next }
    NF != 4 { fail("a row has 4 cells: option, list, name, note"); next }
    {
        rows[engines] = rows[engines] "| " $1 " | " $2 " | " shown($3) \
            ($4 == "" ? " | |" : " | " $4 " |") "\n"
        key = $2 " " $3
        sub(/[?:].*/, "", key)
        if (!(key in seen)) { seen[key] = 1; list[++lists] = $2; base[lists] = key }
        option = engine[engines] ": " $1
        name = $3
        if (name ~ /[?:]/) option = option " (" shown(name) ")"
        if (key in back) option = back[key] "; " option
        back[key] = option
    }
    END {
        for (i = 1; i <= engines; i++) {
            print "\n## " engine[i] "\n\n" version[i] ".\n"
            print "| option or function | list | name here | what differs |\n|---|---|---|---|"
            printf "%s", rows[i]
        }
        print "\n## From a name to engines\n\n| list | name | engines |\n|---|---|---|"
        n = split("models drafts rules policies lengths processes", order, " ")
        for (k = 1; k <= n; k++)
            for (i = 1; i <= lists; i++) if (list[i] == order[k]) {
                name = base[i]
                sub(/^[^ ]* /, "", name)
                print "| " list[i] " | " shown(name) " | " back[base[i]] " |"
            }
        exit bad
    }' "$table"
}

# The usages that the program lists, one per line: list, then usage.
usages() {
    for list in models drafts rules policies lengths processes; do
        "$1" list $list --format json | tr '{' '\n' |
            sed -n "s/.*\"name\": *\"\([^\"]*\)\".*/$list \1/p"
    done
}

scratch=$(mktemp)
trap 'rm -f "$scratch" "$scratch.names"' EXIT
page >"$scratch"
if [ "${1:-}" != --check ]; then
    cat "$scratch"
    exit
fi
if ! diff docs/engines.md "$scratch" >/dev/null; then
    echo "docs/engines.md is out of date: type tests/engines.sh > docs/engines.md" >&2
    exit 1
fi
usages "$2" >"$scratch.names"
awk -F ' *[|] *' -v names="$scratch.names" '
    BEGIN {
        while ((getline line < names) > 0) {
            list = line; sub(/ .*/, "", list)
            usage = line; sub(/^[^ ]* /, "", usage)
            name = usage; sub(/[?:[].*/, "", name)
            known[list " " name] = usage
        }
    }
    /^#/ || NF != 4 { next }
    {
        n++
        name = $3; sub(/[?:].*/, "", name)
        if (!(($2 " " name) in known)) {
            print FILENAME ":" FNR ": speclab list " $2 " has no " name >"/dev/stderr"
            bad = 1
            next
        }
        if ($3 !~ /\?/) next
        keys = $3; sub(/^[^?]*\?/, "", keys)
        usage = known[$2 " " name]; sub(/^[^?]*/, "", usage)
        count = split(keys, key, "&")
        for (i = 1; i <= count; i++) {
            sub(/=.*/, "", key[i])
            if (usage !~ ("[?&]" key[i] "(=|$)") && $2 != "models") {
                print FILENAME ":" FNR ": " name " has no key " key[i] >"/dev/stderr"
                bad = 1
            }
        }
    }
    END {
        if (!bad) print "engines: docs/engines.md maps " n " options, all of them listed"
        exit bad
    }' "$table"
