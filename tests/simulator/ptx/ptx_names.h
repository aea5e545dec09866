/* ptx_names: what names mean in a body of PTX, and the operands that are made of them. While a kernel is decoded,
 * places are numbers: 2 i of register i, 2 i + 1 of constant i; ptx_registers gives them their bytes. */
#ifndef SPECLAB_PTX_NAMES_H
#define SPECLAB_PTX_NAMES_H

#include "tests/simulator/ptx/ptx_module.h"

typedef enum { NAME_REGISTERS, NAME_SHARED, NAME_THREAD, NAME_ARGS } ptx_name_kind;

typedef struct {
    ptx_word name; /* of registers that are numbered: what stands before the number */
    ptx_name_kind kind;
    ptx_width width;  /* of registers */
    int first, count; /* of registers; count 0: a single one, whose name has no number */
    uint64_t at;      /* of shared memory, of the thread's, of the arguments */
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

/* Behind ".reg", ".shared", ".local", ".param" in a body, up to the ';'. */
void ptx_names_registers(ptx_names *names);
void ptx_names_shared(ptx_names *names);
void ptx_names_thread(ptx_names *names);
void ptx_names_add(ptx_names *names, ptx_name name);

/* The newest of that name; NULL. Its register in *ret_register. */
const ptx_name *ptx_names_find(const ptx_names *names, ptx_word word, int *ret_register);

ptx_place ptx_new_register(ptx_names *names, ptx_width width);
ptx_place ptx_constant_place(ptx_names *names, ptx_fixed what, ptx_width width, uint64_t number);
ptx_width ptx_width_of(const ptx_names *names, ptx_place place);

/* Reads an operand of that width; of any where it is 0. */
ptx_place ptx_operand(ptx_names *names, int width);

/* Reads "[%rd1+8]". */
void ptx_address(ptx_names *names, ptx_place *ret_base, int64_t *ret_offset);

/* Reads "{%r1, %r2}" or a single one; returns how many, 4 at most. */
int ptx_vector(ptx_names *names, ptx_place *ret_places, int width);

#endif
