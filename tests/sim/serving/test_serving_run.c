/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"
#include "sim/chance/rng.h"
#include "sim/serving/length_kind.h"
#include "sim/serving/serving_run.h"
#include "tests/support/plain_serving.h"
#include "tests/support/serving_setup.h"
#include "tests/support/support.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- cases ----------------------------------------------------------------------------------- */

/* A choice that hashes everything it sees, so that any difference soon changes lengths. */
typedef struct {
    uint64_t hash;
    uint64_t steps;
} restless_state;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static size_t restless_size(const spec_length_choice *choice, int slots)
{
    (void)choice, (void)slots;
    return sizeof(restless_state);
}

static uint64_t hash_of(uint64_t hash, const spec_step_batch *batch)
{
    hash = mix(hash, (uint64_t)batch->n);
    hash = mix(hash, (uint64_t)batch->fixed.prompt_tokens);
    hash = mix(hash, (uint64_t)batch->fixed.kv_tokens);
    return mix(hash, (uint64_t)batch->fixed.decoding);
}

static int restless_choose(const spec_length_choice *choice, void *state,
                           const spec_step_batch *batch, int32_t *ret_K)
{
    restless_state *s = state;
    s->hash = hash_of(mix(s->hash, s->steps++), batch);
    for (int i = 0; i < batch->n; i++) {
        uint32_t alpha;
        memcpy(&alpha, &batch->alpha[i], sizeof alpha);
        s->hash = mix(mix(s->hash, alpha), (uint64_t)batch->context[i]);
        ret_K[i] = (int32_t)(s->hash % (uint64_t)(choice->K_max + 1));
    }
    return s->hash % 3 == 0 ? (int)(s->hash / 3 % (uint64_t)(choice->K_max + 1)) : -1;
}

static void restless_observe(const spec_length_choice *choice, void *state,
                             const spec_step_batch *batch, const int32_t *K,
                             const int32_t *accepted, double seconds)
{
    restless_state *s = state;
    uint64_t bits;
    (void)choice;
    memcpy(&bits, &seconds, sizeof bits);
    s->hash = hash_of(mix(s->hash, bits), batch);
    for (int i = 0; i < batch->n; i++)
        s->hash = mix(mix(s->hash, (uint64_t)K[i]), (uint64_t)accepted[i]);
}

static int by_size_choose(const spec_length_choice *choice, void *state,
                          const spec_step_batch *batch, int32_t *ret_K)
{
    (void)state, (void)ret_K;
    return (int)(hash_of(0, batch) % (uint64_t)(choice->K_max + 1));
}

static int fixed_choose(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                        int32_t *ret_K)
{
    (void)state, (void)batch, (void)ret_K;
    return choice->K_max;
}

static const spec_length_kind kinds[] = {
    {.name = "fixed", .choose = fixed_choose},
    {.name = "by size", .choose = by_size_choose},
    {.name = "restless",
     .reads = true,
     .reads_context = true,
     .state_size = restless_size,
     .choose = restless_choose,
     .observe = restless_observe},
    {.name = "restless drafts all",
     .reads = true,
     .reads_context = true,
     .drafts_all = true,
     .state_size = restless_size,
     .choose = restless_choose,
     .observe = restless_observe},
};

enum { LISTS = 3 };
static const int8_t length[] = {0, 2, 1, 5, 0, 3, 3, 7, 1};
static const int64_t first[LISTS + 1] = {0, 1, 4, 9};

typedef struct {
    drawn_requests requests;
    spec_length_choice lengths;
    spec_accepted_lengths accepted;
    spec_context_steps alpha;
    spec_step_cost *cost;
    spec_serving_plan plan;
} serving_case;

static int below(spec_rng_state *rng, int n)
{
    return (int)(spec_rng_next_double(rng) * n);
}

static bool with_chance(spec_rng_state *rng, double chance)
{
    return spec_rng_next_double(rng) < chance;
}

