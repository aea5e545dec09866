/* rows_file: a file of the rows of a target and its drafts at the places of a text, as it lies on the disk.
 * The file is mapped and its tables are checked when it is opened; a row is checked each time it is read, so that a
 * file of any size opens at once. Its bytes: docs/formats.md#rows. Immutable when open, shared by threads. */
#ifndef SPECLAB_ROWS_FILE_H
#define SPECLAB_ROWS_FILE_H

#include "base/mapping.h"

#include <stddef.h>
#include <stdint.h>

/* The target and the most drafts of a file; bytes of its head, and of the head of a row. */
enum { SPEC_ROWS_SIDES_MAX = 8, SPEC_ROWS_HEAD = 96, SPEC_ROWS_ROW_HEAD = 8 };

#define SPEC_ROWS_MAGIC "SPECROWS"
#define SPEC_ROWS_VERSION 1u

typedef struct {
    const char *spec; /* the model's, not NUL-terminated */
    size_t spec_length;
    double tv_mean, tv_max; /* total variation from the model's rows to the file's, over the places */
} spec_rows_side;

typedef struct {
    char *path;
    spec_mapping map;
    int vocab, sides;         /* side 0 is the target */
    int value_bytes;          /* 8: probabilities as they are; 4: weights, which a row's sum divides */
    double cutoff;            /* what is less was left out */
    uint64_t places, tokens, texts;
    spec_rows_side side[SPEC_ROWS_SIDES_MAX];
    uint64_t check;           /* of the tables: two files of one check have the same text and places */
    const unsigned char *row_at, *position, *text_at, *token; /* tables within the map */
    const unsigned char **piece; /* (V) the tokens' texts, each after its length; NULL: the file has none */
} spec_rows_file;

/* GSL_EINVAL with one line naming the file for what is missing, foreign, truncated or damaged. On failure it is
 * zeroed. */
int spec_rows_file_open(spec_rows_file *file, const char *path, spec_error *error);
void spec_rows_file_close(spec_rows_file *file); /* a zeroed one is fine */

/* Fill ret_row (V) with a side's row at a place, which sums to 1 within 1e-12. GSL_EINVAL, naming file, place and side,
 * where its bytes are damaged. */
int spec_rows_file_row(double *ret_row, const spec_rows_file *file, uint64_t place, int side, spec_error *error);

/* A token of the text; the tokens before a place, counted from the first text's begin; where text i begins. A row's
 * context is what stands between its text's begin and its position, where the next token stands. */
int spec_rows_file_token(const spec_rows_file *file, uint64_t i);
uint64_t spec_rows_file_position(const spec_rows_file *file, uint64_t place);
uint64_t spec_rows_file_text(const spec_rows_file *file, uint64_t i);

/* The bytes a token stands for, into `buffer` (NUL-terminated, cut at `size`); returns their number. Of files without
 * them: "<17>". */
size_t spec_rows_file_token_text(const spec_rows_file *file, int token, char *buffer, size_t size);

/* ---- shared with the writer -------------------------------------------------------------------------------------- */

/* A checksum of n bytes, a multiple of 8: the sum of their words of 8 bytes, and the sum of its values on the way
 * [Fletcher82]. */
uint64_t spec_rows_check(const unsigned char *bytes, size_t n, uint64_t start);

/* Up to the next multiple of 8, where what follows in the file begins. */
size_t spec_rows_padded(size_t n);

/* Bytes of a row with `count` of V probabilities, and where its values begin. */
size_t spec_rows_row_size(size_t *ret_values, size_t count, int vocab, int value_bytes);

#endif
