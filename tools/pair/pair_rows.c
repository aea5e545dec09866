/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/pair/pair_rows.h"

#include "speclab/no_memory.h"

#include <stdlib.h>

void spec_pair_rows_free(spec_pair_rows *rows)
{
    free(rows->token);
    free(rows->text);
    *rows = (spec_pair_rows){.token = NULL};
}

/* Returns the place after the stretch that begins at `place`. `text` is the number of its text. */
static uint64_t end_of(const spec_rows_file *file, uint64_t place, uint64_t *text)
{
    const uint64_t first = spec_rows_file_position(file, place);
    while (*text + 1 < file->texts && spec_rows_file_text(file, *text + 1) <= first) ++*text;
    const uint64_t end =
        *text + 1 < file->texts ? spec_rows_file_text(file, *text + 1) : file->tokens;
    uint64_t n = 1;
    while (place + n < file->places && first + n < end &&
           spec_rows_file_position(file, place + n) == first + n)
        n++;
    return place + n;
}

int spec_pair_rows_init(spec_pair_rows *rows, const spec_rows_file *file, int K, spec_error *error)
{
    int status = GSL_SUCCESS;
    uint64_t text = 0, longest = 0;
    const size_t most = file->places / (size_t)K;
    *rows = (spec_pair_rows){.token = malloc(file->places * sizeof *rows->token),
                             .text = calloc(most + 1, sizeof *rows->text)};
    if (rows->token == NULL || rows->text == NULL) SPEC_TRY(spec_no_memory(error));
    for (uint64_t place = 0, end; place < file->places; place = end) {
        end = end_of(file, place, &text);
        const uint64_t n = end - place;
        if (n > longest) longest = n;
        for (uint64_t i = place; i < end; i++)
            rows->token[i] = spec_rows_file_token(file, spec_rows_file_position(file, i));
        if (n < (uint64_t)K || rows->n == SPEC_PAIR_TEXTS) continue;
        rows->positions += n;
        rows->text[rows->n++] = (spec_pair_text){
            .token = rows->token, .n = (size_t)place, .n_given = (size_t)n, .category = -1};
    }
    if (rows->n == 0)
        status = spec_fail(error, GSL_EINVAL,
                           "%.200s: it has at most %llu positions in a row, and K is %d: use a "
                           "smaller --K, or record the rows without --every",
                           file->path, (unsigned long long)longest, K);
done:
    if (status != GSL_SUCCESS) spec_pair_rows_free(rows);
    return status;
}
