#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds for arm64 and runs the tests of base, models, sim and analysis under qemu.
# Then it compares results of the program with those of this machine, byte for byte.
#   tests/arm64.sh [-jN]
# It skips with a line if the cross compiler, the emulator or a library is missing.
missing=""
for program in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v $program >/dev/null 2>&1 || missing="$missing $program"
done
for library in libgsl.so.27 libjansson.so libpcre2-8.so libglpk.so libcmocka.so; do
    [ -e /usr/lib/aarch64-linux-gnu/$library ] || missing="$missing $library"
done
[ -z "$missing" ] || {
    echo "arm64: skipped: there is no$missing; type:"
    echo "    dpkg --add-architecture arm64 && apt-get update"
    echo "    apt-get install gcc-aarch64-linux-gnu qemu-user libgsl27:arm64 libjansson-dev:arm64" \
        "libglpk-dev:arm64 libpcre2-dev:arm64 libcmocka-dev:arm64"
    exit 0
}
set -e
make --no-print-directory "$@" all
make --no-print-directory "$@" CONFIG=arm64 arm64-tests
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
transformer='random?dim=32&layers=2&heads=2&ffn=64&vocab=96&context=64'
n=0
while read -r arguments; do
    n=$((n + 1))
    for machine in release arm64; do
        emulator=""
        [ $machine = release ] || emulator=qemu-aarch64
        # shellcheck disable=SC2086
        $emulator "build/$machine/speclab" $arguments </dev/null >"$folder/$machine" \
            2>"$folder/error" || {
            echo "FAIL $machine: speclab $arguments"
            cat "$folder/error"
            exit 1
        }
        grep -v '^#' "$folder/$machine" >"$folder/$machine.rows" || :
    done
    cmp "$folder/release.rows" "$folder/arm64.rows" || {
        echo "FAIL results differ: speclab $arguments"
        exit 1
    }
done <<LIST
predict --alpha 0.5,0.8 --K 1:8 --format csv
sweep --alpha 0.5,0.7 --K 2,4 --rounds 20000 --format csv
sweep --target zipf?V=99 --draft zipf?V=99&s=2 --K 3 --rounds 20000 --format csv
run speedup_table --rounds 2000 --format csv -o -
prove --K 2 --tokens 2 --format csv
accept --target zipf?V=9 --draft zipf?V=9&s=2 --n 1:2 --format csv
generate --target $transformer --plain -p 1 -n 24
generate --target $transformer --draft layers?exit=1 --K 3 -p 1 -n 24
LIST
echo "arm64: $n results are the same as on $(uname -m)"
