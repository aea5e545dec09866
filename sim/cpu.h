/* cpu: which instruction set the vector kernels use, chosen once at run time.
 * SPECLAB_ISA=portable|avx2|avx512 in the environment lowers the choice, for tests; results are the same for all. */
#ifndef SPECLAB_CPU_H
#define SPECLAB_CPU_H

typedef enum { SPEC_ISA_PORTABLE, SPEC_ISA_AVX2, SPEC_ISA_AVX512 } spec_isa;

spec_isa spec_cpu_isa(void);
const char *spec_cpu_isa_name(spec_isa isa);

#endif
