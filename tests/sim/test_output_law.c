/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/output_law.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

typedef struct {
    table_model target, draft;
    spec_decoder_config config;
} stage;

static void stage_init(stage *s, int V, pair_family family, uint64_t *noise)
{
    *s = (stage){.config = SPEC_DECODER_DEFAULT};
    s->config.K = 2;
    s->config.target = table_model_init(&s->target, V);
    s->config.opt_draft = table_model_init(&s->draft, V);
    table_pair_randomize(&s->target, &s->draft, family, noise);
}

static void stage_free(stage *s)
{
    table_model_free(&s->target);
    table_model_free(&s->draft);
}

static spec_output_law law_of(const stage *s, const int *prompt, size_t n_prompt, int n_tokens)
{
    spec_output_law law;
    assert_works(spec_output_law_init(&law, &s->config, prompt, n_prompt, n_tokens, 0, &error));
    return law;
}

/* ---- the promise ----------------------------------------------------------------------------- */

TEST(the_promised_law_is_the_product_of_the_targets_rows)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    OWNED(spec_output_law) law = law_of(&s, (const int[]){2, 1}, 2, 3);
    assert_int_equal(law.size, 27);
    double total = 0.0;
    for (int i = 0; i < 27; i++) {
        const int text[] = {2, 1, i / 9, i / 3 % 3,
                            i % 3}; /* the first token is the most significant */
        double product = 1.0;
        for (size_t k = 2; k < 5; k++) product *= table_model_row(&s.target, text, k)[text[k]];
        assert_within(law.target_law[i], product, 1e-16);
        assert_within(law.law[i], product, 1e-14);
        total += law.law[i];
    }
    assert_within(total, 1.0, 1e-14);
    assert_within(law.total, 1.0, 1e-14);
}

TEST(the_greedy_rule_promises_the_argmax_text)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_LEVELS, &noise);
    s.config.rule = "greedy";
    OWNED(spec_output_law) law = law_of(&s, NULL, 0, 3);
    int text[3], index = 0;
    for (size_t k = 0; k < 3; k++) {
        const double *row = table_model_row(&s.target, text, k);
        text[k] = 0;
        for (int x = 1; x < 3; x++)
            if (row[x] > row[text[k]]) text[k] = x;
        index = 3 * index + text[k];
    }
    for (int i = 0; i < 27; i++) {
        assert_within(law.target_law[i], i == index, 0.0);
        assert_within(law.law[i], i == index, 1e-14);
    }
}

TEST(a_text_that_ends_early_is_filled_with_its_end)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 2, PAIR_PLAIN, &noise);
    s.target.head.ends = spec_text_ends_one(1);
    for (int both = 0; both < 2; both++) { /* whether the draft knows the end */
        s.draft.head.ends = spec_text_ends_one(both ? 1 : -1);
        OWNED(spec_output_law) law = law_of(&s, NULL, 0, 3);
        const double *first = table_model_row(&s.target, NULL, 0),
                     *second = table_model_row(&s.target, (const int[]){0}, 1),
                     *third = table_model_row(&s.target, (const int[]){0, 0}, 2);
        const double expected[8] = {first[0] * second[0] * third[0],
                                    first[0] * second[0] * third[1],
                                    0.0,
                                    first[0] * second[1],
                                    0.0,
                                    0.0,
                                    0.0,
                                    first[1]}; /* 000 001 - 011 - - - 111 */
        for (int i = 0; i < 8; i++) {
            assert_within(law.target_law[i], expected[i], 1e-15);
            assert_within(law.law[i], expected[i], 1e-14);
        }
        assert_true(law.tv < 1e-14);
    }
}

/* Tokens 1 and 2 both end a text: the rest of a text is filled with the one that ended it. */
TEST(a_text_may_end_with_one_of_several_tokens)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    s.target.head.ends = spec_text_ends_one(1);
    spec_text_ends_add(&s.target.head.ends, 2);
    for (int known = -1; known < 3; known++) { /* which end the draft knows */
        s.draft.head.ends = spec_text_ends_one(known);
        OWNED(spec_output_law) law = law_of(&s, NULL, 0, 2);
        const double *first = table_model_row(&s.target, NULL, 0),
                     *second = table_model_row(&s.target, (const int[]){0}, 1);
        const double expected[9] = {first[0] * second[0],
                                    first[0] * second[1],
                                    first[0] * second[2],
                                    0.0,
                                    first[1],
                                    0.0,
                                    0.0,
                                    0.0,
                                    first[2]}; /* 00 01 02 - 11 - - - 22 */
        for (int i = 0; i < 9; i++) {
            assert_within(law.target_law[i], expected[i], 1e-15);
            assert_within(law.law[i], expected[i], 1e-14);
        }
    }
}

