/* ptx_decoder: what the parts of ptx_decode share: the body that is read, and instructions that more than one lane or
 * memory have to do with. The word is the instruction's name; what they read ends before the ';'. */
#ifndef SPECLAB_PTX_DECODER_H
#define SPECLAB_PTX_DECODER_H

#include "tests/simulator/ptx/ptx_names.h"

typedef struct {
    ptx_word name;
    int call, at; /* which call of a function the body is of, 0: the kernel itself; instruction */
} ptx_label;

typedef struct {
    ptx_names names;
    ptx_label *labels, *jumps; /* jumps: the label that instruction `at` goes to */
    int n_labels, n_jumps, calls;
    ptx_place carries;    /* -1: not needed so far */
    bool guarded, unless; /* of the statement that is read */
    ptx_place guard;
    int line;
} ptx_decoder;

/* A new instruction at the end, with the statement's predicate and line. It holds until the next one. */
ptx_instruction *ptx_emit(ptx_decoder *decoder, int op, int n);

/* Reads a comma. */
void ptx_comma(ptx_decoder *decoder);

void ptx_decode_access(ptx_decoder *decoder, ptx_word word); /* ld, st */
void ptx_decode_atom(ptx_decoder *decoder, ptx_word word);
void ptx_decode_copy(ptx_decoder *decoder, ptx_word word); /* cp.async */
void ptx_decode_shuffle(ptx_decoder *decoder, ptx_word word);
void ptx_decode_vote(ptx_decoder *decoder);
void ptx_decode_mma(ptx_decoder *decoder, int op, ptx_word word);

/* Reads the last operand of the instruction just emitted: which lanes take part, which must be all. */
void ptx_need_all_lanes(ptx_decoder *decoder);

#endif
