/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels: the list of GPU kernels and their argument structs, for host, nvcc and simulator.
 * Kernels are in kernels_<theme>.cu, their arguments in kernels_<theme>.h; each .cu becomes one
 * image. Pointers in arguments are to GPU memory. A launch is a grid of blocks of up to three
 * dimensions. */
#ifndef SPECLAB_KERNELS_H
#define SPECLAB_KERNELS_H

#include "models/gpu/kernels_attention.h"
#include "models/gpu/kernels_columns.h"
#include "models/gpu/kernels_filters.h"
#include "models/gpu/kernels_product.h"
#include "models/gpu/kernels_roofline.h"
#include "models/gpu/kernels_sampling.h"

/* X(theme, name, threads per block) */
#define SPEC_KERNELS(X)                                                                            \
    SPEC_KERNELS_PRODUCT(X)                                                                        \
    SPEC_KERNELS_COLUMNS(X) SPEC_KERNELS_ATTENTION(X) SPEC_KERNELS_SAMPLING(X)                     \
        SPEC_KERNELS_FILTERS(X) SPEC_KERNELS_ROOFLINE(X)

#define SPEC_KERNEL_ENUM(theme, name, threads) SPEC_KERNEL_##name,
typedef enum { SPEC_KERNELS(SPEC_KERNEL_ENUM) SPEC_KERNELS_COUNT } spec_kernel;
#undef SPEC_KERNEL_ENUM

/* X(theme): one image each. */
#define SPEC_KERNEL_THEMES(X) X(product) X(columns) X(attention) X(sampling) X(filters) X(roofline)

#define SPEC_KERNEL_THEME_ENUM(theme) SPEC_KERNEL_THEME_##theme,
typedef enum {
    SPEC_KERNEL_THEMES(SPEC_KERNEL_THEME_ENUM) SPEC_KERNEL_THEMES_COUNT
} spec_kernel_theme;
#undef SPEC_KERNEL_THEME_ENUM

#endif
