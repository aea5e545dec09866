#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests speclab on an NVIDIA GPU and measures it, the most important first, in the folder that
# `make card` packed.
#   run.sh [STAGE...]    smoke tests bench speculation sanitizers profile; none means all
#   OUT=card-out         folder of the results: log.txt and a file for each stage
#   CARD_SECONDS=480     no command runs longer; what has no time left is named
#   CARD_DRY=1           with tiny shapes on the simulated GPU, to see that this script works
# Exits with 1 if something failed.
set -u
top=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-card-out} dry=${CARD_DRY:-0} failed=0
# The simulated GPU has all the time that it needs on a busy machine.
[ "$dry" = 1 ] && times=20 || times=1
seconds=$((${CARD_SECONDS:-480} * times))
mkdir -p "$out" && out=$(cd "$out" && pwd) && cd "$top" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH=$top/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} SPECLAB_DATA=$top/data
export OMP_WAIT_POLICY=passive PATH=$PATH:/usr/local/cuda/bin
: >"$out/log.txt"
if [ "$dry" = 1 ]; then
    export SPECLAB_LIBCUDA=$top/tests/simulator/libcuda.so
else
    export SPECLAB_CARD=1
    # Containers keep the driver where the linker does not search.
    if [ -z "${SPECLAB_LIBCUDA:-}" ] && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
        found=$(find /usr/local/nvidia /usr/lib /usr/lib64 -name libcuda.so.1 2>/dev/null |
            head -n 1)
        [ -z "$found" ] || export SPECLAB_LIBCUDA=$found
    fi
fi

say() { printf '%4d s  %s\n' $SECONDS "$*" | tee -a "$out/log.txt"; }
left() { echo $((seconds - SECONDS)); }
fails() { failed=1 && say "FAILED: $*"; }

# try LIMIT FILE COMMAND...: runs it for at most LIMIT seconds, and appends its output to FILE.
try() {
    local limit=$(($1 * times)) file=$out/$2 code begun=$SECONDS
    shift 2
    [ "$(left)" -ge 5 ] || { say "no time left for: $*"; return 1; }
    [ "$limit" -le "$(left)" ] || limit=$(left)
    echo "\$ $*" >>"$file"
    timeout -k 3 "$limit" "$@" >>"$file" 2>&1
    code=$?
    [ $code = 0 ] && say "$((SECONDS - begun)) s: ${*//$top\//}" && return
    [ $code = 124 ] || [ $code = 137 ] || tail -n 3 "$file" | tee -a "$out/log.txt"
    fails "exit code $code after $((SECONDS - begun)) s: ${*//$top\//}"
    return 1
}

# The greedy text of a model has the same bytes in every way of running it on a GPU.
smoke() {
    local model='random?dim=1024&layers=4&heads=8&kv_heads=4&ffn=2048&vocab=8000&context=128'
    local type way first text n=64
    [ "$dry" = 0 ] || model='random?dim=64&layers=2&heads=4&kv_heads=2&ffn=64&vocab=500' n=12
    say "commit $(cat commit), Linux $(uname -r), $(ldd --version | head -n 1), $(nproc) CPUs"
    nvidia-smi >>"$out/log.txt" 2>&1
    try 30 log.txt ./speclab list devices || return
    tail -n 2 "$out/log.txt" | head -n 1
    for type in f32 q8_0; do
        first=
        for way in X=0 SPECLAB_GPU_RECORD=0 SPECLAB_GPU_EARLY=0 draft; do
            set -- --plain
            [ $way != draft ] || set -- --draft 'layers?of=target&exit=1'
            text=$(env "${way/draft/X=0}" timeout $((60 * times)) ./speclab generate \
                --target "$model&type=$type" --device gpu --temperature 0 -n $n "$@" \
                2>>"$out/log.txt" | cksum)
            [ -n "$first" ] || first=$text
            [ "$text" = "$first" ] || fails "$type: another text with $way"
        done
        say "$type: texts with and without recordings, early starts and a draft: $first"
    done
}

