/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace_write.h"

#include "base/stop_flag.h"
#include "models/row.h"
#include "sim/chance/rng.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 16, TOP = 3 };

const char *const spec_trace_contents_names[] = {"rows", "top", "logprobs", NULL};

typedef struct {
    FILE *file;
    const spec_fixture *fixture;
    spec_trace_contents contents;
    double *draft_cdf; /* (n_states, V) */
    int state[REQUESTS];
    uint64_t position[REQUESTS];
} writer;

/* Draws a token, never one of probability zero. */
static int draw(const double *cdf, int vocab, gsl_rng *rng)
{
    const double u = gsl_rng_uniform(rng) * cdf[vocab - 1];
    int token = 0;
    while (token < vocab - 1 && cdf[token] <= u) token++;
    return token;
}

static double *cdf_of(const double *law, const spec_fixture *f)
{
    const size_t V = (size_t)f->vocab, size = V * (size_t)f->n_states;
    double *cdf = malloc(size * sizeof *cdf);
    for (size_t i = 0; cdf != NULL && i < size; i++)
        cdf[i] = law[i] + (i % V == 0 ? 0.0 : cdf[i - 1]);
    return cdf;
}

/* Writes log 0 the way engines do. */
static double log_of(double chance)
{
    return chance > 0.0 ? log(chance) : -9999.0;
}

static void write_row(FILE *file, const char *key, const double *row, int vocab,
                      spec_trace_contents contents)
{
    int top[TOP];
    const int n = contents == SPEC_TRACE_ROWS ? vocab : spec_row_largest(top, TOP, row, vocab);
    fprintf(file, ", \"%s%s\": [", key, contents == SPEC_TRACE_ROWS ? "" : "_top");
    for (int i = 0; i < n; i++) {
        if (contents == SPEC_TRACE_ROWS) fprintf(file, "%s%.9g", i > 0 ? ", " : "", row[i]);
        else fprintf(file, "%s[%d, %.9g]", i > 0 ? ", " : "", top[i], log_of(row[top[i]]));
    }
    fputc(']', file);
}

/* Writes one token of a round; `drafted` is negative for the bonus token. */
static void write_token(writer *w, int request, int token, int drafted, bool accepted)
{
    const spec_fixture *f = w->fixture;
    const size_t at = (size_t)w->state[request] * (size_t)f->vocab;
    const double *target = f->target_law + at, *draft = f->draft_law + at;
    fprintf(w->file, "{\"request\": %d, \"position\": %llu, \"token\": %d", request,
            (unsigned long long)w->position[request], token);
    fprintf(w->file, ", \"target_logprob\": %.9g", log_of(target[token]));
    if (drafted >= 0) {
        fprintf(w->file, ", \"draft_logprob\": %.9g, \"drafted\": %d", log_of(draft[token]),
                drafted);
    }
    fprintf(w->file, ", \"accepted\": %s", accepted ? "true" : "false");
    if (w->contents != SPEC_TRACE_LOGPROBS) {
        write_row(w->file, "target", target, f->vocab, w->contents);
        if (drafted >= 0) write_row(w->file, "draft", draft, f->vocab, w->contents);
    }
    fputs("}\n", w->file);
    w->state[request] = spec_fixture_next(f, w->state[request], token);
    w->position[request]++;
}

static void ask(const writer *w, spec_round_batch *batch, uint64_t round, uint64_t seed,
                gsl_rng *rng)
{
    const spec_fixture *f = w->fixture;
    for (int i = 0; i < REQUESTS; i++) {
        int32_t *state = batch->state + (size_t)i * (size_t)(batch->nodes + 1);
        int32_t *token = batch->token + (size_t)i * (size_t)batch->nodes;
        state[0] = w->state[i];
        for (int k = 0; k < f->n_nodes; k++) {
            token[k] = draw(w->draft_cdf + (size_t)state[k] * (size_t)f->vocab, f->vocab, rng);
            state[k + 1] = spec_fixture_next(f, state[k], token[k]);
        }
        batch->n_nodes[i] = f->n_nodes;
        batch->request[i] = (uint64_t)i;
        batch->seed[i] = spec_rng_named_seed(seed + (uint64_t)i, "request");
        batch->offset[i] = round;
    }
}

