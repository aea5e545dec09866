/* ptx_code: a kernel's PTX as it is run: instructions with operands that are places of 32 values, one for each lane of
 * a warp, so that an instruction is looked at once for the whole warp. Values of 8, 16 and 32 bits are kept in 32,
 * those of 64 in 64; predicates are one word with a bit for each lane. */
#ifndef SPECLAB_PTX_CODE_H
#define SPECLAB_PTX_CODE_H

#include "tests/simulator/ptx/ptx_operations.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_LANES = 32, PTX_MOST_OPERANDS = 14 };

/* Where an operand's values lie: a byte of the warp's registers; with bit 0, of the launch's constants. */
typedef int32_t ptx_place;
enum { PTX_CONSTANT = 1 };

/* Bytes that a lane has of an operand; of a predicate the whole warp has 4. */
typedef enum { PTX_PREDICATE = 1, PTX_WORD = 4, PTX_LONG = 8 } ptx_width;

typedef enum { SPACE_GENERIC, SPACE_GLOBAL, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM } ptx_space;
typedef enum { TYPE_U8, TYPE_S8, TYPE_U16, TYPE_S16, TYPE_U32, TYPE_S32, TYPE_U64 } ptx_type;

typedef struct {
    uint16_t op;          /* ptx_operation */
    uint8_t n;            /* operands */
    bool guarded, unless; /* @p, @!p */
    /* of what touches memory */
    uint8_t space, type, count; /* of values */
    uint8_t value_width, address_width;
    ptx_place guard;
    ptx_place x[PTX_MOST_OPERANDS];
    int64_t number; /* added to an address; which group; how shuffles go */
    int target;     /* of a branch */
    int line;
    const char *begin, *end; /* where the last address lay that was looked at */
} ptx_instruction;

/* What 32 lanes of a constant are. */
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

/* FIXED_THREAD and those after it differ from lane to lane and from warp to warp: they lie in registers. */
typedef struct {
    ptx_fixed what;
    ptx_width width;
    uint64_t number; /* the value; 0, 1, 2 for x, y, z */
    ptx_place place;
} ptx_constant;

typedef struct ptx_kernel {
    const char *name, *file;
    ptx_instruction *code; /* ends with PTX_ret */
    int n_code;
    ptx_constant *constants;
    int n_constants;
    size_t registers, fixed;    /* bytes of a warp; of constants */
    size_t shared, local, args; /* bytes of a block, of a thread, of the arguments */
    uint8_t *is_shared;         /* (shared,): 1 in variables, 0 between them */
    struct ptx_kernel *next;
} ptx_kernel;

#endif