/* Makes a plan with some features, small enough for the plain engine. */
static void case_init(serving_case *c, uint64_t seed)
{
    static const char *const target[] = {"step=7ms,token=21us", "step=7ms,token=21us,kv=39us",
                                         "step=0,token=1ms"};
    static const char *const draft[] = {"round=0", "round=2ms,pass=1ms,token=3us", "pass=2ms"};
    spec_rng_state rng = spec_rng_stream_state(spec_rng_named_seed(seed, "cases"), 0);
    spec_error error = {""};
    *c = (serving_case){0};
    if (spec_step_cost_create(&c->cost, target[below(&rng, 3)], draft[below(&rng, 3)], &error))
        fail_msg("%s", error.text);
    const bool prompts = with_chance(&rng, 0.6);
    const int longest = 1 + below(&rng, with_chance(&rng, 0.5) ? 12 : 90);
    c->requests = (drawn_requests){
        .rate = with_chance(&rng, 0.8) ? 1.0 + below(&rng, 60) : 0.0,
        .prompt = {0, prompts ? below(&rng, 200) : 0},
        .output = {with_chance(&rng, 0.3) ? longest : 1, longest},
        .alpha = {with_chance(&rng, 0.3) ? 1.0 : 0.6, with_chance(&rng, 0.3) ? 0.6 : 1.0},
        .without_prompt = with_chance(&rng, 0.3) ? 0.3 : 0.0,
        .replays = with_chance(&rng, 0.2) ? LISTS : 0,
        .most = with_chance(&rng, 0.5) ? 400 : 0,
        .begun = with_chance(&rng, 0.3) ? (uint64_t)below(&rng, 30) : 0,
    };
    if (c->requests.rate == 0.0) c->requests.most = 400;
    const spec_length_kind *kind = &kinds[below(&rng, 4)];
    c->lengths = (spec_length_choice){
        .kind = kind, .K_max = below(&rng, 6), .learns = kind->observe != NULL};
    c->accepted = (spec_accepted_lengths){.n = LISTS,
                                          .first = (int64_t *)first,
                                          .length = (int8_t *)length,
                                          .most = 7,
                                          .by_position = with_chance(&rng, 0.5)};
    spec_serving_plan *plan = &c->plan;
    *plan = (spec_serving_plan){
        .requests = drawn_requests_source(&c->requests),
        .cost = c->cost,
        .lengths = &c->lengths,
        .opt_accepted = c->requests.replays > 0 ? &c->accepted : NULL,
        .place = with_chance(&rng, 0.5) ? SPEC_DRAFT_SAME : (spec_draft_place)below(&rng, 4),
        .guess = 0.8,
        .miss_rides = with_chance(&rng, 0.5),
        .stay = with_chance(&rng, 0.3) ? 0.7 : 0.0,
        .asynchronous = with_chance(&rng, 0.2),
        .closed = with_chance(&rng, 0.3),
        .slots = 1 + below(&rng, with_chance(&rng, 0.5) ? 8 : 200),
        .block = 1 + below(&rng, 20),
        .warm = with_chance(&rng, 0.7) ? (uint64_t)below(&rng, 100) : 0,
        .measured = c->requests.most > 0 && with_chance(&rng, 0.3) ? UINT64_MAX : 300,
        .keep_every = 1,
    };
    if (plan->closed && c->requests.most == 0 && plan->measured == UINT64_MAX) plan->measured = 300;
    if (with_chance(&rng, 0.4)) plan->budget = c->lengths.K_max + 1 + below(&rng, 300);
    if (with_chance(&rng, 0.4)) plan->chunk = 1 + below(&rng, 100);
    if (with_chance(&rng, 0.5)) {
        const int tokens = c->requests.prompt[1] + longest + c->lengths.K_max;
        plan->blocks = (tokens + plan->block - 1) / plan->block;
        plan->blocks += below(&rng, (int)plan->blocks * 6);
    }
    if (with_chance(&rng, 0.3)) {
        c->alpha = (spec_context_steps){
            3, {0, 1 + below(&rng, 9), 10 + below(&rng, 99)}, {0.9, 0.27, 0.61}};
        plan->opt_alpha = &c->alpha;
    }
    if (plan->place <= SPEC_DRAFT_SEPARATE && with_chance(&rng, 0.5))
        plan->cache = (spec_draft_cache)below(&rng, 4);
}

