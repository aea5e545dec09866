/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_prompts.h"

#include "base/input_file.h"
#include "base/wide_rng.h"
#include "models/vocabularies.h"
#include "sim/chance/chance.h"
#include "sim/chance/rng.h"

#include <stdlib.h>
#include <string.h>

enum { WRITTEN_MAX = 8 }; /* maximum prompts that the target writes, at a pass per token */

static int no_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory for prompts");
}

static int allocate(spec_timing_prompts *prompts, int n, spec_error *error)
{
    prompts->token = calloc((size_t)n, sizeof *prompts->token);
    prompts->length = calloc((size_t)n, sizeof *prompts->length);
    return prompts->token != NULL && prompts->length != NULL ? GSL_SUCCESS : no_memory(error);
}

void spec_timing_prompts_free(spec_timing_prompts *prompts)
{
    for (int i = 0; i < prompts->n && prompts->token != NULL; i++) free(prompts->token[i]);
    free(prompts->token);
    free(prompts->length);
    *prompts = (spec_timing_prompts){0};
}

size_t spec_timing_prompts_longest(const spec_timing_prompts *prompts)
{
    size_t longest = 0;
    for (int i = 0; i < prompts->n; i++)
        if (prompts->length[i] > longest) longest = prompts->length[i];
    return longest;
}

