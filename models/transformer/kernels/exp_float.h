/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exp_float: the constants for computing exp(x) in float, on CPU and GPU.
 * Gates are computed with this exponential; vector_ref.c explains the constants. Only macros, for C
 * and nvcc. */
#ifndef SPECLAB_EXP_FLOAT_H
#define SPECLAB_EXP_FLOAT_H

#define SPEC_EXP_LEAST (-87.0f)
#define SPEC_EXP_MOST 89.0f
#define SPEC_EXP_ROUND 0x1.8p+23f
#define SPEC_EXP_STEPS 0x1.715476p+0f /* 1 / log(2) */
#define SPEC_EXP_STEP 0x1.62e43p-1f   /* log(2), as a sum of two */
#define SPEC_EXP_STEP_REST -0x1.05c61p-29f
#define SPEC_EXP_TERMS 5
#define SPEC_EXP_TERM_LIST                                                                         \
    0x1.6a249p-10f, 0x1.1239f2p-7f, 0x1.5558fp-5f, 0x1.555492p-3f, 0x1.fffffcp-2f

#endif
