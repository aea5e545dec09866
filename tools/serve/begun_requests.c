/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/begun_requests.h"

#include "analysis/capped_geometric.h"
#include "sim/chance/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

/* Fractions already emitted are multiples of the golden ratio, which spreads them evenly: slots
 * with equal requests then complete one after another. */
static const double golden_ratio = 0.6180339887498949;

typedef struct {
    const spec_begun_requests *of;
    void *inner, *by_length;
    gsl_rng *rng;
    double part;       /* fraction that the next begun request has emitted */
    int age;           /* requests are drawn from this many units before time 0 */
    /* requests of this age, or if CLOSED the begun requests; how many of them were drawn */
    unsigned n, drawn;
} cursor;

static void end(void *self)
{
    cursor *at = self;
    if (at->inner != NULL) at->of->inner.end(at->inner);
    if (at->by_length != NULL) at->of->by_length.end(at->by_length);
    gsl_rng_free(at->rng);
    free(at);
}

static void draw_number(cursor *at)
{
    const spec_begun_requests *of = at->of;
    at->n = of->slots > 0 ? (unsigned)of->slots : gsl_ran_poisson(at->rng, of->mean);
    at->drawn = 0;
}

static void *begin(const void *self, uint64_t seed, uint64_t stream)
{
    const spec_begun_requests *of = self;
    const uint64_t own = spec_rng_named_seed(seed, "begun requests");
    cursor *at = calloc(1, sizeof *at);
    if (at == NULL) return NULL;
    at->of = of;
    at->rng = spec_rng_alloc();
    at->inner = of->inner.begin(of->inner.self, seed, stream);
    at->by_length = of->by_length.begin(of->by_length.self, own, stream);
    if (at->rng == NULL || at->inner == NULL || at->by_length == NULL) {
        end(at);
        return NULL;
    }
    spec_rng_stream(at->rng, own, stream);
    at->part = gsl_rng_uniform(at->rng);
    draw_number(at);
    return at;
}

/* Returns the time of a step at a context, relative to the mean step. */
static double stretch(const spec_begun_requests *of, double context)
{
    return 1.0 + of->growth * (context - of->context);
}

/* Returns the share of the output that is emitted after a share `part` of the time: steps grow
 * linearly with the context, so the time is a quadratic function of the output. */
static double emitted_share(const spec_begun_requests *of, const spec_request *request, double part)
{
    const double start = stretch(of, request->prompt), rise = 0.5 * of->growth * request->output,
                 time = part * (start + rise);
    return 2.0 * time / (start + sqrt(start * start + 4.0 * rise * time));
}

/* Returns the mean step time of the request with the longest context, in units. In a closed loop it
 * is 1, because only ratios count. */
static double longest_step(const spec_begun_requests *of)
{
    return of->slots > 0 ? of->step : of->step * stretch(of, fmax(of->most_context, of->context));
}

/* Returns false if the engine has completed it. */
static bool next_begun(cursor *at, spec_request *ret_request)
{
    const spec_begun_requests *of = at->of;
    if (!of->by_length.next(at->by_length, ret_request)) return false;
    const double tokens =
        of->tokens > 0.0 ? of->tokens : spec_capped_geometric_mean(ret_request->alpha, of->K);
    const double own = stretch(of, ret_request->prompt + 0.5 * ret_request->output),
                 most = stretch(of, fmax(of->most_context, of->context)),
                 part = (at->age + at->part) * tokens / longest_step(of) * most / own;
    at->part = fmod(at->part + golden_ratio, 1.0);
    if (part >= 1.0) return false;
    const int emitted = (int)(emitted_share(of, ret_request, part) * ret_request->output);
    ret_request->arrival = 0.0;
    ret_request->prompt += emitted;
    ret_request->output -= emitted;
    ret_request->begun = true;
    return true;
}

static bool next(void *self, spec_request *ret_request)
{
    cursor *at = self;
    const bool closed = at->of->slots > 0;
    while (at->age < longest_step(at->of)) {
        while (at->drawn < at->n) {
            const bool given = next_begun(at, ret_request);
            at->drawn += given || !closed;
            if (given) return true;
        }
        at->age++;
        if (!closed) draw_number(at);
    }
    return at->of->inner.next(at->inner, ret_request);
}

spec_request_source spec_begun_requests_source(const spec_begun_requests *requests)
{
    return (spec_request_source){requests, begin, next, end};
}
