#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds for arm64 and runs the tests of base, models, sim and analysis under qemu.
# The kernels' tests run twice, with and without the dot products of bytes of Armv8.2.
# Then it compares results of the program with those of this machine, byte for byte, for each
# instruction set of arm64.
#   tests/arm64.sh [-jN]
set -e
.ci/libraries arm64 emulator
make --no-print-directory "$@" all
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
qemu="qemu-aarch64-static -L build/libraries-arm64"
dotprod="$qemu -cpu max" plain="$qemu -cpu cortex-a53"

make --no-print-directory "$@" CONFIG=arm64 RUNNER="$dotprod" arm64-tests
tests=build/arm64/tests
for pair in "dotprod:$dotprod" "neon:$plain"; do
    ${pair#*:} $tests/base/test --suite cpu 2>&1 | grep -x "this machine: ${pair%%:*}"
done
RUNNER=$plain tests/run.sh --only cpu,product,vector,forward_truth,row,acceptance,lanes \
    $tests/base/test $tests/models/transformer/kernels/test \
    $tests/models/transformer/engine/test $tests/models/test $tests/sim/test $tests/sim/chance/test

transformer='random?dim=32&layers=2&heads=2&ffn=64&vocab=96&context=64'
n=0
# result FILE COMMAND...: the output without the comments that name the machine
result() {
    file=$1
    shift
    "$@" </dev/null >"$folder/out" 2>"$folder/error" || {
        echo "FAIL $*"
        cat "$folder/error"
        exit 1
    }
    grep -v '^#' "$folder/out" >"$folder/$file" || :
}
while read -r arguments; do
    n=$((n + 1))
    # shellcheck disable=SC2086
    result here build/release/speclab $arguments
    [ -s "$folder/here" ] || {
        echo "FAIL no output: speclab $arguments"
        exit 1
    }
    for set in portable neon dotprod; do
        # shellcheck disable=SC2086
        SPECLAB_ISA=$set result there $dotprod build/arm64/speclab $arguments
        cmp "$folder/here" "$folder/there" || {
            echo "FAIL results differ with SPECLAB_ISA=$set: speclab $arguments"
            exit 1
        }
    done
done <<LIST
predict --alpha 0.5,0.8 --K 1:8 --format csv
sweep --alpha 0.5,0.7 --K 2,4 --rounds 20000 --format csv
sweep --alpha 0.6 --process markov?rho=0.5&spread=0.2 --K 4 --rounds 20000 --format csv
sweep --alpha 0.6 --process decay?rate=0.9 --K 4 --rounds 20000 --format csv
sweep --target zipf?V=99 --draft zipf?V=99&s=2 --K 3 --rounds 20000 --format csv
run speedup_table --rounds 2000 --format csv
prove --K 2 --tokens 2 --format csv
accept --target zipf?V=9 --draft zipf?V=9&s=2 --n 1:2 --format csv
generate --target $transformer --plain -p 1 -n 24
generate --target $transformer --draft layers?exit=1 --K 3 -p 1 -n 24
generate --target $transformer&type=q4_0 --draft layers?exit=1 --temperature 0.7 --K 3 -p 1 -n 24
generate --target $transformer&type=f16 --draft quantised?type=bf16 --top-p 0.9 --K 3 -p 1 -n 24
generate --target $transformer&type=f32 --draft layers?exit=1 --temperature 2 --K 5 -p 1 -n 24
LIST
echo "arm64: $n results are the same as on $(uname -m)"
