/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_text.h"
#include "models/transform.h"
#include "sim/chance/rng.h"
#include "sim/verify/verify.h"
#include "speclab/speclab.h"
#include "tests/support/support.h"
#include "tests/tools/validate/validation.h"
#include "tools/validate/validate_report.h"

#include <pthread.h>
#include <string.h>

static speclab *lab;

static int errors; /* calls of GSL's error handler, which would end a program */
static void count_error(const char *reason, const char *file, int line, int number)
{
    (void)reason, (void)file, (void)line, (void)number;
    errors++;
}

static int open_lab(void **state)
{
    (void)state;
    gsl_set_error_handler(count_error);
    const speclab_options options = {.size = sizeof options, .threads = 2};
    return speclab_open(&lab, &options, NULL, 0);
}

static int close_lab(void **state)
{
    (void)state;
    speclab_close(lab);
    return errors;
}

static const spec_sampler_about chains = {.size = sizeof chains,
                                          .name = "mine",
                                          .scopes = SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT,
                                          .padding = 1,
                                          .seeded = 1};

static const char *const few[] = {"plain-4", "shorter-4", "batch-3", "blind-64", NULL};

/* ---- a sampler ------------------------------------------------------------------------------- */

/* The token rule on one round, from rows as double; returns n_emitted. */
static int32_t verify(const speclab_batch *b, int i, gsl_rng *rng, bool wrong)
{
    const size_t V = (size_t)b->vocab, places = (size_t)b->n_nodes + 1, at = (size_t)i;
    const int32_t *token = b->token != NULL ? b->token + at * (places - 1) : NULL;
    double row[2][4096];
    int n = 0;
    spec_rng_stream(rng, b->seed[i], b->offset[i]);
    spec_chance chance = spec_chance_sampled(rng);
    int32_t *ret = b->ret_token + at * places;
    int32_t drafted[64];
    const float *draft = b->draft != NULL ? b->draft + at * places * V : NULL;
    const float *target = b->target + at * places * V;
    for (; n < b->length[i] && (token == NULL || token[n] >= 0); n++) {
        for (size_t x = 0; x < V && token == NULL; x++)
            row[1][x] = (double)draft[(size_t)n * V + x];
        drafted[n] = token != NULL ? token[n] : spec_chance_pick(&chance, row[1], b->vocab);
        if (b->ret_draft != NULL) b->ret_draft[at * (places - 1) + (size_t)n] = drafted[n];
    }
    for (int k = 0; k <= n; k++) {
        double sum = 0.0;
        for (size_t x = 0; x < V; x++) row[0][x] = (double)target[(size_t)k * V + x];
        if (k == n) {
            ret[k] = spec_chance_pick(&chance, row[0], b->vocab);
            return k + 1;
        }
        for (size_t x = 0; x < V; x++)
            row[1][x] = draft != NULL ? (double)draft[(size_t)k * V + x] : x == (size_t)drafted[k];
        if (spec_chance_accept(&chance, row[0][drafted[k]], row[1][drafted[k]])) {
            ret[k] = drafted[k];
            continue;
        }
        for (size_t x = 0; x < V && !wrong; x++) {
            row[1][x] = fmax(row[0][x] - row[1][x], 0.0);
            sum += row[1][x];
        }
        ret[k] = spec_chance_pick(&chance, row[sum > 0.0], b->vocab);
        return k + 1;
    }
    return 0;
}

/* What the sampler does, what it has counted, and the stop flag that it sets. */
typedef struct {
    bool wrong;
    int32_t fail_after; /* batches; 0: never */
    int32_t batches;
    int32_t emits; /* reported n_emitted, if not 0 */
    bool silent;   /* writes nothing */
    volatile int stop;
    bool waits; /* for the stop */
} behaviour;

/* Places after a draft have token -1 and rows of 0, in every scope and batch. */
static void check_unused_places(const speclab_batch *b)
{
    const size_t V = (size_t)b->vocab, places = (size_t)b->n_nodes + 1;
    for (size_t i = 0; i < (size_t)b->n; i++) {
        assert_in_range(b->length[i], 0, b->n_nodes);
        for (size_t k = (size_t)b->length[i]; k + 1 < places; k++) {
            if (b->token != NULL) assert_int_equal(b->token[i * (places - 1) + k], -1);
            assert_true(b->target[(i * places + k + 1) * V] == 0.0f);
        }
    }
}

