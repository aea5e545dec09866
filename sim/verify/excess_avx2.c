#include "sim/verify/excess_loops.h"

#if defined(__AVX2__)
const spec_excess_kernels spec_excess_kernels_avx2 = {spec_excess_loop_blocks, spec_excess_loop_split,
                                                      spec_excess_loop_pair};
#else
typedef int spec_excess_avx2_is_empty; /* ISO C wants a declaration */
#endif
