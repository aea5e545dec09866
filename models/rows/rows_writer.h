/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rows_writer: writes a file of rows, place after place.
 * The file appears only when it is complete (base/new_file.h). Rows are stored unchanged or without
 * probabilities below a cutoff; the file records the resulting distance from the model. Memory
 * holds only the tables, which the writer owns. */
#ifndef SPECLAB_ROWS_WRITER_H
#define SPECLAB_ROWS_WRITER_H

#include "base/new_file.h"
#include "models/model.h"
#include "models/rows/rows_file.h"

/* The largest cutoff that a user may set. */
#define SPEC_ROWS_CUTOFF_MAX 1e-2

/* A growing table in the byte order of the file. */
typedef struct {
    unsigned char *bytes;
    size_t n, capacity;
} spec_rows_table;

typedef struct {
    spec_new_file file;
    int vocab, sides;
    double cutoff;
    uint64_t places, tokens, texts, at; /* at: bytes written */
    double tv_sum[SPEC_ROWS_SIDES_MAX], tv_max[SPEC_ROWS_SIDES_MAX];
    spec_rows_table row_at, position, text_at, token, names;
    unsigned char *row; /* (largest row) bytes */
} spec_rows_writer;

/* Begins a file for these models, the target first, which share one vocabulary; the target's token
 * texts go into it. With cutoff 0, rows are stored bit for bit. Otherwise a row keeps, as floats,
 * the probabilities that are at least the cutoff, and in any case its largest. Returns GSL_EFAILED
 * if the file cannot be created, GSL_EINVAL if the name belongs to something other than a regular
 * file. */
int spec_rows_writer_init(spec_rows_writer *writer, const char *path,
                          const spec_model *const *model, int sides, double cutoff,
                          spec_error *error);

/* Does the same for rows without their models: sides by name, over a vocabulary without texts. */
int spec_rows_writer_init_named(spec_rows_writer *writer, const char *path,
                                const char *const *name, int sides, int vocab, double cutoff,
                                spec_error *error);

/* Begins a text of these tokens, n >= 1; its places follow. */
int spec_rows_writer_text(spec_rows_writer *writer, const int *token, size_t n, spec_error *error);

/* Adds the rows (sides), each (V), after the first `position` tokens of all texts; in ascending
 * order. */
int spec_rows_writer_place(spec_rows_writer *writer, uint64_t position, const double *const *row,
                           spec_error *error);

/* Returns the bytes that the rows of a place take in the file, including its line in the tables. */
size_t spec_rows_writer_place_bytes(spec_rows_writer *writer, const double *const *row);

/* Writes the tables and gives the file its name. At least one place must have been written. */
int spec_rows_writer_close(spec_rows_writer *writer, spec_error *error);

/* Frees the writer; a file that was not closed is removed. May be zeroed. */
void spec_rows_writer_free(spec_rows_writer *writer);

#endif
