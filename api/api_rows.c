/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of rows that another program computed. */
#include "api/lab.h"

#include "models/row.h"
#include "models/rows/rows_writer.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>

enum { VOCAB_MAX = 1 << 20 };

struct speclab_rows {
    speclab *lab;
    spec_rows_writer writer;
    uint64_t begin; /* start of the current text, in tokens over all texts */
    int64_t next;   /* the smallest position that the next rows may have in it */
    bool finished;
};

static int check_options(const speclab_rows_options *options, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (options->vocab < 1 || options->vocab > VOCAB_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "vocab must be 1 to %d, got %d", VOCAB_MAX,
                           options->vocab));
    if (options->sides < 1 || options->sides > SPEC_ROWS_SIDES_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "sides must be 1 to %d, the target first, got %d",
                           SPEC_ROWS_SIDES_MAX, options->sides));
    if (!(options->cutoff >= 0.0 && options->cutoff <= SPEC_ROWS_CUTOFF_MAX))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "cutoff must be 0 to %g, got %g",
                           SPEC_ROWS_CUTOFF_MAX, options->cutoff));
    SPEC_TRY(spec_lab_need(options->name, "name", error));
    for (int s = 0; s < options->sides; s++)
        SPEC_TRY(spec_lab_need(options->name[s], "a name", error));
done:
    return status;
}

int32_t speclab_rows_open(speclab_rows **ret_rows, speclab *lab, const char *path,
                          const speclab_rows_options *options, char *opt_error,
                          uint64_t error_size)
{
    speclab_rows_options given;
    spec_lab_call call;
    speclab_rows *rows = NULL;
    int status = GSL_SUCCESS;
    if (ret_rows != NULL) *ret_rows = NULL;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_rows, "ret_rows", &call.error));
    SPEC_TRY(spec_lab_need(path, "path", &call.error));
    SPEC_TRY(spec_lab_need(options, "options", &call.error));
    SPEC_TRY(spec_lab_take(&given, sizeof given, options, "speclab_rows_options", &call.error));
    SPEC_TRY(check_options(&given, &call.error));
    if ((rows = calloc(1, sizeof *rows)) == NULL) SPEC_TRY(spec_no_memory(&call.error));
    rows->lab = lab;
    SPEC_TRY(spec_rows_writer_init_named(&rows->writer, path, given.name, given.sides, given.vocab,
                                         given.cutoff, &call.error));
    *ret_rows = rows;
    rows = NULL;
done:
    free(rows);
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

/* Enters a call for a file that is open and not yet finished. */
static int enter(spec_lab_call *call, const speclab_rows *rows)
{
    int status = spec_lab_enter(call, rows != NULL ? rows->lab : NULL);
    if (status == GSL_SUCCESS && rows->finished)
        status = spec_fail(&call->error, GSL_EINVAL, "the file is finished; open another one");
    return status;
}

int32_t speclab_rows_text(speclab_rows *rows, const int32_t *token, int64_t n, char *opt_error,
                          uint64_t error_size)
{
    spec_lab_call call;
    int status = GSL_SUCCESS;
    SPEC_TRY(enter(&call, rows));
    SPEC_TRY(spec_lab_need(token, "token", &call.error));
    if (n < 1) SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "a text must have at least one token"));
    for (int64_t i = 0; i < n; i++)
        if (token[i] < 0 || token[i] >= rows->writer.vocab)
            SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "token %lld must be 0 to %d, got %d",
                               (long long)i, rows->writer.vocab - 1, token[i]));
    rows->begin = rows->writer.tokens;
    rows->next = 0;
    status = spec_rows_writer_text(&rows->writer, token, (size_t)n, &call.error);
done:
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

static int check_row(const double *row, int side, int vocab, spec_error *error)
{
    if (row == NULL) return spec_lab_need(row, "a row", error);
    for (int i = 0; i < vocab; i++)
        if (!(row[i] >= 0.0))
            return spec_fail(error, GSL_EINVAL, "side %d: token %d has probability %g", side, i,
                             row[i]);
    const double sum = spec_row_sum(row, vocab);
    if (fabs(sum - 1.0) <= 1e-12) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "side %d: the row sums to %.15g, not to 1", side, sum);
}

int32_t speclab_rows_place(speclab_rows *rows, int64_t position, const double *const *row,
                           char *opt_error, uint64_t error_size)
{
    spec_lab_call call;
    int status = GSL_SUCCESS;
    SPEC_TRY(enter(&call, rows));
    SPEC_TRY(spec_lab_need(row, "row", &call.error));
    const int64_t tokens = (int64_t)(rows->writer.tokens - rows->begin);
    if (rows->next >= tokens)
        SPEC_TRY(
            spec_fail(&call.error, GSL_EINVAL, "there is no text, or it has no position left"));
    if (position < rows->next || position >= tokens)
        SPEC_TRY(spec_fail(&call.error, GSL_EINVAL,
                           "position must be %lld to %lld, before a token of the text, got %lld",
                           (long long)rows->next, (long long)tokens - 1, (long long)position));
    for (int s = 0; s < rows->writer.sides; s++)
        SPEC_TRY(check_row(row[s], s, rows->writer.vocab, &call.error));
    SPEC_TRY(spec_rows_writer_place(&rows->writer, rows->begin + (uint64_t)position, row,
                                    &call.error));
    rows->next = position + 1;
done:
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

int32_t speclab_rows_finish(speclab_rows *rows, char *opt_error, uint64_t error_size)
{
    spec_lab_call call;
    int status = GSL_SUCCESS;
    SPEC_TRY(enter(&call, rows));
    if (rows->writer.places == 0)
        SPEC_TRY(
            spec_fail(&call.error, GSL_EINVAL, "a file of rows must have at least one position"));
    SPEC_TRY(spec_rows_writer_close(&rows->writer, &call.error));
    rows->finished = true;
done:
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

void speclab_rows_close(speclab_rows *rows)
{
    if (rows == NULL) return;
    spec_rows_writer_free(&rows->writer);
    free(rows);
}
