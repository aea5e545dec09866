/* tokenizer_parts: what a tokenizer is made of, for its own modules: tokenizer.c has what both kinds share, _spm.c and
 * _bpe.c what differs.
 * A symbol is a token, or, from `vocab` on, a character that pieces are made of but that is no piece itself. */
#ifndef SPECLAB_TOKENIZER_PARTS_H
#define SPECLAB_TOKENIZER_PARTS_H

#include "models/transformer/tokenizer/merge_table.h"
#include "models/transformer/tokenizer/piece_table.h"
#include "models/transformer/tokenizer/tokenizer.h"

struct spec_tokenizer {
    spec_tokenizer_kind kind;
    int vocab, unknown;
    char *store;               /* the bytes of all pieces */
    spec_piece *piece;         /* (vocab) what a token stands for */
    spec_piece_type *type;     /* (vocab) */
    spec_piece_table table;    /* pieces that text can be made of */
    spec_merge_table merges;
    int byte_token[256];       /* SPM: where a character has no piece; BPE: what a text is made of. -1: none */
    int *user, n_user;         /* tokens that are looked for in a text first, ascending by their bytes */
    bool begins_user[256];     /* does one of them begin with this byte? */

    bool adds_space, escapes;  /* SPM: U+2581 in a text is a blank to it */
    bool blank_begins;         /* SPM: no piece has a blank after something else, so that none reaches across */
    int ascii[128];            /* SPM: symbols of these characters, or -1 */
    spec_piece *lone;          /* SPM: (n_lone) characters that are no pieces */
    int n_lone, lone_capacity;

    void *expression, *limits; /* BPE: pcre2_code, pcre2_match_context */
    bool whole_first;          /* BPE: a piece of the expression that is a token is not merged from its bytes */
};

/* A text being encoded. */
typedef struct {
    const spec_tokenizer *tokenizer;
    int *token;             /* (capacity) the caller's */
    size_t capacity, n;     /* tokens so far, those without room among them */
    int *symbol;            /* (symbols) the part in work: nothing merges across its ends */
    size_t n_symbols, symbols;
    spec_merger merger;
    bool failed;            /* no memory */
} spec_encoder;

void spec_tokenizer_emit(spec_encoder *encoder, int token);

/* Bytes that no piece covers: byte tokens, where there are all, else the unknown token once. */
void spec_tokenizer_emit_bytes(spec_encoder *encoder, spec_piece bytes);

/* Add a symbol to the part; merge the part and emit it. */
void spec_tokenizer_push(spec_encoder *encoder, int symbol);
void spec_tokenizer_flush(spec_encoder *encoder);

/* The longest user-defined piece at the front of a text, or -1. */
int spec_tokenizer_user(const spec_tokenizer *tokenizer, const char *text, size_t length);

/* What the kinds do. _decode: the bytes of a piece from its spelling, into `bytes`, where there is room for the
 * spelling; returns how many, or SIZE_MAX where it cannot be spelled so. _open: merges and the rest, once pieces and
 * table are there. */
size_t spec_tokenizer_spm_decode(char *bytes, spec_piece spelling);
int spec_tokenizer_spm_open(spec_tokenizer *tokenizer, const spec_tokenizer_data *data, spec_error *error);
void spec_tokenizer_spm_encode(spec_encoder *encoder, const char *text, size_t length);
size_t spec_tokenizer_bpe_decode(char *bytes, spec_piece spelling);
int spec_tokenizer_bpe_open(spec_tokenizer *tokenizer, const spec_tokenizer_data *data, spec_error *error);
void spec_tokenizer_bpe_close(spec_tokenizer *tokenizer);
void spec_tokenizer_bpe_encode(spec_encoder *encoder, const char *text, size_t length);

#endif
