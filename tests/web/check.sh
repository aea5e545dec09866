#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares the module's answers with those of this machine, byte by byte. The compiler in
# provenance alone differs. The C library computes without FMA, as WebAssembly does.
#   tests/web/check.sh SPECLAB ASK MODULE     ASK: the program of tests/web/ask.c
set -eu
speclab=$1 ask=$2 module=$3
here=$(dirname "$0")
node "$here/ticks.js" "$here/../../web/js/chart.js"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/files"
model=""
if [ -n "${SPECLAB_DATA:-}" ]; then
    "$speclab" quantize "llama2c:$SPECLAB_DATA/stories260K/stories260K.bin" \
        "$scratch/files/stories.gguf" >/dev/null 2>&1
    model=gguf:stories.gguf
fi
awk -v folder="$scratch/files/" '
    /^```[a-z]+ [A-Za-z0-9_.-]+$/ { made = folder $2; next }
    /^```/ { made = "" }
    made != "" { print > made }' "$here/../../docs/advise.md"
printf 'no log\n\033[31m<b>\377\n' >"$scratch/files/junk"
"$here/questions.sh" "$speclab" "$model" >"$scratch/questions"
same='s/compiler: [^|]*\\u000a//'
files=$(cd "$scratch/files" && for name in *; do echo "$name=$scratch/files/$name"; done)
# shellcheck disable=SC2086
node "$here/ask.js" "$module" $files <"$scratch/questions" | sed "$same" >"$scratch/module"
ask=$(realpath "$ask")
without=GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA
(cd "$scratch/files" && env $without "$ask" <../questions) | sed "$same" >"$scratch/here"
if ! cmp -s "$scratch/here" "$scratch/module"; then
    paste "$scratch/questions" "$scratch/here" "$scratch/module" -d '\n' | awk '
        NR % 3 == 1 { question = $0 }
        NR % 3 == 2 { here = $0 }
        NR % 3 == 0 && $0 != here && ++n <= 5 { print question; print here; print }
        END { print "web: " n " of " NR / 3 " answers differ"; exit n > 0 }' | cut -c 1-2000
    exit 1
fi
echo "web: $(wc -l <"$scratch/here") answers of the module are those of this machine," \
    "$(grep -c '^{"error"' "$scratch/here") of them refusals"
