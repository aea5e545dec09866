/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samplers whose requests are right one by one, and depend on each other within a call. */
#include "speclab/speclab.h"
#include "tests/support/support.h"
#include "tests/tools/validate/plugin_stand.h"
#include "tests/tools/validate/validation.h"
#include "tools/validate/samplers/supervisor.h"
#include "tools/validate/validate_report.h"

#include <math.h>
#include <string.h>

/* ---- a sampler ------------------------------------------------------------------------------- */

typedef enum { APART, SAME, ANTITHETIC, STRATIFIED, KINDS } dependence;
static const char *const kind_name[KINDS] = {"apart", "same", "antithetic", "stratified"};

typedef struct {
    dependence kind;
    bool wrong; /* it is wrong: its number is the square of a uniform one */
    int largest_call;
} inverse_sampler;

/* Rejects all drafts, and draws from the target by the inverse of its distribution function. */
static int32_t invert(const speclab_batch *b, int32_t i, double u)
{
    const size_t vocab = (size_t)b->vocab, places = (size_t)b->n_nodes + 1;
    const float *row = b->target + (size_t)i * places * vocab;
    int32_t last = 0;
    for (int32_t x = 0; x < b->vocab; x++) {
        if (!(row[x] > 0.0f)) continue;
        last = x;
        if ((u -= (double)row[x]) < 0.0) break;
    }
    return last;
}

static int32_t draw(void *self, const speclab_batch *b)
{
    inverse_sampler *s = self;
    double first = 0.0, before = 0.0;
    if (b->n > s->largest_call) s->largest_call = b->n;
    for (int32_t i = 0; i < b->n; i++) {
        spec_rng_state rng = spec_rng_stream_state(b->seed[i], b->offset[i]);
        const double fresh = spec_rng_next_double(&rng);
        double u = fresh;
        if (i == 0) first = spec_rng_next_double(&rng);
        if (s->kind == SAME) u = first;
        if (s->kind == ANTITHETIC && i % 2 == 1) u = 1.0 - before;
        if (s->kind == STRATIFIED) u = ((i + (int)(first * b->n)) % b->n + fresh) / b->n;
        before = u;
        b->ret_token[(size_t)i * ((size_t)b->n_nodes + 1)] = invert(b, i, s->wrong ? u * u : u);
        b->ret_n_emitted[i] = 1;
    }
    return 0;
}

static const spec_sampler_about about = {
    .size = sizeof about, .name = "inverse", .scopes = SPEC_SCOPE_VERIFY, .chains = SPEC_DRAWN_IID};

static void judge(spec_validation *v, inverse_sampler *s, spec_validate_plan *plan)
{
    const speclab_sampler sampler = {
        .size = sizeof sampler, .about = &about, .batch = draw, .self = s};
    plan->limits.opt_call = &sampler;
    run(v, kind_name[s->kind], plan);
    plan->limits.opt_call = NULL;
}

static const char *const few[] = {"two-2", "plain-4", "batch-3", NULL};

/* ---- verdicts -------------------------------------------------------------------------------- */

TEST(right_requests_that_depend_on_each_other_have_a_verdict_of_their_own)
{
    for (int kind = APART; kind < KINDS; kind++)
        for (int wrong = 0; wrong < 2; wrong++)
            for (int declared = 0; declared < 2; declared++) {
                inverse_sampler s = {.kind = (dependence)kind, .wrong = wrong};
                spec_validate_plan plan = plan_of(400000, 1, few);
                OWNED(spec_validation) v;
                plan.asks_each = true;
                plan.dependent = declared;
                judge(&v, &s, &plan);
                const spec_validate_verdict due = wrong ? SPEC_VERDICT_FAIL
                                                  : declared || kind == APART
                                                      ? SPEC_VERDICT_PASS
                                                      : SPEC_VERDICT_DEPENDENT;
                if (v.verdict != due)
                    fail_msg("%s %d %d: %s: %s", kind_name[kind], wrong, declared,
                             spec_validate_verdicts[v.verdict], v.reason);
                if (declared) assert_int_equal(s.largest_call, SPEC_VALIDATE_CALL);
                if (declared || (kind == APART && !wrong)) assert_false(v.each.asked);
                if (due == SPEC_VERDICT_DEPENDENT)
                    assert_int_equal(v.each.verdict, SPEC_VERDICT_PASS);
                if (due == SPEC_VERDICT_DEPENDENT && strstr(v.reason, "request") == NULL &&
                    strstr(v.reason, "random number") == NULL)
                    fail_msg("%s: %s", kind_name[kind], v.reason);
                if (wrong && v.each.asked) assert_int_equal(v.each.verdict, SPEC_VERDICT_FAIL);
            }
}

