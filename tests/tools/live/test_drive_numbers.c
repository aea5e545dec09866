/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks what is computed from blocks: the coverage of intervals, alpha, the sentences of the
 * report, and what is refused. The server is simulated, without HTTP. */
#include "tools/live/drive_report.h"

#include "analysis/capped_geometric.h"
#include "tests/support/owned.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double truth_alpha = 0.7;

/* ---- intervals ------------------------------------------------------------------------------- */

/* The logarithms are normal and the passes few. With the normal quantile in place of Student's,
 * intervals from three passes would cover .85, which 4000 repetitions exclude. */
TEST(intervals_cover_the_true_speed_up_in_95_percent)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { REPEATS = 4000 };
    for (int n = 2; n <= 5; n++) {
        int covered = 0;
        for (int i = 0; i < REPEATS; i++) {
            double logs[5];
            for (int k = 0; k < n; k++) logs[k] = log(1.37) + gsl_ran_gaussian(rng, 0.03);
            const spec_block_interval x = spec_drive_interval(logs, n, 0.05);
            covered += x.low <= 1.37 && 1.37 <= x.high;
        }
        const double z = (covered - 0.95 * REPEATS) / sqrt(0.95 * 0.05 * REPEATS);
        assert_true(fabs(z) < 4.9);
    }
}

TEST(an_interval_needs_two_numbers_and_ignores_missing_ones)
{
    const double logs[] = {NAN, log(2.0), NAN, log(8.0)};
    assert_true(isnan(spec_drive_interval(logs, 1, 0.05).value));
    const spec_block_interval one = spec_drive_interval(logs, 2, 0.05),
                              two = spec_drive_interval(logs, 4, 0.05);
    assert_true(fabs(one.value - 2.0) < 1e-12 && isnan(one.low) && isnan(one.high));
    /* t_1(.975) = 12.7062047, and half the logarithm of 4 is the standard error */
    assert_true(fabs(two.value - 4.0) < 1e-12);
    assert_true(fabs(log(two.high / 4.0) / (12.706204736 * log(2.0)) - 1.0) < 1e-9);
}

/* ---- a simulated server, without HTTP -------------------------------------------------------- */

typedef struct {
    double plain, a, b, alpha;
    double noise; /* standard deviation of the logarithm of a block's times */
    double drift; /* change of that logarithm from block to block */
} truth;

static const char *const no_prompts = "[{\"prompt\": \"x\"}]";

/* Makes texts of 60 rounds, whose times are the true ones except for the noise of the block. */
static spec_drive_block simulated_block(const truth *t, int K, int pass, int order, gsl_rng *rng)
{
    enum { TEXTS = 8, ROUNDS = 60 };
    spec_drive_block b = {.K = K, .concurrency = 1, .pass = pass, .n = TEXTS};
    const double pace = exp(gsl_ran_gaussian(rng, t->noise) + t->drift * order),
                 round = pace * (K > 0 ? t->a + t->b * K : t->plain);
    b.request = calloc(TEXTS, sizeof *b.request);
    for (int i = 0; i < TEXTS; i++) {
        int accepted = 0;
        for (int r = 0; r < ROUNDS; r++)
            for (int k = 0; k < K && gsl_rng_uniform(rng) < t->alpha; k++) accepted++;
        b.request[i] = (spec_drive_request){.tokens = 1 + ROUNDS + accepted,
                                            .first = 1,
                                            .ttft = 0.01,
                                            .decode = ROUNDS * round,
                                            .latency = 0.01 + ROUNDS * round,
                                            .rounds = NAN,
                                            .drafted = K * ROUNDS,
                                            .accepted = accepted};
        b.tokens += b.request[i].tokens;
        b.seconds += b.request[i].latency;
    }
    return b;
}

static void simulate(spec_drive_result *ret, const spec_drive_plan *plan, const truth *t,
                     gsl_rng *rng)
{
    spec_error error;
    json_error_t why;
    int order = 0;
    *ret = (spec_drive_result){.prompts = json_loads(no_prompts, 0, &why)};
    for (int pass = 0; pass < plan->passes; pass++)
        for (int i = 0; i < plan->n_K; i++) {
            const int K = plan->K[pass % 2 == 0 ? i : plan->n_K - 1 - i];
            spec_drive_block block = simulated_block(t, K, pass, order++, rng);
            assert_int_equal(spec_drive_blocks_add(&ret->blocks, &block, &error), GSL_SUCCESS);
        }
}

