/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpu: the SIMD instruction set of the vector kernels, chosen at run time.
 * Results are the same bytes for every set. A call takes tens of nanoseconds: call once per batch,
 * not per draw. */
#ifndef SPECLAB_CPU_H
#define SPECLAB_CPU_H

#include "speclab/status.h"

/* The sets of this processor's architecture. Each set includes those before it. x86-64: AVX2 counts
 * with FMA and F16C, which all but a few processors with AVX2 have; AVX-512 with F, DQ, VL and BW;
 * VNNI is AVX-512's. arm64: every processor has NEON, and most since 2018 have the dot products of
 * bytes of Armv8.2. */
typedef enum {
    SPEC_ISA_PORTABLE,
#if defined(__x86_64__)
    SPEC_ISA_AVX2,
    SPEC_ISA_AVX512,
    SPEC_ISA_VNNI,
#elif defined(__aarch64__)
    SPEC_ISA_NEON,
    SPEC_ISA_DOTPROD,
#endif
    SPEC_ISA_END /* the number of sets */
} spec_isa;

/* The best instruction set that this machine has, at most the limit. */
spec_isa spec_cpu_isa(void);

/* Limit _isa in this process to the set of that name; NULL removes the limit. Names: portable; on
 * x86-64 avx2, avx512, vnni; on arm64 neon, dotprod. Children of fork inherit the limit.
 * GSL_EINVAL, with a line that lists the machine's names and with the limit unchanged, if no set
 * has the name. */
int spec_cpu_limit(const char *opt_name, spec_error *error);

/* The best instruction set that this machine has, whatever the limit. */
spec_isa spec_cpu_best_isa(void);

const char *spec_cpu_isa_name(spec_isa isa);

#endif
