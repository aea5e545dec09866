/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_names.h"

#include "tests/simulator/block_run.h"
#include "tests/simulator/ptx/ptx_lanes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void ptx_names_add(ptx_names *n, ptx_name name)
{
    n->names = ptx_grow(n->names, n->n_names, sizeof *n->names);
    n->names[n->n_names++] = name;
}

ptx_place ptx_new_register(ptx_names *n, ptx_width width)
{
    n->widths = ptx_grow(n->widths, n->n_registers, sizeof *n->widths);
    n->widths[n->n_registers] = (uint8_t)width;
    return 2 * n->n_registers++;
}

ptx_place ptx_constant_place(ptx_names *n, ptx_fixed what, ptx_width width, uint64_t number)
{
    ptx_kernel *const k = n->kernel;
    for (int i = 0; i < k->n_constants; i++) {
        const ptx_constant *const c = &k->constants[i];
        if (c->what == what && c->width == width && c->number == number)
            return 2 * i + PTX_CONSTANT;
    }
    k->constants = ptx_grow(k->constants, k->n_constants, sizeof *k->constants);
    k->constants[k->n_constants] = (ptx_constant){what, width, number, 0};
    return 2 * k->n_constants++ + PTX_CONSTANT;
}

ptx_width ptx_width_of(const ptx_names *n, ptx_place place)
{
    return (place & PTX_CONSTANT) != 0 ? n->kernel->constants[place / 2].width
                                       : n->widths[place / 2];
}

/* ---- declarations ---------------------------------------------------------------------------- */

void ptx_names_registers(ptx_names *n)
{
    static const struct {
        const char *name;
        ptx_width width;
    } types[] = {{".pred", PTX_PREDICATE}, {".b16", PTX_WORD}, {".u16", PTX_WORD},
                 {".s16", PTX_WORD},       {".b32", PTX_WORD}, {".u32", PTX_WORD},
                 {".s32", PTX_WORD},       {".f32", PTX_WORD}, {".b64", PTX_LONG},
                 {".u64", PTX_LONG},       {".s64", PTX_LONG}, {".f64", PTX_LONG}};
    ptx_width width = 0;
    const ptx_word type = ptx_next(n->reader);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ptx_is(type, types[i].name)) width = types[i].width;
    if (width == 0) ptx_unknown(n->reader, type, "type");
    do {
        ptx_name name = {.name = ptx_next(n->reader), .width = width, .first = n->n_registers};
        uint64_t count = 0;
        if (ptx_take(n->reader, "<")) {
            const ptx_word size = ptx_next(n->reader);
            if (!ptx_number(&count, size) || count == 0 || count > 1 << 20)
                ptx_unknown(n->reader, size, "number of registers");
            ptx_need(n->reader, ">");
        }
        name.count = (int)count;
        for (int i = 0; i < (count == 0 ? 1 : (int)count); i++) (void)ptx_new_register(n, width);
        ptx_names_add(n, name);
    } while (ptx_take(n->reader, ","));
    ptx_need(n->reader, ";");
}

static uint64_t lay_out(size_t *bytes, const ptx_variable *v)
{
    const size_t at = (*bytes + v->align - 1) / v->align * v->align;
    *bytes = at + v->bytes;
    return at;
}

static uint64_t lay_out_shared(ptx_kernel *k, const ptx_variable *v)
{
    const uint64_t at = lay_out(&k->shared, v);
    k->shared += PTX_SHARED_GAP;
    if (k->shared > PTX_SHARED_BYTES) block_run_fail("%s: too much shared memory", k->name);
    if (k->is_shared == NULL && (k->is_shared = calloc(PTX_SHARED_BYTES, 1)) == NULL)
        block_run_fail("no memory for PTX");
    memset(k->is_shared + at, 1, v->bytes);
    return at;
}

void ptx_names_shared(ptx_names *n)
{
    const ptx_variable v = ptx_variable_read(n->reader);
    ptx_names_add(
        n, (ptx_name){.name = v.name, .kind = NAME_SHARED, .at = lay_out_shared(n->kernel, &v)});
    ptx_need(n->reader, ";");
}

void ptx_names_thread(ptx_names *n)
{
    const ptx_variable v = ptx_variable_read(n->reader);
    ptx_names_add(
        n, (ptx_name){.name = v.name, .kind = NAME_THREAD, .at = lay_out(&n->kernel->local, &v)});
    ptx_need(n->reader, ";");
}

/* ---- operands -------------------------------------------------------------------------------- */

