/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_decoder.h"

#include <string.h>

void ptx_need_all_lanes(ptx_decoder *d)
{
    const ptx_word word = ptx_peek(d->names.reader);
    const ptx_place mask = ptx_operand(&d->names, PTX_WORD);
    if ((mask & PTX_CONSTANT) != 0 && d->names.kernel->constants[mask / 2].number == ~0u) return;
    /* nvcc moves the mask to a register first, so it is checked at run time. */
    ptx_instruction *const i = &d->names.kernel->code[d->names.kernel->n_code - 1];
    if ((mask & PTX_CONSTANT) != 0 || i->n == PTX_MOST_OPERANDS)
        ptx_unknown(d->names.reader, word, "mask of lanes");
    i->x[i->n++] = mask;
}

/* shfl.sync.bfly.b32 %r1|%p1, %r2, %r3, %r4, mask: x is result, predicate, value, lane, bounds,
 * mask. */
void ptx_decode_shuffle(ptx_decoder *d, ptx_word word)
{
    static const char *const ways[] = {"shfl.sync.idx.b32", "shfl.sync.bfly.b32",
                                       "shfl.sync.up.b32", "shfl.sync.down.b32"};
    ptx_place x[5];
    int way = 0;
    while (way < 2 && !ptx_is(word, ways[way])) way++;
    if (way == 2) ptx_unknown(d->names.reader, word, "instruction");
    x[0] = ptx_operand(&d->names, PTX_WORD);
    x[1] = ptx_take(d->names.reader, "|") ? ptx_operand(&d->names, PTX_PREDICATE)
                                          : ptx_new_register(&d->names, PTX_PREDICATE);
    for (int i = 2; i < 5; i++) {
        ptx_comma(d);
        x[i] = ptx_operand(&d->names, PTX_WORD);
    }
    ptx_comma(d);
    ptx_instruction *const i = ptx_emit(d, PTX_shfl, 5);
    memcpy(i->x, x, sizeof x);
    i->number = way;
    ptx_need_all_lanes(d);
}

void ptx_decode_vote(ptx_decoder *d)
{
    const ptx_place to = ptx_operand(&d->names, PTX_PREDICATE);
    ptx_comma(d);
    const ptx_place from = ptx_operand(&d->names, PTX_PREDICATE);
    ptx_comma(d);
    ptx_instruction *const i = ptx_emit(d, PTX_vote_any, 2);
    i->x[0] = to;
    i->x[1] = from;
    ptx_need_all_lanes(d);
}

/* x is d, a, b, c: 4, 4, 2 and 4. */
void ptx_decode_mma(ptx_decoder *d, int op, ptx_word word)
{
    static const int counts[] = {4, 4, 2, 4};
    ptx_place x[PTX_MOST_OPERANDS] = {0};
    int n = 0;
    for (int i = 0; i < 4; i++) {
        if (i > 0) ptx_comma(d);
        if (ptx_vector(&d->names, x + n, PTX_WORD) != counts[i])
            ptx_unknown(d->names.reader, word, "number of values of");
        n += counts[i];
    }
    memcpy(ptx_emit(d, op, n)->x, x, sizeof x);
}
