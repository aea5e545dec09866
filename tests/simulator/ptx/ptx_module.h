/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_module: a PTX text as nvcc writes it: its kernels, functions and variables.
 * The texts are linked into the library. A kernel is decoded at its first use and cached until the
 * process ends. */
#ifndef SPECLAB_PTX_MODULE_H
#define SPECLAB_PTX_MODULE_H

#include "tests/simulator/ptx/ptx_code.h"
#include "tests/simulator/ptx/ptx_words.h"

/* The texts of this library (ptx_texts.h); ends with a NULL name. */
typedef struct {
    const char *file, *text;
    int capability; /* 80, 90 */
} ptx_text;
extern const ptx_text ptx_texts[];

typedef struct {
    ptx_word name;
    bool is_kernel;
    ptx_reader params, body; /* after '(' and after '{' */
    ptx_reader returns;      /* after '('; at NULL: returns nothing */
} ptx_function;

typedef struct {
    ptx_word name;
    size_t bytes, align;
    char *memory; /* of a global variable: its own memory, 16-byte aligned. NULL: a shared variable
                   * of each kernel that uses it */
    const ptx_kernel
        *kernel; /* the kernel being decoded, with the variable at this offset of its shared
                  * memory */
    uint64_t at;
} ptx_variable;

typedef struct {
    const ptx_text *text;
    ptx_function *functions;
    ptx_variable *variables;
    int n_functions, n_variables;
    ptx_kernel *kernels; /* decoded so far */
} ptx_module;

/* Returns the kernel for a GPU of that capability (9.0 is 90), from the newest text that it
 * supports. If there is none, ends the process. */
const ptx_kernel *ptx_module_kernel(const char *name, int capability);

/* Reads a declaration after ".shared", ".local", ".param" or ".global" to the end of the name:
 * ".align 4 .b8 sums[64]". */
ptx_variable ptx_variable_read(ptx_reader *reader);

const ptx_function *ptx_module_function(const ptx_module *module, ptx_word name);
ptx_variable *ptx_module_variable(const ptx_module *module, ptx_word name);

/* Returns the module variable that contains these bytes; NULL: none. */
const ptx_variable *ptx_module_variable_at(const char *at, size_t bytes);

bool ptx_same(ptx_word a, ptx_word b);

/* Grows the array for one more element. */
void *ptx_grow(void *array, int n, size_t size);

#endif