const ptx_name *ptx_names_find(const ptx_names *n, ptx_word word, int *ret_register)
{
    int prefix = word.n;
    while (prefix > 0 && isdigit((unsigned char)word.at[prefix - 1])) prefix--;
    const ptx_word start = {word.at, prefix, word.line};
    int number = 0;
    for (int i = prefix; i < word.n && number < 1 << 20; i++)
        number = 10 * number + (word.at[i] - '0');
    for (int i = n->n_names - 1; i >= 0; i--) {
        const ptx_name *const name = &n->names[i];
        if (name->count > 0) {
            if (prefix == word.n || number >= name->count || !ptx_same(name->name, start)) continue;
            *ret_register = name->first + number;
            return name;
        }
        *ret_register = name->first;
        if (ptx_same(name->name, word)) return name;
    }
    return NULL;
}

/* %tid.x and so on; false: not a special register. */
static bool special(ptx_names *n, ptx_word word, ptx_place *ret_place)
{
    static const struct {
        const char *name;
        ptx_fixed what;
    } known[] = {{"%tid", FIXED_THREAD},
                 {"%ntid", FIXED_THREADS},
                 {"%ctaid", FIXED_BLOCK},
                 {"%nctaid", FIXED_GRID}};
    if (ptx_is(word, "%laneid")) {
        *ret_place = ptx_constant_place(n, FIXED_LANE, PTX_WORD, 0);
        return true;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t length = strlen(known[i].name);
        if (!ptx_begins(word, known[i].name) || (size_t)word.n != length + 2 ||
            word.at[length] != '.')
            continue;
        const char axis = word.at[length + 1];
        if (axis < 'x' || axis > 'z') continue;
        *ret_place = ptx_constant_place(n, known[i].what, PTX_WORD, (uint64_t)(axis - 'x'));
        return true;
    }
    return false;
}

/* Width 0: taken from the register. */
static ptx_place operand_of(ptx_names *n, ptx_word word, int width)
{
    uint64_t number;
    int index;
    ptx_place place;
    ptx_variable *variable;
    if (ptx_number(&number, word)) {
        if (width == PTX_PREDICATE) number = number != 0 ? ~0u : 0;
        if (width == PTX_WORD) number &= ~0u;
        return ptx_constant_place(n, FIXED_NUMBER, width == 0 ? PTX_WORD : (ptx_width)width,
                                  number);
    }
    const ptx_name *const name = ptx_names_find(n, word, &index);
    if (name != NULL && name->kind == NAME_REGISTERS) place = 2 * index;
    else if (name != NULL && name->kind == NAME_SHARED)
        place =
            ptx_constant_place(n, FIXED_NUMBER, width == PTX_LONG ? PTX_LONG : PTX_WORD, name->at);
    else if (name != NULL && name->kind == NAME_THREAD)
        place = ptx_constant_place(n, FIXED_LOCAL, PTX_LONG, name->at);
    else if (name != NULL) place = ptx_constant_place(n, FIXED_ARGS, PTX_LONG, name->at);
    else if ((variable = ptx_module_variable(n->module, word)) != NULL && variable->memory != NULL)
        place = ptx_constant_place(n, FIXED_NUMBER, PTX_LONG, (uintptr_t)variable->memory);
    else if (variable != NULL) {
        if (variable->kernel != n->kernel) variable->at = lay_out_shared(n->kernel, variable);
        variable->kernel = n->kernel;
        place = ptx_constant_place(n, FIXED_NUMBER, width == PTX_LONG ? PTX_LONG : PTX_WORD,
                                   variable->at);
    } else if (!special(n, word, &place)) ptx_unknown(n->reader, word, "operand");
    if (width != 0 && ptx_width_of(n, place) != (ptx_width)width)
        ptx_unknown(n->reader, word, "an operand of the width of");
    return place;
}

ptx_place ptx_operand(ptx_names *n, int width) { return operand_of(n, ptx_next(n->reader), width); }

void ptx_address(ptx_names *n, ptx_place *ret_base, int64_t *ret_offset)
{
    uint64_t offset = 0;
    ptx_need(n->reader, "[");
    *ret_base = operand_of(n, ptx_next(n->reader), 0);
    if (ptx_take(n->reader, "+")) {
        const ptx_word word = ptx_next(n->reader);
        if (!ptx_number(&offset, word)) ptx_unknown(n->reader, word, "offset");
    }
    *ret_offset = (int64_t)offset;
    ptx_need(n->reader, "]");
}

int ptx_vector(ptx_names *n, ptx_place *ret_places, int width)
{
    int count = 0;
    if (!ptx_take(n->reader, "{")) {
        ret_places[0] = ptx_operand(n, width);
        return 1;
    }
    do {
        const ptx_word word = ptx_peek(n->reader);
        if (count == 4) ptx_unknown(n->reader, word, "fifth value of a vector,");
        ret_places[count++] = ptx_operand(n, width);
    } while (ptx_take(n->reader, ","));
    ptx_need(n->reader, "}");
    return count;
}