static int32_t batch(void *self, const speclab_batch *b)
{
    behaviour *s = self;
    if (!s->silent) check_unused_places(b);
    gsl_rng *rng = spec_rng_alloc();
    assert_int_equal(b->size, sizeof *b);
    const int32_t n = __atomic_add_fetch(&s->batches, 1, __ATOMIC_RELAXED);
    while (s->waits && !s->stop) {
        struct timespec some = {.tv_nsec = 1000000};
        nanosleep(&some, NULL);
    }
    for (int i = 0; i < b->n && !s->silent; i++) {
        const int32_t emitted = verify(b, i, rng, s->wrong);
        b->ret_n_emitted[i] = s->emits != 0 ? s->emits : emitted;
    }
    gsl_rng_free(rng);
    return s->fail_after > 0 && n > s->fail_after ? 7 : 0;
}

static const char *why(void *self)
{
    (void)self;
    return "no more coffee";
}

static speclab_sampler sampler_of(behaviour *s)
{
    return (speclab_sampler){
        .size = sizeof(speclab_sampler), .about = &chains, .batch = batch, .error = why, .self = s};
}

static speclab_validation *validate(behaviour *s, bool parallel, uint64_t draws)
{
    char error[512];
    speclab_validation *v;
    speclab_sampler sampler = sampler_of(s);
    sampler.parallel = parallel;
    const speclab_validate_options options = {
        .size = sizeof options, .draws = draws, .only = few, .no_hints = 1};
    if (speclab_validate(&v, lab, &sampler, &options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    return v;
}

TEST(a_right_sampler_passes_and_a_wrong_one_fails)
{
    behaviour right = {.wrong = false}, wrong = {.wrong = true};
    speclab_validation *v = validate(&right, false, 400000);
    assert_int_equal(speclab_validation_verdict(v), SPECLAB_PASS);
    assert_non_null(strstr(speclab_validation_json(v), "\"verdict\": \"PASS\""));
    speclab_validation_free(v);
    v = validate(&wrong, false, 400000);
    assert_int_equal(speclab_validation_verdict(v), SPECLAB_FAIL);
    assert_true(speclab_validation_reason(v)[0] != '\0');
    assert_non_null(strstr(speclab_validation_json(v), "\"reproducer\": {"));
    assert_null(strstr(speclab_validation_json(v), "speclab validate"));
    speclab_validation_free(v);
}

/* Every second request of a call uses 1 - u, where u is the number of the request before it. */
static int32_t mirror(void *self, const speclab_batch *b)
{
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    const size_t places = (size_t)b->n_nodes + 1;
    double u = 0.0;
    (void)self;
    for (int32_t i = 0; i < b->n; i++) {
        const float *row = b->target + (size_t)i * places * (size_t)b->vocab;
        spec_rng_stream(rng, b->seed[i], b->offset[i]);
        u = i % 2 == 1 ? 1.0 - u : gsl_rng_uniform(rng);
        double rest = u;
        int32_t x = 0;
        while (x < b->vocab - 1 && (rest -= (double)row[x]) >= 0.0) x++;
        b->ret_token[(size_t)i * places] = x;
        b->ret_n_emitted[i] = 1;
    }
    gsl_rng_free(rng);
    return 0;
}

TEST(dependent_requests_have_a_verdict_and_an_option)
{
    static const char *const only[] = {"plain-4", NULL};
    static const spec_sampler_about about = {
        .size = sizeof about, .name = "mirror", .scopes = SPEC_SCOPE_VERIFY};
    const speclab_sampler sampler = {.size = sizeof sampler, .about = &about, .batch = mirror};
    for (int declared = 0; declared < 2; declared++) {
        const speclab_validate_options options = {
            .size = sizeof options, .draws = 200000, .only = only, .dependent_requests = declared};
        speclab_validation *v;
        assert_int_equal(speclab_validate(&v, lab, &sampler, &options, NULL, 0), SPECLAB_OK);
        assert_int_equal(speclab_validation_verdict(v),
                         declared ? SPECLAB_PASS : SPECLAB_DEPENDENT);
        speclab_validation_free(v);
    }
}

TEST(threads_give_the_same_report)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        behaviour s = {.wrong = wrong};
        speclab_validation *one = validate(&s, false, 200000), *two = validate(&s, true, 200000);
        assert_string_equal(speclab_validation_json(one), speclab_validation_json(two));
        speclab_validation_free(one);
        speclab_validation_free(two);
    }
}

TEST(the_options_choose_seed_and_hints)
{
    const uint64_t seeds[] = {42, 7};
    behaviour s = {.wrong = true};
    const speclab_sampler sampler = sampler_of(&s);
    speclab_validation *v[3], *usual = validate(&s, false, 200000); /* without hints */
    for (int i = 0; i < 3; i++) {
        const speclab_validate_options options = {.size = sizeof options,
                                                  .draws = 200000,
                                                  .seed = &seeds[i % 2],
                                                  .only = few,
                                                  .no_hints = i < 2};
        assert_int_equal(speclab_validate(&v[i], lab, &sampler, &options, NULL, 0), SPECLAB_OK);
    }
    const char *json = speclab_validation_json(usual);
    assert_string_equal(speclab_validation_json(v[0]), json);
    assert_string_not_equal(speclab_validation_json(v[1]), json);
    assert_non_null(strstr(json, "\"hints\": []"));
    assert_null(strstr(speclab_validation_json(v[2]), "\"hints\": []"));
    for (int i = 0; i < 3; i++) speclab_validation_free(v[i]);
    speclab_validation_free(usual);
}

