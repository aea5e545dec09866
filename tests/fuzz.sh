#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs fuzzers side by side, one per processor, each for some seconds from its seeds and corpus.
#   tests/fuzz.sh SECONDS FOLDER FUZZER...     FOLDER: corpora, logs and inputs that failed
# Prints one line per fuzzer, or the log of the one that found something.
if [ "$1" = --one ]; then
    seconds=$2 folder=$3 fuzzer=$4 name=$(basename "$4")
    mkdir -p "$folder/corpus/$name"
    seeds=$(ls -d "tests/fuzz/seeds/${name#fuzz_}" "tests/fuzz/seeds/$name" 2>/dev/null)
    "$fuzzer" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$folder/" \
        "$folder/corpus/$name" $seeds >"$folder/$name.log" 2>&1 || {
        echo "FAIL $name, its log:"
        sed 's/^/     | /' "$folder/$name.log"
        exit 1
    }
    runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$folder/$name.log")
    echo "fuzz: $name: $runs runs, nothing found"
    exit 0
fi
seconds=$1 folder=$2
shift 2
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one "$seconds" "$folder"
