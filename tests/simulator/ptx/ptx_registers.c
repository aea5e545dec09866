/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_registers.h"

#include "tests/simulator/ptx/ptx_module.h"

#include <stdlib.h>

enum { LINE = 64 };

/* Bytes of 32 lanes, rounded up to a cache line. */
static size_t bytes_of(int width)
{
    return width == PTX_PREDICATE ? LINE : (size_t)width * PTX_LANES;
}

static void place_constants(ptx_kernel *k)
{
    for (int i = 0; i < k->n_constants; i++) {
        ptx_constant *const c = &k->constants[i];
        size_t *const end = c->what >= FIXED_THREAD ? &k->registers : &k->fixed;
        c->place = (ptx_place)*end | (c->what >= FIXED_THREAD ? 0 : PTX_CONSTANT);
        *end += bytes_of(c->width);
    }
}

void ptx_registers_place(ptx_kernel *k, const uint8_t *widths, int n_registers)
{
    ptx_place *const places = calloc((size_t)n_registers + 1, sizeof *places);
    if (places == NULL) abort();
    for (int i = 0; i < n_registers; i++) {
        places[i] = (ptx_place)k->registers;
        k->registers += bytes_of(widths[i]);
    }
    place_constants(k);
#define FINAL(x) ((x) = ((x)&PTX_CONSTANT) != 0 ? k->constants[(x) / 2].place : places[(x) / 2])
    for (int c = 0; c < k->n_code; c++) {
        ptx_instruction *const i = &k->code[c];
        for (int j = 0; j < i->n; j++) FINAL(i->x[j]);
        if (i->guarded) FINAL(i->guard);
    }
    free(places);
}