/* The rule of speclab's own makes the same decisions, so its report differs only in its names. */
TEST(the_report_is_that_of_the_same_rule_in_the_program)
{
    behaviour s = {.wrong = false};
    spec_validation program;
    spec_validate_plan plan = plan_of(200000, 1, few);
    plan.scopes = chains.scopes;
    run(&program, "rule:token", &plan);
    speclab_validation *v = validate(&s, false, 200000);
    const char *json = speclab_validation_json(v), *results = strstr(json, "\"results\"");
    spec_memory_text text;
    assert_true(spec_memory_text_open(&text));
    assert_int_equal(spec_validate_report_json(&program, text.out, NULL), GSL_SUCCESS);
    char *its = spec_memory_text_take(&text, NULL);
    assert_non_null(results);
    assert_string_equal(results, strstr(its, "\"results\""));
    assert_int_equal(speclab_validation_verdict(v), program.verdict);
    free(its);
    spec_validation_free(&program);
    speclab_validation_free(v);
}

/* ---- wrong answers --------------------------------------------------------------------------- */

TEST(impossible_counts_fail_with_their_reason)
{
    const int32_t emits[] = {-1, 99, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++) {
        behaviour s = {.emits = emits[i]};
        speclab_validation *v = validate(&s, false, 100000);
        assert_int_equal(speclab_validation_verdict(v), SPECLAB_FAIL);
        speclab_validation_free(v);
    }
    behaviour silent = {.silent = true};
    speclab_validation *v = validate(&silent, false, 100000);
    assert_int_equal(speclab_validation_verdict(v), SPECLAB_FAIL);
    assert_non_null(strstr(speclab_validation_json(v), "it did not fill in its output"));
    speclab_validation_free(v);
}

TEST(a_failing_callback_ends_the_run_with_its_line, SLOW)
{
    for (int32_t after = 1; after <= 40; after += 39) {
        char error[512];
        behaviour s = {.fail_after = after};
        const speclab_sampler sampler = sampler_of(&s);
        speclab_validation *v = (speclab_validation *)&s;
        assert_int_equal(speclab_validate(&v, lab, &sampler, NULL, error, sizeof error),
                         SPECLAB_FAILED);
        assert_null(v);
        assert_string_equal(error, "the sampler's step returned 7: no more coffee");
        assert_int_equal(s.batches, after + 1);
    }
}

/* Sets the stop flag once the callback has been called; returns the number of calls until then. */
static void *stop_soon(void *self)
{
    behaviour *s = self;
    const struct timespec some = {.tv_nsec = 1000000};
    while (__atomic_load_n(&s->batches, __ATOMIC_RELAXED) == 0) nanosleep(&some, NULL);
    s->stop = 1;
    return (void *)(intptr_t)__atomic_load_n(&s->batches, __ATOMIC_RELAXED);
}

/* Runs until a stop; returns the number of calls after it. */
static int stopped(behaviour *s, speclab_validate_options options)
{
    char error[512];
    const speclab_sampler sampler = sampler_of(s);
    options.size = sizeof options;
    options.opt_stop = &s->stop;
    speclab_validation *v;
    pthread_t thread;
    void *before;
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, s), 0);
    assert_int_equal(speclab_validate(&v, lab, &sampler, &options, error, sizeof error),
                     SPECLAB_STOPPED);
    pthread_join(thread, &before);
    assert_null(v);
    assert_string_equal(error, "interrupted");
    return s->batches - (int)(intptr_t)before;
}

TEST(a_stop_ends_a_run_whose_callback_watches_it)
{
    stopped(&(behaviour){.waits = true}, (speclab_validate_options){0});
}