static spec_drive_plan simulated_plan(int passes)
{
    return (spec_drive_plan){.url = "http://x",
                             .K = {0, 1, 3, 6},
                             .n_K = 4,
                             .level = {1},
                             .n_levels = 1,
                             .passes = passes,
                             .seed = spec_test_seed(),
                             .sampling = {400, SPEC_TRANSFORM_NONE}};
}

static double true_speedup(const truth *t, int K)
{
    return spec_capped_geometric_mean(t->alpha, K) * t->plain / (t->a + t->b * K);
}

/* The times of blocks vary by 3 %, and acceptance varies by chance. With the normal quantile, three
 * passes would cover .81, which is 10 standard errors lower. */
TEST(intervals_of_a_simulated_server_cover_its_speed_up, SLOW | STATISTICS)
{
    static const truth t = {.plain = 0.006, .a = 0.0071, .b = 0.0009, .alpha = 0.77, .noise = 0.03};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { REPEATS = 250 };
    for (int passes = 3; passes <= 4; passes++) {
        const spec_drive_plan plan = simulated_plan(passes);
        int covered = 0, near = 0;
        for (int i = 0; i < REPEATS; i++) {
            spec_drive_result result;
            spec_drive_numbers numbers;
            spec_error error;
            simulate(&result, &plan, &t, rng);
            assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error),
                             GSL_SUCCESS);
            for (int k = 1; k < 4; k++) {
                const spec_drive_row *row = &numbers.row[k];
                const double right = true_speedup(&t, row->K);
                covered += row->speedup.low <= right && right <= row->speedup.high;
                near += fabs(row->predicted / right - 1.0) < 0.06;
            }
            spec_drive_numbers_free(&numbers);
            spec_drive_result_free(&result);
        }
        /* Rows of a repetition share K = 0, so at most REPEATS of them are independent. */
        const double z = (covered / 3.0 - 0.95 * REPEATS) / sqrt(0.95 * 0.05 * REPEATS);
        assert_true(fabs(z) < 4.9);
        assert_true(near > 0.95 * 3 * REPEATS);
    }
}

