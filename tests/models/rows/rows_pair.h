/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rows_pair: small files of rows for tests: a target and a draft of known rows.
 * The rows are those of `cases` models; the caller closes and removes the file. */
#ifndef SPECLAB_TESTS_ROWS_PAIR_H
#define SPECLAB_TESTS_ROWS_PAIR_H

#include "base/noise.h"
#include "models/rows/rows_writer.h"
#include "tests/models/open_model.h"

#include <unistd.h>

/* Returns token i of the text of every such file, which is aperiodic: no run of 16 tokens occurs
 * twice. */
static inline int rows_pair_token(uint64_t i, int vocab)
{
    return (int)(spec_noise_mix(i + 1) % (uint64_t)vocab);
}

/* Writes rows of a target and a draft, of order 2, at every `every`th of n tokens. */
static inline void rows_pair_write(const char *path, opened *target, opened *draft, uint64_t n,
                                   uint64_t every, double cutoff)
{
    const spec_model *const model[] = {target->model, draft->model};
    const int vocab = target->model->vocab;
    spec_rows_writer writer;
    FREED int *text = malloc(n * sizeof *text);
    assert_non_null(text);
    for (uint64_t i = 0; i < n; i++) text[i] = rows_pair_token(i, vocab);
    assert_works(spec_rows_writer_init(&writer, path, model, 2, cutoff, &error));
    assert_works(spec_rows_writer_text(&writer, text, n, &error));
    for (uint64_t i = 0; i < n; i += every) {
        const double *const row[] = {row_after(target, text, i), row_after(draft, text, i)};
        assert_works(spec_rows_writer_place(&writer, i, row, &error));
    }
    assert_works(spec_rows_writer_close(&writer, &error));
    spec_rows_writer_free(&writer);
}

#endif