static void case_free(serving_case *c)
{
    spec_step_cost_free(c->cost);
}

/* ---- two routes ------------------------------------------------------------------------------ */

static void assert_same_times(const float *a, const float *b, uint64_t n, const char *what, int i)
{
    if (n > 0 && memcmp(a, b, n * sizeof *a) != 0) fail_msg("case %d: %s differ", i, what);
}

static void assert_same_result(const spec_serving_result *a, const spec_serving_result *b, int i)
{
    const size_t words = sizeof a->sums / 8;
    for (size_t w = 0; w < words; w++) {
        const char *at_a = (const char *)&a->sums + 8 * w, *at_b = (const char *)&b->sums + 8 * w;
        double x, y;
        int64_t m, n;
        if (memcmp(at_a, at_b, 8) == 0) continue;
        memcpy(&x, at_a, 8), memcpy(&y, at_b, 8);
        memcpy(&m, at_a, 8), memcpy(&n, at_b, 8);
        fail_msg("case %d: word %zu of the sums: %.17g, %.17g (%lld, %lld)", i, w, x, y,
                 (long long)m, (long long)n);
    }
    assert_true(a->n == b->n);
    assert_same_times(a->first_token, b->first_token, a->n, "first_token", i);
    assert_same_times(a->per_token, b->per_token, a->n, "per_token", i);
    assert_same_times(a->latency, b->latency, a->n, "latency", i);
    if (a->n > 0) assert_memory_equal(a->request, b->request, a->n * sizeof *a->request);
    assert_true(a->early == b->early && a->late == b->late && a->grew == b->grew);
}

