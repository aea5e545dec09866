/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_code: a kernel's decoded PTX: instructions whose operands are 32 values, one per lane.
 * An instruction is decoded and executed once for the whole warp. Values of 8, 16 and 32 bits take
 * 32 bits, those of 64 take 64; a predicate is one word with a bit per lane. */
#ifndef SPECLAB_PTX_CODE_H
#define SPECLAB_PTX_CODE_H

#include "tests/simulator/ptx/ptx_operations.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_LANES = 32, PTX_MOST_OPERANDS = 14 };

/* The offset of an operand's values in the warp's registers or, if bit 0 is set, in the launch's
 * constants. */
typedef int32_t ptx_place;
enum { PTX_CONSTANT = 1 };

/* Bytes per lane of an operand; a predicate has 4 bytes for the whole warp. */
typedef enum { PTX_PREDICATE = 1, PTX_WORD = 4, PTX_LONG = 8 } ptx_width;

typedef enum { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM } ptx_space;
typedef enum { TYPE_U8, TYPE_S8, TYPE_U16, TYPE_S16, TYPE_U32, TYPE_S32, TYPE_U64 } ptx_type;

typedef struct {
    uint16_t op;          /* ptx_operation */
    uint8_t n;            /* number of operands */
    bool guarded, unless; /* @p, @!p */
    /* of memory instructions */
    uint8_t space, type, count; /* count: of values */
    uint8_t value_width, address_width;
    ptx_place guard;
    ptx_place x[PTX_MOST_OPERANDS];
    int64_t number; /* offset of an address, index of a group, or mode of a shuffle */
    int target;     /* of a branch */
    int line;
    const char *begin, *end; /* allocation of the last checked address */
} ptx_instruction;

/* Meaning of a constant of 32 lanes. */
typedef enum {
    FIXED_NUMBER,
    FIXED_BLOCK,
    FIXED_GRID,
    FIXED_THREADS,
    FIXED_ARGS,
    FIXED_THREAD,
    FIXED_LANE,
    FIXED_LOCAL
} ptx_fixed;

/* FIXED_THREAD and later ones differ between lanes and warps and are in registers. */
typedef struct {
    ptx_fixed what;
    ptx_width width;
    uint64_t number; /* the value, or 0, 1, 2 for x, y, z */
    ptx_place place;
} ptx_constant;

typedef struct ptx_kernel {
    const char *name, *file;
    ptx_instruction *code; /* ends with PTX_ret */
    int n_code;
    ptx_constant *constants;
    int n_constants;
    size_t registers, fixed;    /* bytes per warp; bytes of constants */
    size_t shared, local, args; /* bytes per block, per thread, and of the arguments */
    uint8_t *is_shared;         /* (shared,): 1 in variables, 0 between them */
    struct ptx_kernel *next;
} ptx_kernel;

#endif
