/* ptx_module: a text of PTX, as nvcc writes one for each .cu file: where its kernels, functions and variables stand.
 * Texts are inside the library. A kernel is decoded when it is first asked for, and kept while the process lives. */
#ifndef SPECLAB_PTX_MODULE_H
#define SPECLAB_PTX_MODULE_H

#include "tests/simulator/ptx/ptx_code.h"
#include "tests/simulator/ptx/ptx_words.h"

/* The texts of this library (ptx_texts.h); ends with a name of NULL. */
typedef struct {
    const char *file, *text;
    int capability; /* 80, 90 */
} ptx_text;
extern const ptx_text ptx_texts[];

typedef struct {
    ptx_word name;
    bool is_kernel;
    ptx_reader params, body; /* behind '(' and behind '{' */
    ptx_reader returns;      /* behind '('; at NULL: returns nothing */
} ptx_function;

typedef struct {
    ptx_word name;
    size_t bytes, align;
    char *memory; /* of a global one; its own, 16 bytes aligned. NULL: shared memory of each kernel that names it */
    const ptx_kernel *kernel; /* the one that is decoded, which has it at this byte of its shared memory */
    uint64_t at;
} ptx_variable;

typedef struct {
    const ptx_text *text;
    ptx_function *functions;
    ptx_variable *variables;
    int n_functions, n_variables;
    ptx_kernel *kernels; /* decoded so far */
} ptx_module;

/* The kernel for a card of that capability (9.0 is 90): of the newest text that is not too new. Ends the process where
 * there is none. */
const ptx_kernel *ptx_module_kernel(const char *name, int capability);

/* Reads on behind ".shared", ".local", ".param" or ".global" to the end of the name: ".align 4 .b8 sums[64]". */
ptx_variable ptx_variable_read(ptx_reader *reader);

const ptx_function *ptx_module_function(const ptx_module *module, ptx_word name);
ptx_variable *ptx_module_variable(const ptx_module *module, ptx_word name);

/* The variable of a module in which so many bytes lie; NULL: none. */
const ptx_variable *ptx_module_variable_at(const char *at, size_t bytes);

bool ptx_same(ptx_word a, ptx_word b);

/* Makes room for one more element. */
void *ptx_grow(void *array, int n, size_t size);

#endif
