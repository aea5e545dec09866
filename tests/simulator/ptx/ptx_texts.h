/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_texts: links the PTX texts into the library, for GPUs of capability 8.0 and 9.0. */
#ifndef SPECLAB_PTX_TEXTS_H
#define SPECLAB_PTX_TEXTS_H

#include "tests/simulator/ptx/ptx_module.h"

#define PTX_TAKE_IN_ONE(name, file)                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #name "\n"                                                                  \
            ".hidden " #name "\n" #name ":\n"                                                      \
            ".incbin \"" file "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char name[];

/* The PTX of kernels_<theme>.cu, in the folder that the Makefile passes. */
#define PTX_TAKE_IN(theme)                                                                         \
    PTX_TAKE_IN_ONE(ptx_##theme##_80, PTX_FOLDER "kernels_" #theme ".compute_80.ptx")              \
    PTX_TAKE_IN_ONE(ptx_##theme##_90, PTX_FOLDER "kernels_" #theme ".compute_90.ptx")
#define PTX_ROW(theme, kind)                                                                       \
    {"kernels_" #theme ".compute_" #kind ".ptx", ptx_##theme##_##kind, kind},
#define PTX_ROWS(theme) PTX_ROW(theme, 80) PTX_ROW(theme, 90)

#endif
