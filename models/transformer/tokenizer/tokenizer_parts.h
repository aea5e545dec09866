/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tokenizer_parts: the internals of a tokenizer, for tokenizer.c, _spm.c and _bpe.c.
 * tokenizer.c has the code common to both kinds. A symbol is a token, or, from `vocab` on, a
 * character that occurs in pieces but is not a piece itself. */
#ifndef SPECLAB_TOKENIZER_PARTS_H
#define SPECLAB_TOKENIZER_PARTS_H

#include "models/transformer/tokenizer/merge_table.h"
#include "models/transformer/tokenizer/token_table.h"
#include "models/transformer/tokenizer/tokenizer.h"

struct spec_tokenizer {
    spec_tokenizer_kind kind;
    int vocab, unknown;
    char *store;               /* the bytes of all pieces */
    spec_piece *piece;         /* (vocab) the bytes of each token */
    spec_piece_type *type;     /* (vocab) */
    spec_token_table table;    /* the pieces that a text may be split into */
    spec_merge_table merges;
    int byte_token[256]; /* SPM: for characters without a piece; BPE: the initial symbols of a
                            text. -1: none */
    int *user, n_user;   /* tokens that we look for in a text first, ascending by their bytes */
    bool begins_user[256];     /* whether one of them begins with this byte */

    bool adds_space, escapes;  /* escapes, SPM: U+2581 in a text counts as a blank */
    bool blank_begins; /* SPM: no piece has a blank after another character, and none spans words */
    int ascii[128];            /* SPM: symbols of these characters, or -1 */
    spec_piece *lone;          /* SPM: (n_lone) characters that are not pieces */
    int n_lone, lone_capacity;

    void *expression, *limits; /* BPE: pcre2_code, pcre2_match_context */
    bool whole_first; /* BPE: if the expression splits off a piece that is a token, it stays
                         whole */
};

/* The state of encoding one text. */
typedef struct {
    const spec_tokenizer *tokenizer;
    int *token;             /* (capacity) the caller's array */
    size_t capacity, n;     /* number of tokens so far, including those beyond capacity */
    int *symbol;            /* (symbols) the current part; no merge crosses its ends */
    size_t n_symbols, symbols;
    spec_merger merger;
    bool failed;            /* out of memory */
} spec_encoder;

void spec_tokenizer_emit(spec_encoder *encoder, int token);

/* Emits bytes that no piece covers: their byte tokens if all of these exist, else a single unknown
 * token. */
void spec_tokenizer_emit_bytes(spec_encoder *encoder, spec_piece bytes);

/* Add a symbol to the current part; merge this part and emit it. */
void spec_tokenizer_push(spec_encoder *encoder, int symbol);
void spec_tokenizer_flush(spec_encoder *encoder);

/* Returns the longest user-defined piece at the start of a text, or -1. */
int spec_tokenizer_user(const spec_tokenizer *tokenizer, const char *text, size_t length);

/* The functions of a kind. _decode writes the bytes of a piece into `bytes`, which is as large as
 * its spelling, and returns their number, or SIZE_MAX for an invalid spelling. _open sets up merges
 * and everything else that needs the pieces and the table. */
size_t spec_tokenizer_spm_decode(char *bytes, spec_piece spelling);
int spec_tokenizer_spm_open(spec_tokenizer *tokenizer, const spec_tokenizer_data *data,
                            spec_error *error);
void spec_tokenizer_spm_encode(spec_encoder *encoder, const char *text, size_t length);
size_t spec_tokenizer_bpe_decode(char *bytes, spec_piece spelling);
int spec_tokenizer_bpe_open(spec_tokenizer *tokenizer, const spec_tokenizer_data *data,
                            spec_error *error);
void spec_tokenizer_bpe_close(spec_tokenizer *tokenizer);
void spec_tokenizer_bpe_encode(spec_encoder *encoder, const char *text, size_t length);

#endif
