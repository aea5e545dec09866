/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernel_table: the kernels of a simulated driver, by name; each library has its own table. */
#ifndef SPECLAB_KERNEL_TABLE_H
#define SPECLAB_KERNEL_TABLE_H

#include <stddef.h>

typedef struct CUfunc_st {
    const char *name; /* "spec_kernel_norm" */
    void (*call)(const void *args);
    size_t args_size;
    int threads; /* maximum threads per block */
} simulated_kernel;

extern const simulated_kernel simulated_kernels[]; /* ends with a NULL name */

/* For X(theme, name, threads) of a kernel list. */
#define SIMULATED_KERNEL_CALL(theme, kernel, most)                                                 \
    void spec_kernel_##kernel(struct kernel##_args a);                                             \
    static void call_##kernel(const void *args)                                                    \
    {                                                                                              \
        spec_kernel_##kernel(*(const struct kernel##_args *)args);                                 \
    }
#define SIMULATED_KERNEL_ROW(theme, kernel, most)                                                  \
    {"spec_kernel_" #kernel, call_##kernel, sizeof(struct kernel##_args), most},

#endif
