#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Writes the man pages of speclab and of each verb from --help. A page appears when it is complete.
#   cli/man.sh PROGRAM FOLDER
set -eu
program=$1 folder=$2 here=$(dirname "$0")
version=$("$program" --version) version=${version#speclab }
verbs=$("$program" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | tr '\n' ' ')
mkdir -p "$folder"
write() {
    "$program" $1 --help >"$folder/$2.help"
    awk -v page="$2" -v version="$version" -v verbs="$verbs" -v tail="$here/man.inc" \
        -f "$here/man.awk" "$folder/$2.help" >"$folder/$2.1.partial" || {
        echo "man: the help of $2 has another format: see cli/man.awk" >&2
        exit 1
    }
    mv "$folder/$2.1.partial" "$folder/$2.1"
    rm "$folder/$2.help"
}
write "" speclab
for verb in $verbs; do write "$verb" "speclab-$verb"; done
