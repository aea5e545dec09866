/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/observed/engine_counters.h"

#include "sim/chance/rng.h"
#include "sim/serving/engine/uniforms.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A slot of the batch, and the request in it. */
typedef struct {
    float survival[SPEC_COUNTED_K]; /* [j - 1]: chance that a round accepts at least j tokens */
    float last;                     /* uniform number of the previous round; -1: none */
    int64_t left;                   /* tokens to emit */
    double begin;
    spec_engine_counters *into;
} slot;

typedef struct {
    const spec_counted_engine *engine;
    const spec_alpha_law *alpha;
    slot *slot; /* (batch) */
    gsl_rng *rng;
    double score; /* the normal score of the last alpha drawn; NaN: none, or scores are not kept */
    spec_uniforms accept, repeat, draft;
    double now;
    /* For requests: the first n count, and the counters of others are dropped; `begun` and `ended`
     * count the requests that have begun and ended. For windows: request = NULL. */
    spec_engine_counters *request, dropped;
    int n, begun, ended;
} run;

/* ---- requests -------------------------------------------------------------------------------- */

/* Fills the survival; for Beta(a, b), E[alpha^j] = prod_{i < j} (a + i)/(a + b + i). */
static void fill_survival(slot *s, const spec_counted_engine *engine, double alpha)
{
    const double c = engine->over_rounds;
    double survival = 1.0, decay = 1.0;
    for (int j = 1; j <= engine->K; j++) {
        survival *= decay * (c > 0.0 ? (alpha * c + j - 1.0) / (c + j - 1.0) : alpha);
        decay *= engine->decay;
        s->survival[j - 1] = (float)survival;
    }
}

/* Returns a request's rounds relative to those of one without acceptance, for independent rounds:
 *     1 / sum_j keep^j P(a round accepts at least j tokens),   keep = 1 - 1/output */
static double relative_rounds(const slot *s, const spec_counted_engine *engine, double output)
{
    double sum = 1.0, factor = 1.0 - 1.0 / output;
    for (int j = 1; j <= engine->K; j++) {
        sum += factor * s->survival[j - 1];
        factor *= (1.0 - 1.0 / output) * (1.0 - engine->stop);
    }
    return output / sum;
}

/* Draws the alpha of the next request. */
static double draw_alpha(const run *r, double *ret_score)
{
    const double kept = r->engine->kept;
    *ret_score = NAN;
    if (kept == 0.0) return spec_alpha_law_draw(r->alpha, r->rng);
    *ret_score = gsl_ran_ugaussian_ratio_method(r->rng);
    if (!isnan(r->score)) *ret_score = kept * r->score + sqrt(1.0 - kept * kept) * *ret_score;
    return spec_alpha_law_quantile(r->alpha, gsl_cdf_ugaussian_P(*ret_score));
}

static double draw_output(const run *r)
{
    const spec_counted_engine *engine = r->engine;
    const bool is_long = engine->long_share > 0.0 && gsl_rng_uniform(r->rng) < engine->long_share;
    return is_long ? engine->long_output : engine->output;
}

/* Begins a request. The end of a geometric request does not depend on its age, so one under way has
 * as many tokens to emit as a new one. */
static void begin(run *r, slot *s, bool under_way)
{
    const spec_counted_engine *engine = r->engine;
    const double most = fmax(engine->output, engine->long_share > 0.0 ? engine->long_output : 0.0);
    double output, score;
    do {
        fill_survival(s, engine, draw_alpha(r, &score));
        output = draw_output(r);
    } while (under_way && most * gsl_rng_uniform(r->rng) >= relative_rounds(s, engine, output));
    r->score = score;
    const double u = 1.0 - gsl_rng_uniform(r->rng);
    s->left = output > 1.0 ? 1 + (int64_t)(log(u) / log1p(-1.0 / output)) : 1;
    s->last = -1.0f;
    s->begin = r->now;
    if (r->request != NULL) s->into = r->begun < r->n ? &r->request[r->begun++] : &r->dropped;
    if (!under_way) s->into->begun++;
}

