/* SPDX-License-Identifier: GPL-3.0-or-later */
/* int_math: min, max, ceiling division and swap for ints, inline for hot loops.
 * Nothing overflows if the arguments are checked sizes. */
#ifndef SPECLAB_INT_MATH_H
#define SPECLAB_INT_MATH_H

static inline int spec_int_min(int a, int b)
{
    return a < b ? a : b;
}

static inline int spec_int_max(int a, int b)
{
    return a > b ? a : b;
}

/* Returns ceil(n / size), for n >= 0 and size > 0. */
static inline int spec_int_ceil_div(int n, int size)
{
    return (n + size - 1) / size;
}

static inline void spec_int_swap(int *a, int *b)
{
    const int kept = *a;
    *a = *b;
    *b = kept;
}

#endif
