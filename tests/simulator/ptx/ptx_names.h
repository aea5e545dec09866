/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_names: the symbol table of a PTX body, and its operands.
 * While a kernel is decoded, places are numbers: 2 i is register i, 2 i + 1 constant i.
 * ptx_registers turns them into byte offsets. */
#ifndef SPECLAB_PTX_NAMES_H
#define SPECLAB_PTX_NAMES_H

#include "tests/simulator/ptx/ptx_module.h"

typedef enum { NAME_REGISTERS, NAME_SHARED, NAME_THREAD, NAME_ARGS } ptx_name_kind;

typedef struct {
    ptx_word name; /* of numbered registers: the prefix before the number */
    ptx_name_kind kind;
    ptx_width width;  /* of registers */
    int first, count; /* of registers; count 0: a single one, whose name has no number */
    uint64_t at;      /* offset in shared memory, local memory or the arguments */
} ptx_name;

typedef struct {
    const ptx_module *module;
    ptx_reader *reader;
    ptx_kernel *kernel;
    ptx_name *names;
    int n_names;
    uint8_t *widths; /* of registers */
    int n_registers;
} ptx_names;

/* Read a declaration in a body after ".reg", ".shared", ".local" or ".param", up to the ';'. */
void ptx_names_registers(ptx_names *names);
void ptx_names_shared(ptx_names *names);
void ptx_names_thread(ptx_names *names);
void ptx_names_add(ptx_names *names, ptx_name name);

/* Returns the newest entry of that name, with its register in *ret_register; or NULL. */
const ptx_name *ptx_names_find(const ptx_names *names, ptx_word word, int *ret_register);

ptx_place ptx_new_register(ptx_names *names, ptx_width width);
ptx_place ptx_constant_place(ptx_names *names, ptx_fixed what, ptx_width width, uint64_t number);
ptx_width ptx_width_of(const ptx_names *names, ptx_place place);

/* Reads an operand of that width; 0: of any width. */
ptx_place ptx_operand(ptx_names *names, int width);

/* Reads "[%rd1+8]". */
void ptx_address(ptx_names *names, ptx_place *ret_base, int64_t *ret_offset);

/* Reads "{%r1, %r2}" or a single operand; returns how many, at most 4. */
int ptx_vector(ptx_names *names, ptx_place *ret_places, int width);

#endif
