#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Checks nvcc's reports: no kernel for sm_80 or sm_90 spills registers or uses a stack.
# Both are in slow memory. The kernel `angles` may have a stack: it reduces large angles modulo pi.
# Prints each kernel that does, and a summary.
#   tests/gpu.sh FILE.ptxas...     without files: nvcc is not installed
[ $# -gt 0 ] || { echo "skipped: no nvcc"; exit 0; }
awk '
/Compiling entry function/ {
    split($0, part, "\047")
    name = part[2]; sub(/^spec_kernel_/, "", name)
    arch = part[4]
    seen[name] = seen[name] " " arch
}
/bytes stack frame/ && ($1 > 0 && name != "angles" || $5 > 0 || $9 > 0) {
    print "gpu: " name " for " arch ": " $1 " bytes of stack, " \
        $5 " bytes of registers stored there, " $9 " loaded"
    bad = 1
}
/Used [0-9]+ registers/ && $5 > most { most = $5; which = name " for " arch }
END {
    for (name in seen) {
        n++
        if (seen[name] == " sm_80 sm_90" || seen[name] == " sm_90 sm_80") continue
        print "gpu: " name " is compiled for" seen[name] ", not for sm_80 and sm_90"
        bad = 1
    }
    if (n == 0) { print "gpu: there are no kernels"; exit 1 }
    print "gpu: " n " kernels for sm_80 and sm_90, the most registers " most " (" which "), " \
        (bad ? "not as they should be" : "none spills or has a stack")
    exit bad
}' "$@"
