#!/bin/sh
# Run the commands of the documents and compare what they print with what the documents say.
#   tests/docs.sh [--update] SPECLAB FILE.md...
# In a block that begins with ```console, a line "$ command" is run in a scratch folder; the lines up to the next one
# are its output.
# --update writes what the commands print into the documents.
set -eu
update=0
[ "$1" = --update ] && { update=1; shift; }
speclab=$(cd "$(dirname "$1")" && pwd)
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0 run=0
for file in "$@"; do
    mkdir -p "$scratch/work"
    awk -v out="$scratch/new" -v dir="$scratch/work" -v path="$speclab" '
    BEGIN { printf "" > out }
    function flush_command(   line) {
        if (command == "") return
        print "$ " command > out
        shell = "cd " dir " && PATH=" path ":$PATH; export PATH; { " command "; } 2>&1; " \
                "code=$?; [ $code -eq 0 ] || echo \"[exit $code]\""
        while ((shell | getline line) > 0) print line > out
        close(shell)
        command = ""
    }
    /^```console/ { inside = 1; print > out; next }
    inside && /^```/ { flush_command(); inside = 0; print > out; next }
    inside && /^\$ / { flush_command(); command = substr($0, 3); next }
    inside { next }
    { print > out }' "$file"
    run=$((run + $(grep -c '^\$ ' "$file" || true)))
    if [ $update = 1 ]; then
        cp "$scratch/new" "$file"
    elif ! diff -u "$file" "$scratch/new" >"$scratch/diff"; then
        echo "$file does not say what its commands print:"
        sed 's/^/    /' "$scratch/diff"
        bad=1
    fi
    rm -rf "$scratch/work"
done
[ $bad = 0 ] && echo "docs: $run commands print what the documents say"
exit $bad