static void end(run *r, slot *s, double now)
{
    if (r->request == NULL || s->into == &r->dropped) return;
    s->into->seconds = now - s->begin;
    r->ended++;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static int accepted(run *r, slot *s)
{
    float u = spec_uniforms_next(&r->accept);
    if (r->engine->stay > 0.0) {
        const bool again = spec_uniforms_next(&r->repeat) < (float)r->engine->stay;
        if (again && s->last >= 0.0f) u = s->last;
        s->last = u;
    }
    int n = 0;
    while (n < r->engine->K && u < s->survival[n]) n++;
    return n;
}

/* Returns how many tokens are drafted in a round in which the target would accept n. */
static int drafted(run *r, int n)
{
    const spec_counted_engine *engine = r->engine;
    int K = engine->K;
    if (engine->sees > 0.0 && n < K && spec_uniforms_next(&r->draft) < (float)engine->sees)
        K = n > 1 ? n : 1;
    if (engine->stop > 0.0)
        for (int j = 1; j < K; j++)
            if (spec_uniforms_next(&r->draft) < (float)engine->stop) return j;
    return K;
}

static void step(run *r)
{
    const int batch = r->engine->batch;
    spec_step_work work = {.decoding = batch};
    for (int i = 0; i < batch; i++) {
        slot *s = &r->slot[i];
        int n = accepted(r, s);
        const int K = r->engine->K > 0 ? drafted(r, n) : 0;
        if (n > K) n = K;
        const int64_t emitted = n + 1 < s->left ? n + 1 : s->left;
        s->into->rounds++;
        s->into->drafted += (uint64_t)K;
        s->into->accepted += (uint64_t)n;
        s->into->emitted += (uint64_t)emitted;
        s->into->n_accepted[n]++;
        s->left -= emitted;
        work.drafted += K;
        if (K > work.passes) work.passes = K;
    }
    work.decode_tokens = batch + work.drafted - r->engine->free_tokens;
    if (work.decode_tokens < 0) work.decode_tokens = 0;
    r->now += spec_affine_step_target(&r->engine->cost, &work) +
              spec_affine_step_draft(&r->engine->cost, &work);
    for (int i = 0; i < batch; i++)
        if (r->slot[i].left == 0) {
            end(r, &r->slot[i], r->now);
            begin(r, &r->slot[i], false);
        }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int init(run *r, uint64_t seed, uint64_t stream, spec_error *error)
{
    r->score = NAN;
    if (!spec_counted_engine_ok(r->engine) || r->n < 1)
        return spec_fail(error, GSL_EDOM, "a setting of the engine is outside its domain");
    r->slot = calloc((size_t)r->engine->batch, sizeof *r->slot);
    r->rng = spec_rng_alloc();
    if (r->slot == NULL || r->rng == NULL) return spec_no_memory(error);
    spec_rng_stream(r->rng, spec_rng_named_seed(seed, "counters requests"), stream);
    spec_uniforms_init(&r->accept, seed, "counters accept", stream);
    spec_uniforms_init(&r->repeat, seed, "counters repeat", stream);
    spec_uniforms_init(&r->draft, seed, "counters draft", stream);
    for (int i = 0; i < r->engine->batch; i++) begin(r, &r->slot[i], r->request == NULL);
    return GSL_SUCCESS;
}

static void run_free(run *r)
{
    free(r->slot);
    gsl_rng_free(r->rng);
}

int spec_engine_counters_windows(spec_engine_counters *ret_window, int n, double seconds,
                                 const spec_counted_engine *engine, const spec_alpha_law *alpha,
                                 uint64_t seed, uint64_t stream, spec_error *error)
{
    int status = GSL_SUCCESS;
    run r = {.engine = engine, .alpha = alpha, .n = n};
    if (!(seconds > 0.0 && seconds <= 1e9))
        SPEC_TRY(spec_fail(error, GSL_EDOM, "windows of %g s are outside (0,1e9]", seconds));
    SPEC_TRY(init(&r, seed, stream, error));
    memset(ret_window, 0, (size_t)n * sizeof *ret_window);
    for (int w = 0; w < n; w++) {
        for (int i = 0; i < engine->batch; i++) r.slot[i].into = &ret_window[w];
        while (r.now < (w + 1) * seconds) step(&r);
        ret_window[w].seconds = seconds;
    }
done:
    run_free(&r);
    return status;
}

int spec_engine_counters_steps(spec_engine_counters *ret_window, int n, int steps,
                               const spec_counted_engine *engine, const spec_alpha_law *alpha,
                               uint64_t seed, uint64_t stream, spec_error *error)
{
    int status = GSL_SUCCESS;
    run r = {.engine = engine, .alpha = alpha, .n = n};
    if (steps < 1) SPEC_TRY(spec_fail(error, GSL_EDOM, "windows of %d steps", steps));
    SPEC_TRY(init(&r, seed, stream, error));
    memset(ret_window, 0, (size_t)n * sizeof *ret_window);
    for (int w = 0; w < n; w++) {
        const double from = r.now;
        for (int i = 0; i < engine->batch; i++) r.slot[i].into = &ret_window[w];
        for (int i = 0; i < steps; i++) step(&r);
        ret_window[w].seconds = r.now - from;
    }
done:
    run_free(&r);
    return status;
}

int spec_engine_counters_requests(spec_engine_counters *ret_request, int n,
                                  const spec_counted_engine *engine, const spec_alpha_law *alpha,
                                  uint64_t seed, uint64_t stream, spec_error *error)
{
    int status = GSL_SUCCESS;
    run r = {.engine = engine, .alpha = alpha, .n = n, .request = ret_request};
    if (n > 0) memset(ret_request, 0, (size_t)n * sizeof *ret_request);
    SPEC_TRY(init(&r, seed, stream, error));
    while (r.ended < n) step(&r);
done:
    run_free(&r);
    return status;
}