TEST(the_distance_of_a_wrong_law_is_what_one_computes_by_hand)
{
    /* The law (.4,.6,0) against (.5,.3,.2): tests/oracle/misc.py, "argmax draft + softmax-q". */
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    table_model_fill(&s.target, (const double[]){0.5, 0.3, 0.2});
    table_model_fill(&s.draft, (const double[]){0.2, 0.5, 0.3});
    s.config.rule = "greedy-softmax";
    s.config.drafting = "greedy";
    s.config.K = 1;
    OWNED(spec_output_law) law = law_of(&s, NULL, 0, 1);
    assert_within(law.tv, 0.3, 1e-15);
    assert_within(law.max_error, 0.3, 1e-15);
    assert_int_equal(law.branches, 4); /* accepted: three bonuses; else one correction */
    assert_within(law.accepted, 0.6, 1e-15);
}

/* ---- what is accepted ------------------------------------------------------------------------ */

typedef enum { CHAIN_BY_RATIO, CHAIN_BY_MATCH, ARGMAX_BY_MATCH } acceptance;

/* Returns the sum over all drafts x^i of draft(x^i) prod min(1, target/draft). For match, each
 * factor is the probability that the target's sample equals the drafted token. */
static double expected_accepted(const stage *s, acceptance how, int *text, size_t n, int left,
                                double drafted, double accepted)
{
    if (left == 0) return 0.0;
    const double *target = table_model_row(&s->target, text, n),
                 *draft = table_model_row(&s->draft, text, n);
    int best = 0;
    for (int x = 1; x < s->target.head.vocab; x++)
        if (draft[x] > draft[best]) best = x;
    double sum = 0.0;
    for (int x = 0; x < s->target.head.vocab; x++) {
        double drawn = draft[x], passes = fmin(1.0, target[x] / draft[x]);
        if (how == CHAIN_BY_MATCH) passes = target[x];
        if (how == ARGMAX_BY_MATCH) drawn = x == best, passes = target[x];
        if (drawn == 0.0) continue;
        text[n] = x;
        sum += drafted * drawn * accepted * passes;
        sum += expected_accepted(s, how, text, n + 1, left - 1, drafted * drawn, accepted * passes);
    }
    return sum;
}

TEST(expected_accepted_tokens_are_the_sum_over_drafts, STATISTICS)
{
    static const struct {
        const char *rule, *drafting;
        acceptance how;
    } cases[] = {
        {"token", "chain", CHAIN_BY_RATIO},
        {"match", "chain", CHAIN_BY_MATCH},
        {"token", "greedy", ARGMAX_BY_MATCH},
        {"match", "greedy", ARGMAX_BY_MATCH},
        {"resample-target", "chain", CHAIN_BY_RATIO}, /* its error is in the emitted token */
    };
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(6);
    for (uint64_t t = 0; t < times; t++)
        for (int family = 0; family < PAIR_FAMILIES; family++)
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
                for (int K = 0; K <= 4; K++) {
                    OWNED(stage) s;
                    stage_init(&s, 1 + (int)(4.0 * table_uniform(&noise)), (pair_family)family,
                               &noise);
                    s.config.rule = cases[c].rule;
                    s.config.drafting = cases[c].drafting;
                    s.config.K = K;
                    int text[4] = {0};
                    OWNED(spec_output_law) law = law_of(&s, NULL, 0, 0);
                    assert_within(law.accepted,
                                  expected_accepted(&s, cases[c].how, text, 0, K, 1.0, 1.0), 1e-12);
                }
}

