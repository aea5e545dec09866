/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpu: the SIMD instruction set of the vector kernels, chosen at run time.
 * Results are the same bytes for every set. A call takes tens of nanoseconds: call once per batch,
 * not per draw. */
#ifndef SPECLAB_CPU_H
#define SPECLAB_CPU_H

#include "speclab/status.h"

/* Each set includes those before it. AVX2 counts with FMA and F16C, which all but a few processors
 * with AVX2 have; AVX-512 with F, DQ, VL and BW; VNNI is AVX-512's. */
typedef enum { SPEC_ISA_PORTABLE, SPEC_ISA_AVX2, SPEC_ISA_AVX512, SPEC_ISA_VNNI } spec_isa;

/* The best instruction set that this machine has, at most the limit. */
spec_isa spec_cpu_isa(void);

/* Limit _isa in this process to the set of that name: portable, avx2, avx512 or vnni; NULL removes
 * the limit. Children of fork inherit it. GSL_EINVAL, with a line that lists the names and with the
 * limit unchanged, if no set has the name. */
int spec_cpu_limit(const char *opt_name, spec_error *error);

/* The best instruction set that this machine has, whatever the limit. */
spec_isa spec_cpu_best_isa(void);

const char *spec_cpu_isa_name(spec_isa isa);

#endif
