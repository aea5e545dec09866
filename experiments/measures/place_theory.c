/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/place_theory.h"

#include "analysis/places.h"
#include "models/rows/rows.h"
#include "speclab/no_memory.h"
#include "tools/bench/acceptance_theory.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *name, const char *const *list)
{
    while (*list != NULL && strcmp(name, *list) != 0) list++;
    return *list != NULL;
}

static bool is_within_reach(const spec_decoding_config *config, const spec_rows_file *file,
                            uint64_t batch)
{
    static const char *const rules[] = {"token", "match", "greedy", NULL}, *const drafts[] = {
                                                                               "chain", "greedy",
                                                                               NULL};
    const spec_decoder_config *decoder = &config->decoder;
    const double rounds = (double)config->burn_in + (double)batch,
                 tokens = rounds * (decoder->K + 1);
    return strcmp(decoder->policy, "fixed") == 0 && is_one_of(decoder->rule, rules) &&
           is_one_of(decoder->drafting, drafts) && SPEC_ROWS_PROMPT + tokens <= SPEC_TEXT_MAX &&
           file->places <= INT_MAX && tokens * (double)file->places <= SPEC_PLACE_STEPS_MAX;
}

/* Fills in the probability of acceptance at each position. */
static int fill_beta(double *beta, const spec_decoder_config *config, const spec_rows_file *file,
                     uint64_t begin, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t vocab = (size_t)file->vocab;
    const bool chosen = strcmp(config->drafting, "greedy") == 0;
    spec_session target = {0}, draft = {0};
    spec_rule rule;
    int *text = spec_rows_text(file);
    double *row = malloc(2 * vocab * sizeof *row);
    if (text == NULL || row == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_rule_init(&rule, config->rule, error));
    SPEC_TRY(spec_session_init(&target, config->target, error));
    SPEC_TRY(spec_session_init(&draft, config->opt_draft, error));
    for (uint64_t p = 0; p < file->places; p++) {
        const double *t = spec_session_row(&target, text, p, row, error);
        const double *d = t != NULL ? spec_session_row(&draft, text, p, row + vocab, error) : NULL;
        if (d == NULL) SPEC_TRY(GSL_EFAILED);
        errno = 0;
        const double accepted = spec_acceptance_theory_single(&rule, chosen, t, d, file->vocab);
        if (errno == ENOMEM) SPEC_TRY(spec_no_memory(error));
        beta[(begin + p) % file->places] = fmin(accepted, 1.0);
    }
done:
    spec_session_free(&draft);
    spec_session_free(&target);
    free(row);
    free(text);
    return status;
}

int spec_place_theory_emitted(double *ret_mean, const spec_decoding_config *config, uint64_t batch,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_decoder_config *decoder = &config->decoder;
    uint64_t begin = 0;
    const spec_rows_file *file = spec_rows_of(decoder->target, &begin);
    const spec_rows_file *other =
        decoder->opt_draft != NULL ? spec_rows_of(decoder->opt_draft, NULL) : NULL;
    double *store = NULL;
    *ret_mean = NAN;
    if (file == NULL || other == NULL || file->check != other->check ||
        !is_within_reach(config, file, batch))
        return GSL_SUCCESS;
    const size_t n = file->places;
    store = malloc(3 * n * sizeof *store);
    if (store == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for %zu positions", n);
    double *beta = store, *start = store + n, *draft_start = store + 2 * n;
    spec_rows_starts(start, decoder->target);
    spec_rows_starts(draft_start, decoder->opt_draft);
    if (memcmp(start, draft_start, n * sizeof *start) != 0) goto done;
    SPEC_TRY(fill_beta(beta, decoder, file, begin, error));
    status = spec_places_mean(ret_mean, beta, start, (int)n, decoder->K, config->burn_in, batch);
    if (status != GSL_SUCCESS)
        status = spec_fail(error, status,
                           "out of memory for %zu "
                           "positions",
                           n);
done:
    free(store);
    return status;
}
