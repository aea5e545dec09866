/* cpu: which instruction set the vector kernels use, chosen at run time.
 * SPECLAB_ISA=portable|avx2|avx512|vnni in the environment lowers the choice, for tests; results are the same for all.
 * Asking costs some tens of nanoseconds: ask once for a batch, not for a draw. */
#ifndef SPECLAB_CPU_H
#define SPECLAB_CPU_H

/* Each has what those before it have. AVX2 counts with FMA and F16C, which all but a few processors with AVX2 have;
 * AVX-512 with F, DQ, VL and BW; VNNI is AVX-512's. */
typedef enum { SPEC_ISA_PORTABLE, SPEC_ISA_AVX2, SPEC_ISA_AVX512, SPEC_ISA_VNNI } spec_isa;

/* The best instruction set that this machine has, or the one SPECLAB_ISA names if that is lower. Other values change
 * nothing. */
spec_isa spec_cpu_isa(void);

/* What this machine has, whatever the environment says. */
spec_isa spec_cpu_best_isa(void);

const char *spec_cpu_isa_name(spec_isa isa);

#endif
