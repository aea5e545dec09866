/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/bias.h"

#include "models/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_bias_directions[] = {"forth", "back", NULL};

/* Separates the random numbers of the bias from those of the sampler, which has the same seeds. */
#define SALT 0x62696173u

static const double *row_of(const double *law, const spec_fixture *f, int state)
{
    return law + (size_t)state * (size_t)f->vocab;
}

bool spec_bias_law(double *ret, const spec_fixture *f, spec_place place, int state)
{
    const double *target = row_of(f->target_law, f, state), *draft = row_of(f->draft_law, f, state);
    double sum = 0.0;
    if (place == SPEC_PLACE_CORRECTION && !f->chain) return false;
    for (int x = 0; x < f->vocab; x++) {
        ret[x] = place != SPEC_PLACE_CORRECTION ? target[x]
                 : f->drawn == SPEC_DRAWN_FIXED ? target[x] * (1.0 - draft[x])
                                                : fmax(target[x] - draft[x], 0.0);
        sum += ret[x];
    }
    for (int x = 0; x < f->vocab && sum > 0.0; x++) ret[x] /= sum;
    return sum > 0.0;
}

/* Assigns each token, in order of probability, to the set with less of the target's mass. first[x]:
 * token x is in the first set. */
static void share_out(bool *first, double *law, const spec_fixture *f, int state)
{
    const double *target = row_of(f->target_law, f, state);
    double mass[2] = {0.0, 0.0};
    for (int n = 0; n < f->vocab; n++) {
        const int x = spec_row_argmax(law, f->vocab);
        first[x] = mass[0] <= mass[1];
        mass[!first[x]] += target[x];
        law[x] = -1.0;
    }
}

int spec_bias_init(spec_bias *bias, const spec_fixture *f, const spec_bias_spec *spec,
                   spec_error *error)
{
    const size_t V = (size_t)f->vocab;
    double *law = malloc(V * sizeof *law), held = 0.0, sum = 0.0;
    int status = GSL_SUCCESS;
    *bias = (spec_bias){.fixture = f,
                        .spec = *spec,
                        .source = calloc(V, sizeof *bias->source),
                        .to = malloc(V * sizeof *bias->to)};
    if (law == NULL || bias->source == NULL || bias->to == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for a bias"));
    if (spec->state < 0 || spec->state >= f->n_states)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s has states 0 to %d, not %d", f->kind->name,
                           f->n_states - 1, spec->state));
    if (!spec_bias_law(law, f, spec->place, spec->state))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%s: the distribution of a %s after state %d is not "
                           "known",
                           f->kind->name, spec_place_names[spec->place], spec->state));
    share_out(bias->source, law, f, spec->state);
    (void)spec_bias_law(law, f, spec->place, spec->state);
    for (size_t x = 0; x < V; x++) {
        if (spec->direction == SPEC_BIAS_BACK) bias->source[x] = !bias->source[x];
        held += bias->source[x] ? law[x] : 0.0;
        bias->to[x] = sum += bias->source[x] ? 0.0 : row_of(f->target_law, f, spec->state)[x];
    }
    if (!(held >= spec->tv) || sum == 0.0)
        SPEC_TRY(
            spec_fail(error, GSL_EINVAL,
                      "%s: of the %s token after state %d a TV of at most %.3g can be moved %s",
                      f->kind->name, spec_place_names[spec->place], spec->state,
                      sum > 0.0 ? held : 0.0, spec_bias_directions[spec->direction]));
    bias->chance = spec->tv / held;
done:
    free(law);
    if (status != GSL_SUCCESS) spec_bias_free(bias);
    return status;
}

void spec_bias_free(spec_bias *bias)
{
    free(bias->source);
    free(bias->to);
    *bias = (spec_bias){.fixture = NULL};
}

/* Draws the first token whose cumulative mass exceeds a uniform share of the total. */
static int32_t draw(const double *cumulative, int vocab, spec_rng_state *rng)
{
    const double u = spec_rng_next_double(rng) * cumulative[vocab - 1];
    int32_t x = 0;
    while (cumulative[x] <= u) x++;
    return x;
}

/* Returns a replacement for a token at the place, or the token itself. */
static int32_t replaced(const spec_bias *b, int32_t token, spec_rng_state *rng)
{
    if (!b->source[token] || spec_rng_next_double(rng) >= b->chance) return token;
    return draw(b->to, b->fixture->vocab, rng);
}

void spec_bias_round(const spec_bias *b, spec_round_batch *batch, int i)
{
    const size_t nodes = (size_t)batch->nodes;
    int32_t *emitted = batch->emitted + (size_t)i * (nodes + 1),
            state = batch->state[(size_t)i * (nodes + 1)];
    spec_rng_state rng = spec_rng_stream_state(batch->seed[i] ^ SALT, batch->offset[i]);
    for (int k = 0; k < batch->n_emitted[i]; k++) {
        if (state == b->spec.state &&
            spec_evidence_places(b->fixture, batch, i, k) >> b->spec.place & 1) {
            const int32_t token = replaced(b, emitted[k], &rng);
            if (token == emitted[k]) return;
            emitted[k] = token;
            batch->n_accepted[i] = k;
            batch->n_emitted[i] = k + 1;
            return;
        }
        state = spec_fixture_next(b->fixture, state, emitted[k]);
    }
}

void spec_bias_text(const spec_bias *b, int start, uint64_t seed, int32_t *ret_token,
                    int64_t n_tokens)
{
    const int V = b->fixture->vocab;
    spec_rng_state rng = spec_rng_stream_state(seed ^ SALT, 0);
    int state = start;
    for (int64_t t = 0; t < n_tokens; t++) {
        const double *law = row_of(b->fixture->target_law, b->fixture, state);
        double u = spec_rng_next_double(&rng);
        int32_t token = 0, last = 0;
        for (; token < V; token++) {
            if (law[token] > 0.0) last = token;
            if ((u -= law[token]) < 0.0) break;
        }
        ret_token[t] = last;
        if (state == b->spec.state && b->spec.place == SPEC_PLACE_TEXT)
            ret_token[t] = replaced(b, ret_token[t], &rng);
        state = spec_fixture_next(b->fixture, state, ret_token[t]);
    }
}
