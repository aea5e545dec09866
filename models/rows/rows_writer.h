/* rows_writer: writes a file of rows, place after place, as models give them.
 * It is seen when it is whole (base/new_file.h). Rows are kept as they are, or without what lies below a cutoff; how
 * far that is from the model's is measured and told in the file. Nothing but the tables is held; the writer owns them. */
#ifndef SPECLAB_ROWS_WRITER_H
#define SPECLAB_ROWS_WRITER_H

#include "models/model.h"
#include "base/new_file.h"
#include "models/rows/rows_file.h"

/* The largest cutoff that may be asked for. */
#define SPEC_ROWS_CUTOFF_MAX 1e-2

/* A table that grows, in the file's own bytes. */
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
    unsigned char *row; /* the largest there can be */
} spec_rows_writer;

/* A file for these models, the target first, of one vocabulary; the target's token texts go into it. cutoff 0: rows are
 * kept bit for bit; else probabilities of at least the cutoff, or the row's largest, are kept as floats, and make up
 * the row. GSL_EFAILED where no file can be made, GSL_EINVAL where something else than a file has the name. */
int spec_rows_writer_init(spec_rows_writer *writer, const char *path, const spec_model *const *model, int sides,
                          double cutoff, spec_error *error);

/* A text begins, with these tokens, n >= 1; then come its places. */
int spec_rows_writer_text(spec_rows_writer *writer, const int *token, size_t n, spec_error *error);

/* The rows (sides), each (V), after the first `position` tokens of all texts together, ascending. */
int spec_rows_writer_place(spec_rows_writer *writer, uint64_t position, const double *const *row, spec_error *error);

/* Write the tables, and give the file its name. At least one place must have been written. */
int spec_rows_writer_close(spec_rows_writer *writer, spec_error *error);

/* Free what it holds; a file that was not closed is removed. A zeroed one is fine. */
void spec_rows_writer_free(spec_rows_writer *writer);

#endif