TEST(equals_the_plain_engine_bit_for_bit, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    const int cases = (int)spec_test_samples(400);
    int preempted = 0;
    for (int i = 0; i < cases; i++) {
        serving_case c;
        spec_serving_result fast, plain;
        spec_error error = {""};
        case_init(&c, seed + (uint64_t)i);
        const int isa = i % ((int)spec_cpu_best_isa() + 1);
        assert_true(spec_cpu_limit(spec_cpu_isa_name((spec_isa)isa), NULL) == GSL_SUCCESS);
        if (spec_serving_run(&fast, &c.plan, seed, (uint64_t)i, NULL, &error) != GSL_SUCCESS)
            fail_msg("case %d: %s", i, error.text);
        plain = plain_serving_run(&c.plan, seed, (uint64_t)i);
        assert_same_result(&fast, &plain, i);
        preempted += fast.sums.preempted > 0;
        spec_serving_result_free(&fast);
        spec_serving_result_free(&plain);
        case_free(&c);
    }
    spec_cpu_limit(NULL, NULL);
    assert_true(preempted > cases / 10);
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* A run without times. */
static spec_serving_result run(const spec_serving_plan *plan)
{
    OWNED(spec_serving_result) result;
    assert_works(spec_serving_run(&result, plan, 42, 0, NULL, &error));
    const spec_serving_result numbers = result;
    return numbers;
}

/* One slot with 20 steps of 50 ms per request serves one request/s. */
TEST(loads_above_capacity_are_reported, SLOW)
{
    static const struct {
        double rate;
        bool grows;
    } row[] = {{0.5, false}, {0.9, false}, {0.98, false}, {1.1, true}, {1.5, true}, {1e9, true}};
    for (int i = 0; i < 6; i++) {
        serving_setup s;
        serving_setup_init(&s, "step=50ms", "round=0", "fixed?K=0", 20, 0.5);
        s.requests.rate = row[i].rate;
        s.plan.closed = false;
        s.plan.warm = 1000;
        s.plan.measured = 20000;
        const spec_serving_result result = run(&s.plan);
        serving_setup_free(&s);
        assert_true(result.grew == row[i].grows);
    }
}

TEST(a_burst_is_no_overload)
{
    OWNED(serving_setup) s;
    serving_setup_init(&s, "step=50ms", "round=0", "fixed?K=0", 2, 0.5);
    s.requests.most = 100000;
    s.plan.closed = false;
    s.plan.warm = 0;
    s.plan.measured = UINT64_MAX;
    const spec_serving_result result = run(&s.plan);
    assert_true(result.n == 100000 && !result.grew);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void assert_refused(const serving_setup *s, const char *text)
{
    spec_serving_result result;
    spec_error error = {""};
    assert_int_equal(spec_serving_run(&result, &s->plan, 42, 0, NULL, &error), GSL_EINVAL);
    if (strstr(error.text, text) == NULL) fail_msg("'%s' does not say '%s'", error.text, text);
    assert_true(result.n == 0 && result.latency == NULL && result.sums.steps == 0);
}

TEST(plans_outside_the_domain_are_errors)
{
    serving_setup s;
    serving_setup_init(&s, "step=50ms", "round=0", "fixed?K=3", 20, 0.5);
    spec_serving_plan good = s.plan;
#define REFUSED(change, text)                                                                      \
    do {                                                                                           \
        s.plan = good;                                                                             \
        s.plan.change;                                                                             \
        assert_refused(&s, text);                                                                  \
    } while (0)
    REFUSED(slots = 0, "slots 0");
    REFUSED(slots = INT_MAX, "closed loop");
    REFUSED(block = 0, "block 0");
    REFUSED(measured = 0, "measured");
    REFUSED(blocks = -1, "blocks -1");
    REFUSED(budget = -1, "budget -1");
    REFUSED(chunk = -1, "chunk -1");
    REFUSED(budget = 3, "budget 3 is below the 4 tokens of a round with K = 3");
    REFUSED(stay = 1.0, "correlation of rounds 1");
    REFUSED(stay = NAN, "correlation of rounds");
    REFUSED(guess = 1.5, "guess 1.5");
    good.place = SPEC_DRAFT_AHEAD;
    REFUSED(cache = SPEC_CACHE_FED, "drafts in turn with the target");
    good.place = SPEC_DRAFT_SAME;
    REFUSED(blocks = 1, "need 2 KV blocks of 1"); /* 20 + 3 tokens, blocks of 16 */
#undef REFUSED
    serving_setup_free(&s);
}

TEST(requests_outside_the_domain_are_errors)
{
    static const spec_request wrong[] = {
        {.prompt = -1, .output = 1},      {.output = 0},
        {.output = 1, .alpha = NAN},      {.output = 1, .alpha = 1.5f},
        {.output = 1, .arrival = NAN},    {.output = 1, .arrival = INFINITY},
        {.prompt = INT_MAX, .output = 1}, {.output = INT_MAX},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const spec_request requests[] = {{.output = 3, .replay = -1}, wrong[i]};
        OWNED(serving_setup) s;
        serving_setup_init(&s, "step=50ms", "round=0", "fixed?K=3", 20, 0.5);
        serving_setup_list(&s, requests, 2);
        assert_refused(&s, "request 2");
    }
}

TEST(a_source_that_ends_within_the_warm_up_is_an_error)
{
    OWNED(serving_setup) s;
    serving_setup_init(&s, "step=50ms", "round=0", "fixed?K=3", 20, 0.5);
    s.requests.most = 50;
    assert_refused(&s, "50 requests end within a warm-up of 100");
    s.requests.most = 150; /* fewer requests than `measured` give no result */
    const spec_serving_result result = run(&s.plan);
    assert_true(result.n == 50);
}

TEST(a_run_stops_when_told)
{
    const volatile int stop = 1;
    spec_serving_result result;
    OWNED(serving_setup) s;
    serving_setup_init(&s, "step=50ms", "round=0", "fixed?K=3", 20, 0.5);
    assert_fails(spec_serving_run(&result, &s.plan, 42, 0, &stop, &error), GSL_EFAILED,
                 "interrupted");
}
