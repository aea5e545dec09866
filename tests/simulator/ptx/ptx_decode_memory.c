/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_decoder.h"

#include <string.h>

/* Takes ".part" off the front of the rest of a word. */
static bool part(ptx_word *left, const char *text)
{
    const size_t n = strlen(text);
    if (!ptx_begins(*left, text) || ((size_t)left->n > n && left->at[n] != '.')) return false;
    left->at += n;
    left->n -= (int)n;
    return true;
}

void ptx_decode_access(ptx_decoder *d, ptx_word word)
{
    static const char *const kept[] = {".volatile", ".nc",       ".ca",      ".cg",
                                       ".cs",       ".lu",       ".cv",      ".L1::no_allocate",
                                       ".L2::64B",  ".L2::128B", ".L2::256B"};
    static const char *const spaces[] = {"", ".global", ".shared", ".local", ".param"};
    static const struct {
        const char *name;
        ptx_type type;
    } types[] = {{".u8", TYPE_U8},   {".s8", TYPE_S8},   {".b8", TYPE_U8},   {".u16", TYPE_U16},
                 {".s16", TYPE_S16}, {".b16", TYPE_U16}, {".u32", TYPE_U32}, {".s32", TYPE_S32},
                 {".b32", TYPE_U32}, {".f32", TYPE_U32}, {".u64", TYPE_U64}, {".s64", TYPE_U64},
                 {".b64", TYPE_U64}, {".f64", TYPE_U64}};
    const bool loads = word.at[0] == 'l';
    ptx_word left = {word.at + 2, word.n - 2, word.line};
    int space = SPACE_GENERIC, type = -1, count = 1;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (part(&left, kept[i])) break;
    for (int i = 1; i < 5; i++)
        if (part(&left, spaces[i])) space = i;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        (void)part(&left, kept[i]); /* in the order of the name */
    if (part(&left, ".v2")) count = 2;
    else if (part(&left, ".v4")) count = 4;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (part(&left, types[i].name)) type = types[i].type;
    if (type < 0 || left.n != 0) ptx_unknown(d->names.reader, word, "instruction");
    ptx_place values[4], base;
    int64_t offset;
    const int width = type == TYPE_U64 ? PTX_LONG : 0;
    const int n = loads ? ptx_vector(&d->names, values, width) : 0;
    if (loads) ptx_comma(d);
    ptx_address(&d->names, &base, &offset);
    if (!loads) ptx_comma(d);
    if ((loads ? n : ptx_vector(&d->names, values, width)) != count)
        ptx_unknown(d->names.reader, word, "number of values of");
    ptx_instruction *const i = ptx_emit(d, loads ? PTX_load : PTX_store, count + 1);
    for (int v = 0; v < count; v++) i->x[v] = values[v];
    i->x[count] = base;
    i->number = offset;
    i->count = (uint8_t)count;
    i->space = (uint8_t)space;
    i->type = (uint8_t)type;
    i->value_width = (uint8_t)ptx_width_of(&d->names, values[0]);
    i->address_width = (uint8_t)ptx_width_of(&d->names, base);
}

void ptx_decode_atom(ptx_decoder *d, ptx_word word)
{
    ptx_word left = {word.at + 4, word.n - 4, word.line};
    const ptx_space space = part(&left, ".shared")   ? SPACE_SHARED
                            : part(&left, ".global") ? SPACE_GLOBAL
                                                     : SPACE_GENERIC;
    const int op = part(&left, ".add") ? PTX_atom_add : part(&left, ".max") ? PTX_atom_max : -1;
    const int width = part(&left, ".u32") ? PTX_WORD : part(&left, ".u64") ? PTX_LONG : 0;
    if (op < 0 || width == 0 || left.n != 0) ptx_unknown(d->names.reader, word, "instruction");
    const ptx_place before = ptx_operand(&d->names, width);
    ptx_place base;
    int64_t offset;
    ptx_comma(d);
    ptx_address(&d->names, &base, &offset);
    ptx_comma(d);
    const ptx_place value = ptx_operand(&d->names, width);
    ptx_instruction *const i = ptx_emit(d, op, 3);
    i->x[0] = before;
    i->x[1] = base;
    i->x[2] = value;
    i->number = offset;
    i->space = (uint8_t)space;
    i->type = width == PTX_LONG ? TYPE_U64 : TYPE_U32;
    i->value_width = (uint8_t)width;
    i->address_width = (uint8_t)ptx_width_of(&d->names, base);
}

/* cp.async.ca.shared.global [%r1], [%rd1], 16, %r2: x is destination, source, number of bytes. */
void ptx_decode_copy(ptx_decoder *d, ptx_word word)
{
    ptx_word left = {word.at + 8, word.n - 8, word.line};
    if (part(&left, ".commit_group") && left.n == 0) {
        (void)ptx_emit(d, PTX_copy_commit, 0);
        return;
    }
    if (part(&left, ".wait_group") && left.n == 0) {
        uint64_t groups;
        const ptx_word n = ptx_next(d->names.reader);
        if (!ptx_number(&groups, n)) ptx_unknown(d->names.reader, n, "number of groups");
        ptx_emit(d, PTX_copy_wait, 0)->number = (int64_t)groups;
        return;
    }
    ptx_place to, from, bytes;
    int64_t to_offset, from_offset;
    uint64_t whole;
    if (!(part(&left, ".ca") || part(&left, ".cg")) || !part(&left, ".shared") ||
        !part(&left, ".global") || !(left.n == 0 || (part(&left, ".L2::128B") && left.n == 0)))
        ptx_unknown(d->names.reader, word, "instruction");
    ptx_address(&d->names, &to, &to_offset);
    ptx_comma(d);
    ptx_address(&d->names, &from, &from_offset);
    ptx_comma(d);
    const ptx_word size = ptx_next(d->names.reader);
    if (!ptx_number(&whole, size) || whole != 16 || to_offset != (int16_t)to_offset ||
        from_offset != 0)
        ptx_unknown(d->names.reader, size, "asynchronous copy of");
    bytes = ptx_constant_place(&d->names, FIXED_NUMBER, PTX_WORD, 16);
    if (ptx_take(d->names.reader, ",")) bytes = ptx_operand(&d->names, PTX_WORD);
    ptx_instruction *const i = ptx_emit(d, PTX_copy_async, 3);
    i->x[0] = to;
    i->x[1] = from;
    i->x[2] = bytes;
    i->number = to_offset;
    i->address_width = (uint8_t)ptx_width_of(&d->names, to);
}