TEST(a_steady_drift_cancels_in_passes_there_and_back)
{
    static const truth t = {.plain = 0.006, .a = 0.0071, .b = 0.0009, .alpha = 1.0, .drift = 0.02};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int passes = 1; passes <= 4; passes++) {
        const spec_drive_plan plan = simulated_plan(passes);
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        simulate(&result, &plan, &t, rng);
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        for (int k = 1; k < 4; k++) {
            const double off = numbers.row[k].speedup.value / true_speedup(&t, numbers.row[k].K);
            if (passes % 2 == 0)
                assert_true(fabs(off - 1.0) < 1e-12);
            else
                assert_true(fabs(off - 1.0) > 0.005);
        }
        if (passes == 2) assert_true(fabs(numbers.row[0].drift - expm1(0.02 * 7)) < 1e-12);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* Categories partition the prompts that have one; an empty name means none. */
TEST(prompts_without_a_category_are_only_in_the_rows_of_all)
{
    static const truth t = {.plain = 0.006, .a = 0.0071, .b = 0.0009, .alpha = 0.8};
    static const char *const kinds[] = {
        "[{\"prompt\": \"x\", \"category\": \"tale\"}, {\"prompt\": \"y\", \"category\": \"\"}]",
        "[{\"prompt\": \"x\", \"category\": \"tale\"}, {\"prompt\": \"y\"}]",
        "[{\"prompt\": \"x\", \"category\": \"\"}, {\"prompt\": \"y\"}]"};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const spec_drive_plan plan = simulated_plan(2);
    for (int kind = 0; kind < 3; kind++) {
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        json_error_t why;
        simulate(&result, &plan, &t, rng);
        json_decref(result.prompts);
        result.prompts = json_loads(kinds[kind], 0, &why);
        for (int b = 0; b < result.blocks.n; b++)
            for (int i = 0; i < result.blocks.block[b].n; i++)
                result.blocks.block[b].request[i].prompt = i % 2;
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        assert_int_equal(numbers.n_rows, kind < 2 ? 8 : 4);
        for (int i = 4; i < numbers.n_rows; i++) {
            assert_string_equal(numbers.row[i].category, "tale");
            assert_int_equal(2 * numbers.row[i].requests, numbers.row[i - 4].requests);
        }
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* ---- alpha ----------------------------------------------------------------------------------- */

/* Counts the rounds of a text as the dialect does: tests/tools/live/timed_server.py in C. */
static spec_drive_request counted_text(const char *dialect, int K, int most, spec_live_counts *sums,
                                       gsl_rng *rng)
{
    const bool cuts = strcmp(dialect, "SGLang") == 0, counts = strcmp(dialect, "vLLM") != 0;
    spec_drive_request r = {.tokens = 1, .first = 1, .decode = 0.1, .latency = 0.2};
    while (r.tokens < most) {
        const int left = most - r.tokens, drafts = cuts || K < left ? K : left - 1;
        int accepted = 0;
        while (accepted < drafts && gsl_rng_uniform(rng) < truth_alpha) accepted++;
        r.rounds += drafts > 0;
        r.drafted += drafts;
        r.accepted += accepted;
        r.tokens += accepted + 1 < left ? accepted + 1 : left;
    }
    sums->rounds += r.rounds;
    sums->drafted += r.drafted;
    sums->accepted += r.accepted;
    if (cuts && K > 0) r.accepted = r.tokens - 1.0 - r.rounds;
    if (!cuts) r.rounds = NAN;
    if (!counts) r.drafted = r.accepted = NAN;
    return r;
}

/* In short texts, passes without a draft and cut rounds matter most: with K = 1 and 17 tokens they
 * were 6 % of alpha for llama-server. */
TEST(alpha_is_that_of_the_rounds_that_drafted_in_every_dialect, SLOW | STATISTICS)
{
    static const struct {
        int K, most;
        double within;
    } cases[] = {{1, 17, 0.01}, {4, 128, 0.02}};
    enum { SEEDS = 20, TEXTS = 400 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int c = 0; c < 2; c++)
        for (int d = 0; d < 3; d++) {
            const char *dialect = spec_dialects[d].name;
            spec_drive_plan plan = simulated_plan(1);
            double mean = 0.0;
            plan.n_K = 2;
            plan.K[1] = cases[c].K;
            plan.sampling.tokens = cases[c].most;
            for (int seed = 0; seed < SEEDS; seed++) {
                spec_drive_result result;
                spec_drive_numbers numbers;
                spec_error error;
                json_error_t why;
                result = (spec_drive_result){.prompts = json_loads(no_prompts, 0, &why)};
                for (int i = 0; i < 2; i++) {
                    spec_drive_block b = {.K = plan.K[i], .concurrency = 1, .n = TEXTS};
                    b.request = calloc(TEXTS, sizeof *b.request);
                    for (int t = 0; t < TEXTS; t++)
                        b.request[t] = counted_text(dialect, b.K, cases[c].most, &b.counts, rng);
                    b.counted = strcmp(dialect, "vLLM") == 0;
                    assert_int_equal(spec_drive_blocks_add(&result.blocks, &b, &error),
                                     GSL_SUCCESS);
                }
                assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error),
                                 GSL_SUCCESS);
                const spec_drive_row *row = &numbers.row[1];
                assert_true(row->alpha.value == numbers.level[0].advice->alpha.value);
                if (row->K == 1 && strcmp(dialect, "SGLang") != 0)
                    assert_true(fabs(row->alpha.value - row->accepted / row->drafted) < 1e-9);
                mean += row->alpha.value / SEEDS;
                spec_drive_numbers_free(&numbers);
                spec_drive_result_free(&result);
            }
            if (!(fabs(mean / truth_alpha - 1.0) < cases[c].within))
                fail_msg("%s, K = %d: alpha %.4f", dialect, cases[c].K, mean);
        }
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* What a server does, and how the report about it begins. */
static const struct {
    truth t;
    int passes;
    const char *begins;
} reports[] = {
    {{0.006, 0.007, 0.001, 0.8, 0.0005, 0.0}, 4, "With 1 request at a time run K = 6: 1.8"},
    {{0.006, 0.017, 0.004, 0.4, 0.001, 0.0},
     4,
     "With 1 request at a time turn speculation off: K = 1 gives 0.4"},
    {{0.006, 0.007, 0.001, 0.8, 0.3, 0.0}, 2, "With 1 request at a time "},
    {{0.006, 0.007, 0.001, 0.8, 0.001, 0.0}, 1, "With 1 request at a time run K = "},
};

TEST(the_report_begins_with_the_answer_and_fits_80_columns)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        const spec_drive_plan plan = simulated_plan(reports[i].passes);
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        simulate(&result, &plan, &reports[i].t, rng);
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        assert_int_equal(spec_drive_report(out, &numbers, &result, &plan, &error), GSL_SUCCESS);
        fclose(out);
        if (strncmp(text, reports[i].begins, strlen(reports[i].begins)) != 0)
            fail_msg("'%s' does not begin '%s'", text, reports[i].begins);
        char measured[40];
        snprintf(measured, sizeof measured, "\n  measured    %d pass", reports[i].passes);
        assert_non_null(strstr(text, measured));
        assert_true((strstr(text, "one pass gives no interval") != NULL) ==
                    (reports[i].passes == 1));
        assert_true((strstr(text, "another length may be up to ") != NULL) == (i == 2));
        const char *sentence_end = strchr(text, '\n'), *unsure = strstr(text, "(not certain: ");
        assert_true((unsure != NULL && unsure < sentence_end) == (i >= 2));
        assert_true(numbers.level[0].certain == (i < 2));
        for (const char *line = strstr(text, "at once"); *line != '\0' && *line != '\n';) {
            const size_t length = strcspn(line, "\n");
            if (length > 80) fail_msg("over 80 columns: %.*s", (int)length, line);
            line += length + 1;
        }
        free(text);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

TEST(the_report_says_when_a_server_has_too_few_slots)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    spec_drive_plan plan = simulated_plan(2);
    plan.level[plan.n_levels++] = 4;
    for (int slots = 3; slots <= 4; slots++) {
        spec_drive_result result;
        spec_drive_numbers numbers;
        spec_error error;
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        simulate(&result, &plan, &reports[0].t, rng);
        result.server.slots = slots;
        assert_int_equal(spec_drive_numbers_init(&numbers, &result, &plan, &error), GSL_SUCCESS);
        assert_int_equal(spec_drive_report(out, &numbers, &result, &plan, &error), GSL_SUCCESS);
        fclose(out);
        assert_true((strstr(text, "the server has 3 for 4 requests at a time") != NULL) ==
                    (slots == 3));
        free(text);
        spec_drive_numbers_free(&numbers);
        spec_drive_result_free(&result);
    }
}

/* ---- drafts of a block ----------------------------------------------------------------------- */

static spec_drive_block block_of(int K, double drafted, double accepted, double rounds,
                                 spec_drive_request *request)
{
    *request = (spec_drive_request){.tokens = 41,
                                    .first = 1,
                                    .decode = 0.2,
                                    .drafted = drafted,
                                    .accepted = accepted,
                                    .rounds = rounds};
    return (spec_drive_block){.K = K, .concurrency = 1, .request = request, .n = 1};
}

TEST(a_baseline_that_drafts_and_a_length_that_does_not_are_refused)
{
    static const struct {
        int K;
        double drafted, accepted, rounds;
        const char *line; /* NULL: the server is right */
    } cases[] = {
        {0, 0.0, 0.0, NAN, NULL},
        {0, 1.0, 0.0, NAN, "the baseline speculates"},
        {0, NAN, NAN, 3.0, "the server verified 3 drafts"},
        {2, 0.0, 0.0, NAN, "the server does not speculate"},
        {2, 40.0, 20.0, NAN, NULL},
        {2, 30.0, 20.0, 15.0, NULL},
        {2, 12.0, 4.0, NAN, NULL}, /* an n-gram that rarely matches */
        {2, 100.0, 20.0, NAN, "K = 2 was asked for, but drafts have 5.0 tokens"},
        {2, 100.0, 20.0, 20.0, "K = 2 was asked for, but drafts have 5.0 tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_drive_request request;
        spec_error error = {.text = ""};
        const spec_drive_block block =
            block_of(cases[i].K, cases[i].drafted, cases[i].accepted, cases[i].rounds, &request);
        for (int launched = 0; launched < 2; launched++) {
            const int status = spec_drive_check(&block, launched, &error);
            assert_int_equal(status, cases[i].line == NULL ? GSL_SUCCESS : GSL_ESANITY);
            if (cases[i].line != NULL) assert_non_null(strstr(error.text, cases[i].line));
        }
    }
}