TEST(one_round_of_one_draft_token_is_accepted_with_the_overlap)
{
    /* For one draft the theory is an overlap of .7, and .31 for match; tests/oracle/vectors.py. */
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    table_model_fill(&s.target, (const double[]){0.5, 0.3, 0.2});
    table_model_fill(&s.draft, (const double[]){0.2, 0.5, 0.3});
    const double alpha[] = {0.7, 0.31};
    const char *const rules[] = {"token", "match"};
    for (int r = 0; r < 2; r++)
        for (int K = 0; K <= 4; K++) {
            s.config.rule = rules[r];
            s.config.K = K;
            OWNED(spec_output_law) law = law_of(&s, NULL, 0, 1);
            assert_within(law.accepted, alpha[r] * (1.0 - pow(alpha[r], K)) / (1.0 - alpha[r]),
                          1e-14);
        }
}

/* A quarter of a million branches on one text: plain sums are off by 3e-13 here. */
TEST(many_branches_lose_nothing)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_LEVELS, &noise);
    s.config.rule = "greedy";
    s.config.K = 4;
    OWNED(spec_output_law) law = law_of(&s, NULL, 0, 3);
    print_message("%llu branches, total 1 %+.1e\n", (unsigned long long)law.branches,
                  law.total - 1.0);
    assert_within(law.total, 1.0, 3e-15);
    assert_true(law.tv < 3e-15);
}

/* ---- limits ---------------------------------------------------------------------------------- */

TEST(too_many_branches_are_refused_with_the_remedy)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    s.config.K = 2;
    spec_output_law law = law_of(&s, NULL, 0, 2);
    const uint64_t branches = law.branches;
    spec_output_law_free(&law);
    assert_works(spec_output_law_init(&law, &s.config, NULL, 0, 2, branches, &error));
    spec_output_law_free(&law);
    assert_fails_with(spec_output_law_init(&law, &s.config, NULL, 0, 2, branches - 1, &error),
                      GSL_EMAXITER, "raise the limit");
    assert_null(law.law);
    assert_null(law.target_law);
    assert_int_equal(law.size, 0);
    /* With zero tokens there is one branch; the first round, enumerated for its accepted tokens,
     * has more than two. */
    assert_fails_with(spec_output_law_init(&law, &s.config, NULL, 0, 0, 2, &error), GSL_EMAXITER,
                      "raise the limit");
}

/* The limit is a third of the branches, and in another case the usual limit, with a law that would
 * take some 30 s of processor time. The message gives the approximate number of branches. */
TEST(a_walk_that_would_meet_its_limit_is_refused_early, SLOW)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    s.config.K = 3;
    spec_output_law law = law_of(&s, NULL, 0, 4);
    const double branches = (double)law.branches;
    const char *some;
    spec_output_law_free(&law);
    spec_error error = {""};
    assert_int_equal(
        spec_output_law_init(&law, &s.config, NULL, 0, 4, (uint64_t)(branches / 3.0), &error),
        GSL_EMAXITER);
    assert_non_null(some = strstr(error.text, "branches: some "));
    const double told = strtod(some + 15, NULL);
    assert_true(told > branches / 3.0 && told < branches * 3.0);
    assert_non_null(strstr(error.text, "raise the limit"));

    const spec_clock processor = spec_clock_processor();
    const double begun = spec_clock_read(&processor);
    assert_fails_with(
        spec_output_law_init(&law, &s.config, NULL, 0, 6, SPEC_OUTPUT_LAW_LIMIT, &error),
        GSL_EMAXITER, "more than 50000000 branches: some ");
    assert_true(spec_clock_read(&processor) - begun < 5.0);

    s.config.K = 20;
    assert_int_equal(
        spec_output_law_init(&law, &s.config, NULL, 0, 6, SPEC_OUTPUT_LAW_LIMIT, &error),
        GSL_EMAXITER);
    assert_non_null(strstr(error.text, "; take a smaller K or fewer tokens"));
    assert_null(strstr(error.text, "raise"));
    assert_fails_with(
        spec_output_law_init(&law, &s.config, NULL, 0, 50, SPEC_OUTPUT_LAW_LIMIT, &error),
        GSL_EMAXITER, "more than 16777216 texts; try 3");
}

/* The shares that a listener receives rise, and end below 1. */
static void hear(void *self, double share)
{
    double *last = self;
    assert_true(share > 0.0 && share < 1.0);
    *last = share;
}

