/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_decoder: state and helpers shared by the parts of ptx_decode, for one body of PTX.
 * `word` is the instruction's name; its decoder reads up to the ';'. */
#ifndef SPECLAB_PTX_DECODER_H
#define SPECLAB_PTX_DECODER_H

#include "tests/simulator/ptx/ptx_names.h"

typedef struct {
    ptx_word name;
    int call, at; /* index of the inlined call of this body, 0: the kernel itself; index of the
                   * instruction */
} ptx_label;

typedef struct {
    ptx_names names;
    ptx_label *labels, *jumps; /* jumps: the target label of instruction `at` */
    int n_labels, n_jumps, calls;
    ptx_place carries;    /* -1: not used so far */
    bool guarded, unless; /* of the current statement */
    ptx_place guard;
    int line;
} ptx_decoder;

/* Appends an instruction with the statement's predicate and line; valid until the next call. */
ptx_instruction *ptx_emit(ptx_decoder *decoder, int op, int n);

/* Reads a comma. */
void ptx_comma(ptx_decoder *decoder);

void ptx_decode_access(ptx_decoder *decoder, ptx_word word); /* ld, st */
void ptx_decode_atom(ptx_decoder *decoder, ptx_word word);
void ptx_decode_copy(ptx_decoder *decoder, ptx_word word); /* cp.async */
void ptx_decode_shuffle(ptx_decoder *decoder, ptx_word word);
void ptx_decode_vote(ptx_decoder *decoder);
void ptx_decode_mma(ptx_decoder *decoder, int op, ptx_word word);

/* Reads the last operand of the emitted instruction: the mask of lanes, which must be all. */
void ptx_need_all_lanes(ptx_decoder *decoder);

#endif
