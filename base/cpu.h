/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpu: the SIMD instruction set of the vector kernels, chosen at run time.
 * Results are the same bytes for every set. A call takes tens of nanoseconds: call once per batch,
 * not per draw. */
#ifndef SPECLAB_CPU_H
#define SPECLAB_CPU_H

#include "speclab/status.h"

/* The sets of this processor's architecture. Each includes the ones before it. On x86-64, AVX2 here
 * also requires FMA and F16C, which nearly all processors with AVX2 have; AVX-512 means F, DQ, VL
 * and BW, and VNNI means AVX512-VNNI, not AVX-VNNI. On arm64, every processor has NEON, and most
 * made since 2018 have Armv8.2's dot products of bytes. */
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

/* Returns the best instruction set of this machine, up to the limit. */
spec_isa spec_cpu_isa(void);

/* Limits _isa in this process to the set called opt_name; NULL removes the limit. The names are
 * portable; avx2, avx512 and vnni on x86-64; neon and dotprod on arm64. Forked children inherit the
 * limit. Returns GSL_EINVAL, with a message that lists the machine's names, if no set has this
 * name; the limit is then unchanged. */
int spec_cpu_limit(const char *opt_name, spec_error *error);

/* Returns the best instruction set of this machine, whatever the limit. */
spec_isa spec_cpu_best_isa(void);

const char *spec_cpu_isa_name(spec_isa isa);

#endif
