/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rows_file: a mapped file with the rows of a target and its drafts along texts.
 * A place is one of the positions whose rows were recorded, counted from 0 over all texts. The
 * tables are checked on opening, and each row is checked when it is read, so that a file of any
 * size opens at once. File format: docs/formats.md#rows. Immutable once open, shared by threads. */
#ifndef SPECLAB_ROWS_FILE_H
#define SPECLAB_ROWS_FILE_H

#include "base/mapping.h"

#include <stddef.h>
#include <stdint.h>

/* The most models of a file (a target and its drafts), and the bytes at the head of the file and of
 * a row. */
enum { SPEC_ROWS_SIDES_MAX = 8, SPEC_ROWS_HEAD = 96, SPEC_ROWS_ROW_HEAD = 8 };

#define SPEC_ROWS_MAGIC "SPECROWS"
#define SPEC_ROWS_VERSION 1u

typedef struct {
    const char *spec; /* the model's spec, not NUL-terminated */
    size_t spec_length;
    double tv_mean,
        tv_max; /* mean and largest total variation, over the places, between the model's rows and
                   the file's */
} spec_rows_side;

typedef struct {
    char *path;
    spec_mapping map;
    int vocab, sides;         /* side 0 is the target */
    int value_bytes; /* 8: probabilities as they are; 4: weights, which readers divide by their
                        sum */
    double cutoff;            /* smaller probabilities were left out */
    uint64_t places, tokens, texts;
    spec_rows_side side[SPEC_ROWS_SIDES_MAX];
    uint64_t check; /* a checksum of the tables: files with the same check have the same text and
                       places */
    const unsigned char *row_at, *position, *text_at, *token; /* tables within the map */
    const unsigned char *
        *piece; /* (V) the tokens' texts, each after its length; NULL if the file has none */
} spec_rows_file;

/* Opens a file. Returns GSL_EINVAL, with one line that names it, if it is missing, of another
 * format, truncated or damaged. On failure the struct is zeroed. */
int spec_rows_file_open(spec_rows_file *file, const char *path, spec_error *error);
void spec_rows_file_close(spec_rows_file *file); /* may be zeroed */

/* Fills ret_row (V) with a side's row at a place, which sums to 1 within 1e-12. Returns GSL_EINVAL,
 * naming file, place and side, if its bytes are damaged. */
int spec_rows_file_row(double *ret_row, const spec_rows_file *file, uint64_t place, int side,
                       spec_error *error);

/* Return a token of the text; the number of tokens before a place, counted from the start of the
 * first text; the position where text i begins. A row's context is the tokens from its text's
 * beginning to its position; the next token is at its position. */
int spec_rows_file_token(const spec_rows_file *file, uint64_t i);
uint64_t spec_rows_file_position(const spec_rows_file *file, uint64_t place);
uint64_t spec_rows_file_text(const spec_rows_file *file, uint64_t i);

/* Writes the bytes of a token into `buffer` (NUL-terminated, cut at `size`); returns their number.
 * "<17>" if the file has no texts. */
size_t spec_rows_file_token_text(const spec_rows_file *file, int token, char *buffer, size_t size);

/* ---- shared with the writer ------------------------------------------------------------------ */

/* Returns a checksum of n bytes, a multiple of 8: the sum of their 8-byte words, and the sum of the
 * partial sums [Fletcher82]. */
uint64_t spec_rows_check(const unsigned char *bytes, size_t n, uint64_t start);

/* Returns the next multiple of 8, where the next part of the file begins. */
size_t spec_rows_padded(size_t n);

/* Returns how many bytes a row takes if it has `count` of V probabilities, and the offset of its
 * values. */
size_t spec_rows_row_size(size_t *ret_values, size_t count, int vocab, int value_bytes);

#endif
