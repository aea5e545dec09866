#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the commands in documents and compares their output with the output that the documents show.
#   tests/docs.sh [--update | --first] SPECLAB FILE.md...     JOBS=N documents at a time
# --update writes the output into the documents; --first stops at the second heading of level 2.
# A block that begins with ```LANGUAGE FILE is written to that file of a scratch folder.
# In a block that begins with ```console, each line "$ command" is run in that folder.
# The lines up to the next command are its output.
# A command is skipped if it names an interpreter that is not installed.
set -eu
mode=all
case $1 in --*) mode=${1#--} && shift ;; esac
if [ $# -gt 2 ]; then
    program=$1
    shift
    printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -I FILE "$0" "--$mode" "$program" FILE
    exit
fi
speclab=$(cd "$(dirname "$1")" && pwd)
file=$2
# C compilers find the public header here, as after `make install`. An empty C_INCLUDE_PATH is for a
# speclab that is installed where compilers look.
C_INCLUDE_PATH=${C_INCLUDE_PATH-$(cd "$(dirname "$0")/../include" && pwd)}
export C_INCLUDE_PATH
# The reader's secrets, which `speclab validate` would name.
for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' |
    grep -iE 'key|token|secret|pass|credential'); do
    unset "$name"
done
absent=
for interpreter in python3 perl node parallel pkg-config; do
    command -v $interpreter >/dev/null || absent="$absent $interpreter"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work"
: >"$scratch/ran"
awk -v out="$scratch/new" -v dir="$scratch/work" -v path="$speclab" -v absent="$absent" \
    -v mode="$mode" -v ran="$scratch/ran" '
BEGIN { printf "" > out; n_absent = split(absent, missing, " ") }
function flush_command(   line, i) {
    if (command == "") return
    print command > ran
    print "$ " command > out
    for (i = 1; i <= n_absent; i++)
        if (command ~ "(^|[^a-z])" missing[i] " ") {
            printf "%s", said > out
            print "docs: skipped, there is no " missing[i] ": " command
            command = said = ""
            return
        }
    shell = "cd " dir " && PATH=" path ":$PATH; export PATH; { " command "; } 2>&1; " \
            "code=$?; [ $code -eq 0 ] || echo \"[exit $code]\""
    while ((shell | getline line) > 0) print line > out
    close(shell)
    command = said = ""
}
over { print > out; next }
/^```console/ { inside = 1; print > out; next }
/^```[a-z]+ [A-Za-z0-9_.-]+$/ { made = dir "/" $2; printf "" > made; print > out; next }
made != "" && /^```/ { close(made); made = ""; print > out; next }
made != "" { print > made; print > out; next }
inside && /^```/ { flush_command(); inside = 0; print > out; next }
inside && /^\$ / { flush_command(); command = substr($0, 3); next }
inside { said = said $0 "\n"; next }
mode == "first" && /^## / && ++headings == 2 { over = 1 }
{ print > out }' "$file" >"$scratch/skips"
cat "$scratch/skips"
if [ "$mode" = update ]; then
    cp "$scratch/new" "$file"
elif ! diff -u "$file" "$scratch/new" >"$scratch/diff"; then
    echo "$file does not say what its commands print:"
    sed 's/^/    /' "$scratch/diff"
    exit 1
fi
echo "$file: $(($(wc -l <"$scratch/ran") - $(wc -l <"$scratch/skips"))) commands print what it says"