TEST(samplers_of_the_catalogue_are_called_dependent_too)
{
    static const char *const only[] = {"no-draft-4", "two-2", "repeats-4", NULL};
    spec_validate_plan plan = plan_of(400000, 1, only);
    plan.asks_each = true;
    plan.limits = patient;
    plan.limits.opt_options = "antithetic";
    OWNED(spec_validation) stratified;
    run(&stratified, "mutant:coins-stratified", &plan);
    assert_int_equal(stratified.verdict, SPEC_VERDICT_DEPENDENT);
    OWNED(spec_validation) antithetic;
    run(&antithetic, path_of("inventions.so"), &plan);
    assert_int_equal(antithetic.verdict, SPEC_VERDICT_DEPENDENT);
    OWNED(spec_validation) offset;
    run(&offset, "mutant:offset-forgotten", &plan); /* the rounds of one request are its text */
    assert_int_equal(offset.verdict, SPEC_VERDICT_FAIL);
    assert_true(offset.each.asked);
}

/* A run of only those tests that the user names does not show that each request is right. */
TEST(named_tests_do_not_make_a_sampler_dependent)
{
    static const char *const only[] = {"two-2", "mirror", NULL};
    inverse_sampler s = {.kind = ANTITHETIC};
    spec_validate_plan plan = plan_of(200000, 1, only);
    OWNED(spec_validation) v;
    plan.asks_each = true;
    judge(&v, &s, &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_true(v.each.suspected && !v.each.asked);
}

/* At a rate of .05 a right sampler may fail five times in 100, whatever its requests share within a
 * call. Without the declaration, every run of a dependent sampler fails. */
TEST(the_false_alarm_rate_holds_under_any_dependence_within_a_call, SLOW | STATISTICS)
{
    const int runs = (int)spec_test_samples(100);
    for (int kind = APART; kind < KINDS; kind++) {
        int failed = 0, undeclared = 0;
        double least = 1.0;
        for (int i = 0; i < runs; i++)
            for (int declared = 0; declared < 2; declared++) {
                inverse_sampler s = {.kind = (dependence)kind};
                spec_validate_plan plan = plan_of(12000, 1, few);
                OWNED(spec_validation) v;
                plan.false_alarm_rate = 0.05;
                plan.seed = spec_test_seed() + (uint64_t)i;
                plan.dependent = declared;
                judge(&v, &s, &plan);
                *(declared ? &failed : &undeclared) += v.verdict == SPEC_VERDICT_FAIL;
                if (declared) least = fmin(least, v.p);
            }
        printf("%s: %d of %d fail, least p %.2g; undeclared %d\n", kind_name[kind], failed, runs,
               least, undeclared);
        assert_true(failed <= 5 + 3 * sqrt(5.0));
        if (kind != APART)
            assert_int_equal(undeclared, runs);
        else
            assert_true(undeclared <= 5 + 3 * sqrt(5.0));
    }
}

/* ---- reports --------------------------------------------------------------------------------- */

static void says(const char *report, const char *part)
{
    if (strstr(report, part) == NULL) fail_msg("no '%s' in %s", part, report);
}

TEST(all_reports_tell_it_from_a_sampler_that_is_not_lossless)
{
    inverse_sampler s = {.kind = ANTITHETIC};
    spec_validate_plan plan = plan_of(400000, 1, few);
    OWNED(spec_validation) v;
    FREED char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    plan.asks_each = true;
    judge(&v, &s, &plan);
    v.subject = "mine";
    v.plan.limits.opt_call = NULL;
    assert_int_equal(spec_validate_report_text(&v, out, NULL), GSL_SUCCESS);
    assert_int_equal(spec_validate_report_json(&v, out, NULL), GSL_SUCCESS);
    assert_int_equal(spec_validate_report_junit(&v, out, NULL), GSL_SUCCESS);
    fclose(out);
    says(text, "DEPENDENT: mine: each request is right; requests depend on each other.\n");
    says(text, "\nEach request by itself: no difference seen; each of these TVs ");
    says(text, "\"verdict\": \"DEPENDENT\"");
    says(text, "\"each_request\": {\n  \"verdict\": \"PASS\"");
    says(text, " failures=\"1\"");
    says(text, "<failure type=\"dependent requests\"");
    says(text, "<property name=\"verdict\" value=\"DEPENDENT\"/>");
    assert_null(strstr(text, "not lossless"));
}