TEST(a_stop_ends_a_run_of_any_budget)
{
    const char *const only[] = {"plain-4", NULL};
    const speclab_validate_options options = {.only = only, .draws = 1000000000000000};
    assert_in_range(stopped(&(behaviour){0}, options), 0, 10);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Plain decoding: lossless. With `wrong`, it takes the draft's rows. */
static int32_t generate(void *self, const spec_models *models, const int32_t *context,
                        int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                        int32_t *ret_token, int64_t n_tokens)
{
    const behaviour *s = self;
    gsl_rng *rng = spec_rng_alloc();
    spec_chance chance = spec_chance_sampled(rng);
    double row[4096];
    (void)context, (void)K, (void)sampling;
    assert_int_equal(n_context, 0);
    spec_rng_stream(rng, seed, 0);
    for (int64_t n = 0; n < n_tokens; n++) {
        const float *given =
            (s->wrong ? models->draft : models->target)(models->self, ret_token, n);
        for (int x = 0; x < models->vocab; x++) row[x] = (double)given[x];
        ret_token[n] = spec_chance_pick(&chance, row, models->vocab);
    }
    gsl_rng_free(rng);
    return 0;
}

TEST(texts_are_validated_too)
{
    static const spec_sampler_about texts = {
        .size = sizeof texts, .name = "texts", .scopes = SPEC_SCOPE_STREAM, .seeded = 1};
    const char *const only[] = {"plain-4", NULL};
    for (int wrong = 0; wrong < 2; wrong++) {
        char error[512];
        behaviour s = {.wrong = wrong};
        const speclab_sampler sampler = {
            .size = sizeof sampler, .about = &texts, .generate = generate, .self = &s};
        const speclab_validate_options options = {
            .size = sizeof options, .draws = 200000, .only = only, .no_hints = 1};
        speclab_validation *v;
        if (speclab_validate(&v, lab, &sampler, &options, error, sizeof error) != SPECLAB_OK)
            fail_msg("%s", error);
        assert_int_equal(speclab_validation_verdict(v), wrong ? SPECLAB_FAIL : SPECLAB_PASS);
        speclab_validation_free(v);
    }
}

/* ---- wrong inputs ---------------------------------------------------------------------------- */

static void refused(const speclab_sampler *sampler, const speclab_validate_options *options,
                    const char *line)
{
    char error[512];
    speclab_validation *v = (speclab_validation *)&error;
    assert_int_equal(speclab_validate(&v, lab, sampler, options, error, sizeof error),
                     SPECLAB_INPUT);
    assert_null(v);
    if (strstr(error, line) == NULL) fail_msg("'%s' does not contain '%s'", error, line);
}

TEST(wrong_inputs_are_refused)
{
    behaviour s = {.wrong = false};
    const char *const unknown[] = {"plain-5", NULL};
    spec_sampler_about about = chains;
    speclab_sampler sampler = sampler_of(&s);
    speclab_validate_options o = {.size = sizeof o, .false_alarm_rate = 0.7};
    refused(NULL, NULL, "sampler is NULL");
    refused(&sampler, &o, "false_alarm_rate must be above 0 and below 0.5, got 0.7");
    o = (speclab_validate_options){.size = sizeof o, .eps = NAN};
    refused(&sampler, &o, "eps must be above 0 and below 1, got nan");
    o = (speclab_validate_options){.size = sizeof o, .power = -1.0};
    refused(&sampler, &o, "power must be above 0 and below 1, got -1");
    o = (speclab_validate_options){.size = sizeof o, .power = 1e-9};
    refused(&sampler, &o, "power must be above false_alarm_rate, 1e-06, got 1e-09");
    o = (speclab_validate_options){.size = sizeof o, .seconds = INFINITY};
    refused(&sampler, &o, "seconds must be above 0 and below 1e+09, got inf");
    o = (speclab_validate_options){.size = sizeof o, .scopes = 8};
    refused(&sampler, &o, "scopes must be a sum of SPEC_SCOPE_*, got 0x8");
    o = (speclab_validate_options){.size = sizeof o, .only = unknown};
    refused(&sampler, &o, "plain-5");
    o = (speclab_validate_options){.size = 12};
    refused(&sampler, &o, "the size of speclab_validate_options is 12");
    sampler.about = NULL;
    refused(&sampler, NULL, "about of speclab_sampler is NULL");
    sampler.about = &about;
    about.size = 0;
    refused(&sampler, NULL, "the size of spec_sampler_about is 0");
    about = chains;
    about.scopes |= SPEC_SCOPE_STREAM;
    refused(&sampler, NULL, "scope S needs generate");
    about.scopes = 0;
    refused(&sampler, NULL, "its scopes are 0");
    about = chains;
    sampler.batch = NULL;
    refused(&sampler, NULL, "scope V or DV needs batch");
    sampler.size = 1;
    refused(&sampler, NULL, "the size of speclab_sampler is 1");
    assert_int_equal(speclab_validation_verdict(NULL), SPECLAB_INCONCLUSIVE);
    assert_string_equal(speclab_validation_json(NULL), "");
    assert_string_equal(speclab_validation_reason(NULL), "");
    speclab_validation_free(NULL);
}

SUITE(.setup = open_lab, .teardown = close_lab);