TEST(a_listener_hears_the_share_of_a_long_walk, SLOW)
{
    uint64_t noise = 27;
    double last = 0.0;
    const spec_listener listener = {hear, &last};
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    s.config.K = 3;
    s.config.opt_listener = &listener;
    spec_output_law law = law_of(&s, NULL, 0, 4);
    spec_output_law_free(&law);
    if (last < 0.5) fail_msg("the last share is %g", last);
}

TEST(absurd_laws_are_refused)
{
    uint64_t noise = 27;
    stage s, one;
    spec_output_law law;
    stage_init(&s, 4, PAIR_ONE_HOT, &noise);
    assert_fails_with(spec_output_law_init(&law, &s.config, NULL, 0, 13, 0, &error), GSL_EMAXITER,
                      "16777216");
    assert_status(spec_output_law_init(&law, &s.config, NULL, 0, -1, 0, &error), GSL_EINVAL);
    assert_status(spec_output_law_init(&law, &s.config, NULL, 0, 4097, 0, &error), GSL_EINVAL);
    assert_status(spec_output_law_init(&law, &s.config, (const int[]){4}, 1, 1, 0, &error),
                  GSL_EINVAL);
    s.config.rule = "tokn";
    assert_status(spec_output_law_init(&law, &s.config, NULL, 0, 1, 0, &error), GSL_EINVAL);
    s.config.rule = "token";
    assert_works(spec_output_law_init(&law, &s.config, NULL, 0, 8, 0, &error));
    assert_int_equal(law.size, 1 << 16);
    spec_output_law_free(&law);

    stage_init(&one, 1, PAIR_PLAIN, &noise);
    assert_works(spec_output_law_init(&law, &one.config, NULL, 0, 4096, 0, &error));
    assert_true(law.size == 1 && law.law[0] == 1.0 && law.target_law[0] == 1.0 &&
                law.branches == 1);
    spec_output_law_free(&law);
    stage_free(&s);
    stage_free(&one);
}

TEST(failures_of_a_model_are_passed_on)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 2, PAIR_PLAIN, &noise);
    for (int which = 0; which < 2; which++) {
        s.target.fails_after = which == 0 ? 2 : -1;
        s.draft.fails_after = which == 0 ? -1 : 1;
        s.config.K = 2;
        spec_output_law law;
        assert_fails_with(spec_output_law_init(&law, &s.config, NULL, 0, 3, 0, &error), GSL_EFAILED,
                          "no row after");
        assert_null(law.law);
    }
    s.draft.fails_after = -1;
    s.config.K = 0;
    s.target.fails_after = 1; /* fails in the first law's second round, not in the first */
    spec_output_law law;
    assert_status(spec_output_law_init(&law, &s.config, NULL, 0, 2, 0, &error), GSL_EFAILED);
}

/* Requests a stop during the walk over decisions, and during the one over the promised texts. */
static struct {
    const spec_model_kind *kind;
    int left;
    volatile int stop;
} stopping;

static const double *stops_after(const spec_model *model, void *session, const int *context,
                                 size_t n, double *scratch, spec_error *error)
{
    if (--stopping.left <= 0) stopping.stop = 1;
    return stopping.kind->row(model, session, context, n, scratch, error);
}

TEST(ctrl_c_ends_it_within_a_round)
{
    uint64_t noise = 27;
    OWNED(stage) s;
    stage_init(&s, 3, PAIR_PLAIN, &noise);
    stopping.kind = s.target.head.kind;
    spec_model_kind kind = *stopping.kind;
    kind.row = stops_after;
    s.target.head.kind = &kind;
    s.config.opt_stop = &stopping.stop;
    stopping.left = 1 << 30;
    stopping.stop = 0;
    spec_output_law law = law_of(&s, NULL, 0, 3);
    const int rows = (1 << 30) - stopping.left;
    spec_output_law_free(&law);
    for (int after = 1; after < rows; after += after < rows - 20 ? rows / 20 : 1) {
        stopping.left = after;
        stopping.stop = 0;
        assert_fails(spec_output_law_init(&law, &s.config, NULL, 0, 3, 0, &error), GSL_EFAILED,
                     "interrupted");
        assert_true(stopping.left > -10); /* and not much later */
        assert_null(law.law);
    }
    s.target.head.kind = stopping.kind;
}
