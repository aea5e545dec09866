/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exp_double: the constants for computing exp(x) in double, for x <= 0, on CPU and GPU.
 * Rows are computed with this exponential; vector_ref.c explains the constants. Only macros, for C
 * and nvcc. */
#ifndef SPECLAB_EXP_DOUBLE_H
#define SPECLAB_EXP_DOUBLE_H

#define SPEC_EXP_DOUBLE_LEAST (-708.0)
#define SPEC_EXP_DOUBLE_ROUND 0x1.8p+52
#define SPEC_EXP_DOUBLE_STEPS 0x1.71547652b82fep+3
#define SPEC_EXP_DOUBLE_STEP 0x1.62e42fefa39efp-4 /* log(2) / 8, as a sum of two */
#define SPEC_EXP_DOUBLE_STEP_REST 0x1.abc9e3b39803fp-59
#define SPEC_EXP_DOUBLE_TERMS 6
#define SPEC_EXP_DOUBLE_TERM_LIST                                                                  \
    0x1.a016306791dd4p-13, 0x1.6c1cbc962c1f2p-10, 0x1.11111125f4e42p-7, 0x1.5555554815963p-5,      \
        0x1.555555555512dp-3, 0x1.0000000000109p-1
#define SPEC_EXP_DOUBLE_EIGHTHS /* 2^(j/8) */                                                      \
    0x1p+0, 0x1.172b83c7d517bp+0, 0x1.306fe0a31b715p+0, 0x1.4bfdad5362a27p+0,                      \
        0x1.6a09e667f3bcdp+0, 0x1.8ace5422aa0dbp+0, 0x1.ae89f995ad3adp+0, 0x1.d5818dcfba487p+0

#endif