double spec_timing_prompts_mean(const spec_timing_prompts *prompts)
{
    double sum = 0.0;
    for (int i = 0; i < prompts->n; i++) sum += (double)prompts->length[i];
    return sum / prompts->n;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static const spec_input_limit limit = {"prompts", SPEC_TIMING_FILE_BYTES};

/* Returns the next text at or after `at`: lines up to a blank one, without the line ends around
 * them. NULL if there is none. */
static const char *next_text(size_t *ret_length, const char *at, const char *end)
{
    while (at < end && (*at == '\n' || *at == '\r')) at++;
    if (at == end) return NULL;
    const char *stop = at;
    for (const char *c = at; c < end; c++) {
        if (*c != '\n') {
            if (*c != '\r') stop = c + 1;
            continue;
        }
        const char *next = c + 1 < end && c[1] == '\r' ? c + 2 : c + 1;
        if (next < end && *next == '\n') break;
    }
    *ret_length = (size_t)(stop - at);
    return at;
}

/* Adds the first `most` tokens of a text as a prompt. */
static int tokenize(spec_timing_prompts *prompts, const spec_model *model, const char *text,
                    size_t length, int most, spec_error *error)
{
    int *token = malloc((size_t)most * sizeof *token);
    if (token == NULL) return no_memory(error);
    size_t n = model->kind->tokenize(model, text, length, token, (size_t)most);
    if (n == SPEC_TOKENS_LOST) {
        free(token);
        return no_memory(error);
    }
    if (n > (size_t)most) n = (size_t)most;
    /* there are many texts, and most are short */
    int *fit = realloc(token, (n + 1) * sizeof *token);
    prompts->token[prompts->n] = fit != NULL ? fit : token;
    prompts->length[prompts->n++] = n;
    return GSL_SUCCESS;
}

int spec_timing_prompts_read(spec_timing_prompts *prompts, const char *path,
                             const spec_model *model, int most, spec_error *error)
{
    int status = GSL_SUCCESS, n = 0;
    char *bytes = NULL;
    size_t n_bytes, length;
    *prompts = (spec_timing_prompts){.source = "texts of a file"};
    if (!spec_vocabularies_speaks(model))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%s: this model has no words, and cannot read prompts", path));
    SPEC_TRY(spec_input_file_read(&bytes, &n_bytes, path, &limit, error));
    const char *end = bytes + n_bytes;
    for (const char *text = bytes;
         n < SPEC_TIMING_PROMPTS_MAX && (text = next_text(&length, text, end)) != NULL;
         text += length)
        n++;
    if (n == 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: contains no text", path));
    SPEC_TRY(allocate(prompts, n, error));
    for (const char *text = bytes; prompts->n < n && (text = next_text(&length, text, end)) != NULL;
         text += length)
        SPEC_TRY(tokenize(prompts, model, text, length, most, error));
done:
    free(bytes);
    if (status != GSL_SUCCESS) spec_timing_prompts_free(prompts);
    return status;
}

int spec_timing_prompts_of(spec_timing_prompts *prompts, const char *const *text, int n,
                           const char *source, const spec_model *model, int most, spec_error *error)
{
    int status = GSL_SUCCESS;
    *prompts = (spec_timing_prompts){.n = 0};
    snprintf(prompts->source, sizeof prompts->source, "%s", source);
    if (!spec_vocabularies_speaks(model))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s: this model has no words, and cannot read prompts", source));
    SPEC_TRY(allocate(prompts, n, error));
    while (prompts->n < n)
        SPEC_TRY(tokenize(prompts, model, text[prompts->n], strlen(text[prompts->n]), most, error));
done:
    if (status != GSL_SUCCESS) spec_timing_prompts_free(prompts);
    return status;
}

/* ---- without one ----------------------------------------------------------------------------- */

/* Lets the model write tokens from an empty context, up to its end of text. */
static int write_text(int *token, size_t *ret_length, const spec_model *model, size_t most,
                      gsl_rng *rng, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_session session = {0};
    spec_chance chance = spec_chance_sampled(rng);
    double *scratch = malloc((size_t)model->vocab * sizeof *scratch);
    *ret_length = 0;
    if (scratch == NULL) SPEC_TRY(no_memory(error));
    SPEC_TRY(spec_session_init(&session, model, error));
    while (*ret_length < most) {
        const double *row = spec_session_row(&session, token, *ret_length, scratch, error);
        if (row == NULL) SPEC_TRY(GSL_EFAILED);
        const int next = spec_chance_pick(&chance, row, model->vocab);
        if (spec_model_ends_text(model, next)) break;
        token[(*ret_length)++] = next;
    }
done:
    spec_session_free(&session);
    free(scratch);
    return status;
}

int spec_timing_prompts_make(spec_timing_prompts *prompts, const spec_model *model, int n, int most,
                             uint64_t seed, spec_error *error)
{
    int status = GSL_SUCCESS;
    const bool own = model->kind->prompt != NULL, written = !own && spec_vocabularies_speaks(model);
    gsl_rng *rng = spec_rng_alloc();
    *prompts = (spec_timing_prompts){0};
    snprintf(prompts->source, sizeof prompts->source,
             own ? "the target's own" : written ? "written by the target" : "random tokens");
    if (rng == NULL) SPEC_TRY(no_memory(error));
    if (written && n > WRITTEN_MAX) n = WRITTEN_MAX;
    SPEC_TRY(allocate(prompts, n, error));
    for (; prompts->n < n; prompts->n++) {
        int *token = malloc(((size_t)most + 1) * sizeof *token);
        if (token == NULL) SPEC_TRY(no_memory(error));
        prompts->token[prompts->n] = token;
        size_t length = (size_t)most;
        if (own) {
            length = model->kind->prompt(model, (unsigned long)prompts->n, token, (size_t)most);
        } else {
            spec_rng_stream(rng, spec_rng_named_seed(seed, "bench prompts"), (uint64_t)prompts->n);
            if (written) SPEC_TRY(write_text(token, &length, model, length, rng, error));
            else
                for (size_t i = 0; i < length; i++)
                    token[i] = (int)spec_wide_rng_below(rng, (uint64_t)model->vocab);
        }
        prompts->length[prompts->n] = length < (size_t)most ? length : (size_t)most;
    }
done:
    if (rng != NULL) gsl_rng_free(rng);
    if (status != GSL_SUCCESS) spec_timing_prompts_free(prompts);
    return status;
}
