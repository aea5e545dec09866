#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Prints registers, shared memory, spills and resident blocks of each kernel, from nvcc's reports.
#   tests/gpu_report.sh FOLDER      the folder of the *.ptxas
# Warps get registers in units of 256. Each of the four parts of a multiprocessor has 16384.
# Each block takes 1 KiB of shared memory more than it declares. Exit code 1 if a kernel spills.
set -eu
folder=$1
cd "$(dirname "$0")/.."
ls "$folder"/*.ptxas >/dev/null 2>&1 || {
    echo "gpu-report: $folder has no kernels: install nvcc and build them" >&2
    exit 2
}
# The list of kernels has the threads per block.
printf '%s\n' '#include "models/gpu/kernels.h"' '#include <stdio.h>' \
    '#define ROW(theme, name, threads) printf("%s %s %d\n", #theme, #name, (int)(threads));' \
    'int main(void) { SPEC_KERNELS(ROW) return 0; }' |
    ${CC:-cc} -std=c11 -I. -Iinclude -x c -o "$folder/threads" -
"$folder/threads" >"$folder/threads.txt"
awk '
function least(a, b) { return a < b ? a : b }
function up(x, unit) { return int((x + unit - 1) / unit) * unit }
function blocks(threads, registers, shared, memory,   warps, n) {
    warps = up(threads, 32) / 32
    n = int(int(16384 / up(registers * 32, 256)) * 4 / warps)
    n = least(n, int(64 / warps))
    return least(least(n, 32), int(memory / up(shared + 1024, 128)))
}
FNR == NR { theme[$2] = $1; threads[$2] = $3; order[++count] = $2; next }
/Compiling entry function/ {
    split($0, part, "\047")
    name = part[2]; sub(/^spec_kernel_/, "", name)
    arch = part[4]
}
/bytes spill stores/ { spills[name, arch] = $5 + $9 }
/Used [0-9]+ registers/ {
    registers[name, arch] = $5
    shared[name, arch] = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART) + 0 : 0
}
END {
    printf "%-30s %-9s %7s %9s %7s %7s %12s %11s %12s %11s\n", "kernel", "theme", "threads",
        "registers", "shared", "spills", "blocks sm_90", "warps sm_90", "blocks sm_80",
        "warps sm_80"
    for (i = 1; i <= count; i++) {
        k = order[i]
        if (!((k, "sm_90") in registers)) { print k ": not compiled"; bad = 1; continue }
        spill = spills[k, "sm_90"] + spills[k, "sm_80"]
        n90 = blocks(threads[k], registers[k, "sm_90"], shared[k, "sm_90"], 233472)
        n80 = blocks(threads[k], registers[k, "sm_80"], shared[k, "sm_80"], 167936)
        printf "%-30s %-9s %7d %9s %7d %7d %12d %11d %12d %11d\n", k, theme[k], threads[k],
            registers[k, "sm_90"] "/" registers[k, "sm_80"], shared[k, "sm_90"], spill,
            n90, n90 * up(threads[k], 32) / 32, n80, n80 * up(threads[k], 32) / 32
        if (spill > 0) spilling = spilling " " k
    }
    print "registers: per thread, sm_90/sm_80; shared: bytes per block; " \
        "spills: bytes per thread; blocks, warps: resident per multiprocessor"
    print "gpu-report: " count " kernels; " \
        (spilling == "" ? "none spills" : "these spill:" spilling)
    exit bad || spilling != ""
}' "$folder/threads.txt" "$folder"/*.ptxas