static int write_round(writer *w, const spec_round_batch *batch, int i, spec_error *error)
{
    const spec_fixture *f = w->fixture;
    const int32_t *drafted = batch->token + (size_t)i * (size_t)batch->nodes;
    const int32_t *emitted = batch->emitted + (size_t)i * (size_t)(batch->nodes + 1);
    const int n = batch->n_emitted[i];
    if (batch->fault[i] != 0 || n < 1 || n > f->n_nodes + 1 || batch->n_accepted[i] != n - 1)
        return spec_fail(error, GSL_EFAILED,
                         "the sampler's answer is not a valid round: run 'speclab validate' first");
    for (int k = 0; k < n; k++) {
        if (emitted[k] < 0 || emitted[k] >= f->vocab)
            return spec_fail(error, GSL_EFAILED,
                             "the sampler emitted token %d of %d: validate it first", emitted[k],
                             f->vocab);
        write_token(w, i, emitted[k], k < f->n_nodes ? drafted[k] : -1, k < n - 1);
    }
    return GSL_SUCCESS;
}

int spec_trace_write(FILE *file, const char *subject, const spec_fixture_kind *kind,
                     spec_trace_contents contents, uint64_t n_tokens, uint64_t seed,
                     const volatile int *opt_stop, spec_error *error)
{
    const char *why;
    spec_fixture fixture = {.kind = NULL};
    spec_subject sampler = {.kind = NULL};
    writer w = {.file = file, .fixture = &fixture, .contents = contents};
    gsl_rng *rng = spec_rng_alloc();
    uint64_t done = 0;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_fixture_open(&fixture, kind, error));
    if (!fixture.chain || fixture.drawn != SPEC_DRAWN_IID || fixture.shorter || fixture.repeats)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: traces can only be made of whole drafted chains",
                           kind->name));
    SPEC_TRY(spec_subject_open(&sampler, subject, &SPEC_SUBJECT_LIMITS_DEFAULT, error));
    if (!spec_fixture_fits(&fixture, &sampler.about, SPEC_SCOPE_VERIFY, &why))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: %s", kind->name, why));
    SPEC_TRY(spec_fixture_promise(&fixture, &sampler.about, error));
    fixture.any_level = true;
    w.draft_cdf = cdf_of(fixture.draft_law, &fixture);
    if (rng == NULL || w.draft_cdf == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    spec_rng_stream(rng, seed, 0);
    SPEC_TRY(spec_subject_begin(&sampler, &fixture, SPEC_SCOPE_VERIFY, REQUESTS, error));
    for (int i = 0; i < REQUESTS; i++) w.state[i] = fixture.levels * (i % fixture.variants);
    fprintf(file, "{\"speclab_trace\": 1, \"engine\": \"%.48s\", \"vocab\": %d}\n",
            sampler.about.name, fixture.vocab);
    for (uint64_t round = 0; done < n_tokens; round++) {
        SPEC_TRY(spec_stop_check(opt_stop, error));
        ask(&w, &sampler.batch, round, seed, rng);
        SPEC_TRY(spec_subject_run(&sampler, REQUESTS, error));
        for (int i = 0; i < REQUESTS; i++) {
            SPEC_TRY(write_round(&w, &sampler.batch, i, error));
            done += (uint64_t)sampler.batch.n_emitted[i];
        }
    }
    if (fflush(file) != 0 || ferror(file))
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "%s", strerror(errno)));
done:
    if (sampler.kind != NULL) spec_subject_close(&sampler);
    spec_fixture_close(&fixture);
    free(w.draft_cdf);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}