# Suites that fill or count the GPU's memory run alone.
tests() {
    local alone=card,card_roofline,device others programs
    programs=$(find "$top/tests" -name test -type f)
    others=$(for p in $programs; do "$p" --list --tag simulator; done | sed 's|/.*||' | sort -u |
        grep -vxE "${alone//,/|}" | paste -sd,)
    [ "$dry" = 0 ] ||
        { alone=card_recordings others=launch_columns programs=$top/tests/models/gpu/test; }
    export RUNNER="timeout -k 3 $((120 * times))"
    JOBS=4 try 240 tests.txt tests/run.sh --tag simulator --only "$others" $programs
    JOBS=1 try 120 tests.txt tests/run.sh --tag simulator --only "$alone" $programs
    unset RUNNER
    grep -hE '^FAIL|passed, ' "$out/tests.txt" | tee -a "$out/log.txt"
}

# Speeds beside the goals of docs/gpu.md; and at real sizes, whether a token's result depends on it
# alone, and its distance from the CPU's.
bench() {
    local tiny=
    [ "$dry" = 0 ] || tiny=-t
    try 180 bench.txt tests/bench/gpu/bench_gpu $tiny "$out/bench.csv"
    grep -E ' (NO|yes)$|goals' "$out/bench.txt" | tee -a "$out/log.txt"
}

# A trained pair with real acceptance, its target widened 64 times to real cost: 3.7 G parameters.
speculation() {
    local by=64 target=$work/wide.gguf options='--K 0:8 --texts 8 -n 128' rule
    [ "$dry" = 0 ] || by=4 target=$work/q8.gguf options='--K 0:1 --texts 2 -n 4 --widths 1,2'
    [ -f data/babyllama/target.bin ] || { say "no models: SPECLAB_DATA was not set"; return; }
    try 20 log.txt ./speclab quantize --type q8_0 llama2c:data/babyllama/target.bin \
        "$work/q8.gguf" &&
        try 60 log.txt ./speclab widen "$work/q8.gguf" --by $by -o "$work/wide.gguf" || return
    for rule in '--temperature 1' '--temperature 0' '--verify host'; do
        # shellcheck disable=SC2086
        try 80 speculation.txt ./speclab bench --target "$target" \
            --draft llama2c:data/babyllama/draft.bin --device gpu --context 32 $options $rule \
            -o "$out/speculation${rule// /-}.csv" --force
    done
}

# NVIDIA's tools see what the simulator cannot: the order in which memory shows writes.
sanitizers() {
    local tool
    command -v compute-sanitizer >/dev/null || { say "there is no compute-sanitizer"; return; }
    for tool in memcheck racecheck synccheck initcheck; do
        try 90 sanitizers.txt compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 10 \
            tests/models/gpu/test --only launch_columns,launch_product,sampling_gpu,passes_gpu
    done
}

# The kernels of two layers, line by line.
profile() {
    command -v ncu >/dev/null || { say "there is no ncu"; return; }
    SPECLAB_GPU_RECORD=0 SPECLAB_GPU_EARLY=0 try 90 profile.txt ncu --set full --import-source yes \
        -k 'regex:spec_kernel_(product|attend|combine|place|norm).*' --launch-skip 301 \
        --launch-count 18 -f -o "$out/profile" ./speclab generate --plain -n 8 --device gpu \
        --target 'random?dim=2048&layers=16&heads=32&kv_heads=8&ffn=8192&vocab=32000&type=q8_0'
}

[ $# -gt 0 ] || set -- smoke tests bench speculation sanitizers profile
for stage in "$@"; do
    say "== $stage, $(left) s left"
    "$stage"
done
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv \
    >>"$out/log.txt" 2>/dev/null
[ $failed = 0 ] && say "all stages ended well" || say "something failed: $out/log.txt"
exit $failed
