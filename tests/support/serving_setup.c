/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/serving_setup.h"

#include "sim/chance/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const drawn_requests *requests;
    spec_rng_state rng;
    double now;
    uint64_t n;
} cursor;

static void *begin(const void *self, uint64_t seed, uint64_t stream)
{
    cursor *c = malloc(sizeof *c);
    if (c == NULL) return NULL;
    *c = (cursor){.requests = self,
                  .rng = spec_rng_stream_state(spec_rng_named_seed(seed, "requests"), stream)};
    return c;
}

static int between(cursor *c, const int range[2])
{
    return range[0] + (int)(spec_rng_next_double(&c->rng) * (range[1] - range[0] + 1));
}

static bool next(void *self, spec_request *ret)
{
    cursor *c = self;
    const drawn_requests *r = c->requests;
    if (r->most > 0 && c->n == r->most) return false;
    c->n++;
    const bool begun = c->n <= r->begun;
    if (r->rate > 0.0 && !begun) c->now -= log1p(-spec_rng_next_double(&c->rng)) / r->rate;
    *ret = (spec_request){
        .arrival = c->now,
        .prompt = between(c, r->prompt),
        .output = between(c, r->output),
        .alpha = (float)(r->alpha[0] + spec_rng_next_double(&c->rng) * (r->alpha[1] - r->alpha[0])),
        .replay = -1,
        .begun = begun,
    };
    if (spec_rng_next_double(&c->rng) < r->without_prompt) ret->prompt = 0;
    if (r->replays > 0) ret->replay = between(c, (const int[2]){-1, r->replays - 1});
    return true;
}

spec_request_source drawn_requests_source(const drawn_requests *requests)
{
    return (spec_request_source){requests, begin, next, free};
}

typedef struct {
    const listed_requests *requests;
    int n;
} place;

static void *begin_list(const void *self, uint64_t seed, uint64_t stream)
{
    (void)seed, (void)stream;
    place *p = malloc(sizeof *p);
    if (p != NULL) *p = (place){.requests = self};
    return p;
}

static bool next_of_list(void *self, spec_request *ret)
{
    place *p = self;
    if (p->n == p->requests->n) return false;
    *ret = p->requests->request[p->n++];
    return true;
}

spec_request_source listed_requests_source(const listed_requests *requests)
{
    return (spec_request_source){requests, begin_list, next_of_list, free};
}

void serving_setup_init(serving_setup *s, const char *target, const char *draft,
                        const char *lengths, int output, double alpha)
{
    spec_error error = {""};
    *s = (serving_setup){.requests = {.output = {output, output}, .alpha = {alpha, alpha}}};
    if (spec_step_cost_create(&s->cost, target, draft, &error) != GSL_SUCCESS ||
        spec_length_choice_create(&s->lengths, lengths, s->cost, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    s->plan = (spec_serving_plan){
        .requests = drawn_requests_source(&s->requests),
        .cost = s->cost,
        .lengths = s->lengths,
        .closed = true,
        .slots = 1,
        .block = 16,
        .warm = 100,
        .measured = 300,
    };
}

void serving_setup_list(serving_setup *s, const spec_request *request, int n)
{
    s->listed = (listed_requests){request, n};
    s->plan.requests = listed_requests_source(&s->listed);
    s->plan.closed = false;
    s->plan.warm = 0;
    s->plan.measured = UINT64_MAX;
    s->plan.keep_every = 1;
}

void serving_setup_free(serving_setup *s)
{
    spec_length_choice_free(s->lengths);
    spec_step_cost_free(s->cost);
}

spec_serving_sums serving_setup_sums(const serving_setup *s, uint64_t seed, uint64_t stream)
{
    OWNED(spec_serving_result) result;
    assert_works(spec_serving_run(&result, &s->plan, seed, stream, NULL, &error));
    const spec_serving_sums sums = result.sums;
    return sums;
}
