/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/validate/traces/trace.h"
#include "tools/validate/traces/trace_read.h"
#include "tools/validate/traces/trace_write.h"

#include "sim/chance/rng.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- reading --------------------------------------------------------------------------------- */

#define HEAD "{\"speclab_trace\": 1, \"vocab\": 3}\n"
#define GOOD "{\"token\": 1, \"target_logprob\": -0.7}\n"

static int judge(spec_validation *ret, const char *text, size_t n, spec_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, n, "r");
    assert_non_null(file);
    const int status =
        spec_trace_validate_file(ret, file, "t.jsonl", &SPEC_VALIDATE_PLAN_DEFAULT, error);
    fclose(file);
    return status;
}

static void refuses_bytes(const char *text, size_t n, const char *line)
{
    spec_validation v;
    spec_error error = {{0}};
    if (judge(&v, text, n, &error) != GSL_EINVAL) fail_msg("not refused: %s", line);
    assert_string_equal(error.text, line);
    assert_null(v.result);
}

static void refuses(const char *text, const char *line)
{
    refuses_bytes(text, strlen(text), line);
}

TEST(an_invalid_trace_is_refused)
{
    refuses("\n", "t.jsonl:1: an empty line at byte 0");
    refuses("hello\n", "t.jsonl:1: '[' or '{' expected near 'hello' at byte 5");
    refuses(
        "{\"a\": 1}\n",
        "t.jsonl:1: a trace begins with a line like {\"speclab_trace\": 1, \"vocab\": 32000}, or "
        "is a server's responses, {\"choices\": ...}, one per line");
    refuses("{\"speclab_trace\": 2, \"vocab\": 3}\n",
            "t.jsonl:1: \"speclab_trace\" is 2: it must be from 1 to 1");
    refuses("{\"speclab_trace\": 1}\n",
            "t.jsonl:1: \"vocab\" is missing: how many tokens there are");
    refuses("{\"speclab_trace\": 1, \"vocab\": 0}\n",
            "t.jsonl:1: \"vocab\" is 0: it must be from 1 to 1048576");
    refuses("{\"speclab_trace\": 1, \"vocab\": 9e99}\n",
            "t.jsonl:1: \"vocab\" is not a whole number");
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"rows\": \"logits\"}\n",
            "t.jsonl:1: \"rows\" must be \"probabilities\" or \"logprobs\"");
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"filters\": 1}\n",
            "t.jsonl:1: \"filters\" must be an order such as \"temperature,top_k,top_p,min_p\"");
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"filters\": \"top_k;top_p\"}\n",
            "t.jsonl:1: filters 'top_k;top_p': 'top_k;top_p' is not temperature, top_k, top_p or "
            "min_p");
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"top_p\": 0.9, \"filters\": "
            "\"temperature,top_k\"}\n",
            "t.jsonl:1: \"top_p\" is given, and \"filters\" leaves it out");
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"temprature\": 1}\n",
            "t.jsonl:1: no key is called \"temprature\"; did you mean 'temperature'?");
}

TEST(every_malformed_line_is_refused_with_its_number)
{
    static const char *const cases[][2] = {
        {"{\"token\": 1", "'}' expected near end of file at byte 11"}, /* truncated */
        {"\n" GOOD, "an empty line at byte 0"},
        {"[1, 2]\n", "not a JSON object"},
        {"{\"token\": 1} {\"token\": 2}\n", "end of file expected near '{' at byte 14"},
        {"{\"token\": 1, \"token\": 1}\n", "duplicate object key near '\"token\"' at byte 20"},
        {"{\"token\": NaN}\n", "invalid token near 'NaN' at byte 13"},
        {"{\"token\": 1, \"target_logprob\": -1e999}\n",
         "real number overflow near '-1e999' at byte 37"},
        {"{\"token\": 99999999999999999999}\n",
         "too big integer near '99999999999999999999' at byte 30"},
        {"{\"token\": 1.0}\n", "\"token\" is missing, or not a whole number"},
        {"{\"target_logprob\": -1}\n", "\"token\" is missing, or not a whole number"},
        {"{\"token\": 1, \"logprob\": -1}\n", "no key is called \"logprob\""},
        {"{\"token\": 1, \"target_logprob\": 0.7}\n",
         "\"target_logprob\" is 0.7: it must be from -1e+300 to 0.001"},
        {"{\"token\": 1, \"target_logprob\": \"-1\"}\n", "\"target_logprob\" is not a number"},
        {"{\"token\": 1, \"position\": -1}\n",
         "\"position\" is -1: it must be from 0 to 9007199254740992"},
        {"{\"token\": 1, \"request\": 1.5}\n", "\"request\" is not a whole number or a text"},
        {"{\"token\": 1, \"drafted\": 3}\n", "\"drafted\" is 3: it must be from 0 to 2"},
        {"{\"token\": 1, \"accepted\": 1}\n", "\"accepted\" is not true or false"},
        {"{\"token\": 1, \"coin\": 1.5}\n", "\"coin\" is 1.5: it must be from 0 to 1"},
        {"{\"token\": 1, \"target\": 1}\n", "\"target\" is not a list"},
        {"{\"token\": 1, \"target\": [0.5, 0.5]}\n", "\"target\" has 2 entries, not 3"},
        {"{\"token\": 1, \"target\": [0.5, 0.5, null]}\n", "entry 2 of \"target\" is not a number"},
        {"{\"token\": 1, \"target\": [0.5, 0.7, -0.2]}\n",
         "entry 2 of \"target\" is -0.2, which is no probability"},
        {"{\"token\": 1, \"target\": [0.5, 0.3, 0.1]}\n", "\"target\" sums to 0.9, not to 1"},
        {"{\"token\": 1, \"draft\": [0.5, 0.3, 0.2]}\n",
         "there is a row of the draft, but none of the target"},
        {"{\"token\": 1, \"target\": [0.5, 0.3, 0.2], \"target_logprob\": -0.7}\n",
         "\"target_logprob\" says that the token had a chance of 0.4966, its row 0.3"},
        {"{\"token\": 1, \"target\": [0.5, 0.3, 0.2], \"draft_top\": [[0, -1]]}\n",
         "one row is complete, and the other has only the most probable tokens"},
        {"{\"token\": 1, \"target\": [0.5, 0.3, 0.2], \"target_top\": [[0, -1]]}\n",
         "\"target_top\" and the whole row are both given; give only one"},
        {"{\"token\": 1, \"target_top\": [[0, -1]], \"target\": [0.5, 0.3, 0.2]}\n",
         "\"target\" and the most probable tokens of the same row are both given; give only one"},
        {"{\"token\": 1, \"target_top\": []}\n", "\"target_top\" is not a list of 1 to 1024 pairs"},
        {"{\"token\": 1, \"target_top\": [[0]]}\n",
         "\"target_top\" is not a list of [token, log-probability]"},
        {"{\"token\": 1, \"target_top\": [[0, -1], [0, -1]]}\n",
         "token 0 occurs twice in \"target_top\""},
        {"{\"token\": 1, \"target_top\": [[0, -0.1], [1, -0.1]]}\n",
         "\"target_top\" sums to 1.80967, more than 1"},
        {"{\"token\": 1, \"target_top\": [[0, -9999]]}\n",
         "\"target_top\" sums to 0: the other tokens cannot hold the rest, each with at most 0, so "
         "these are not the most probable ones"},
        {"{\"token\": 1, \"target_top\": [[3, -1]]}\n",
         "\"target_top\" is 3: it must be from 0 to 2"},
        {"{\"token\": 1, \"position\": 0}\n", "position 0 comes after 0 in the same request"},
        {"{\"token\": 1, \"position\": 7}\n",
         "position 7 comes after 0: no token may be missing, unless the head says \"sampled\": "
         "true, which means that positions were left out whatever their tokens"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], line[512];
        snprintf(text, sizeof text, HEAD GOOD "%s", cases[i][0]);
        snprintf(line, sizeof line, "t.jsonl:3: %s", cases[i][1]);
        refuses(text, line);
    }
    refuses_bytes(HEAD GOOD "{\"token\": 1\0}\n", sizeof(HEAD GOOD "{\"token\": 1\0}\n") - 1,
                  "t.jsonl:3: has a NUL byte: it is not a text file");
}

TEST(logs_that_would_bias_a_test_are_refused)
{
    refuses(HEAD "{\"token\": 1, \"target_top\": [[1, -0.1]]}\n{\"token\": 2, \"target_top\": [[1, "
                 "-0.1], [2, -3]]}\n",
            "t.jsonl:3: \"target_top\" has 2 pairs, those before had 1: always log the same number "
            "of most probable "
            "tokens, whether the emitted one is among them or not");
    refuses(HEAD "{\"token\": 1, \"target_logprob\": -0.1, \"draft_logprob\": -1, \"drafted\": 1, "
                 "\"accepted\": true}\n"
                 "{\"token\": 1, \"target_logprob\": -0.1, \"drafted\": 2, \"accepted\": false}\n",
            "t.jsonl: the draft's side is logged for each accepted token, and for no correction: "
            "whether it is logged must not depend on the token");
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"temperature\": 0.7}\n" GOOD,
            "t.jsonl:2: temperature and filters apply to whole rows only: log the rows "
            "after them");
}

TEST(lines_and_values_are_limited)
{
    const size_t n = 1 << 19;
    FREED char *text = malloc(n);
    assert_non_null(text);
    memcpy(text, HEAD, strlen(HEAD));
    memset(text + strlen(HEAD), ' ', n - strlen(HEAD));
    refuses_bytes(text, n,
                  "t.jsonl:2: a line of more than 131264 bytes: too long for a vocabulary of 3");
    for (size_t i = strlen(HEAD); i < n; i++) text[i] = i % 2 ? ',' : '1';
    text[strlen(HEAD) + 100000] = '\n';
    refuses_bytes(text, n, "t.jsonl:2: more values than two rows of a vocabulary of 3 have");
    memset(text + strlen(HEAD), '[', n - strlen(HEAD));
    text[strlen(HEAD)] = '{';
    text[strlen(HEAD) + 100000] = '\n';
    refuses_bytes(text, n, "t.jsonl:2: string or '}' expected near '[' at byte 2");
    memcpy(text + strlen(HEAD), "{\"token\": ", 10);
    refuses_bytes(text, n, "t.jsonl:2: maximum parsing depth reached near '[' at byte 2058");
}

static spec_trace_record read_one(const char *text, spec_trace_reader **ret_reader, FILE **ret_file)
{
    spec_trace_record record;
    bool end;
    *ret_file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_works(spec_trace_read_open(ret_reader, *ret_file, "t", &error));
    assert_works(spec_trace_read_next(*ret_reader, &record, &end, &error));
    assert_false(end);
    return record;
}

/* Two log-probabilities that are known only to .1 may both be off by that much. */
TEST(bets_on_log_probabilities_are_discounted_by_their_precision)
{
    static const char *const heads[] = {
        "{\"speclab_trace\": 1, \"vocab\": 3, \"precision\": 0}\n",
        "{\"speclab_trace\": 1, \"vocab\": 3, \"precision\": 0.1}\n",
        "{\"speclab_trace\": 1, \"vocab\": 3}\n",
    };
    double gain[3];
    for (int i = 0; i < 3; i++) {
        char text[200];
        spec_error error = {{0}};
        OWNED(spec_validation) v;
        snprintf(text, sizeof text,
                 "%s{\"token\": 1, \"target_logprob\": -3, \"draft_logprob\": -1}\n", heads[i]);
        assert_int_equal(judge(&v, text, strlen(text), &error), GSL_SUCCESS);
        const spec_finding *f = v.result->finding;
        while (strcmp(f->name, "draft-tilt") != 0) f++;
        gain[i] = exp(f->log_e);
    }
    /* the mean of bets that multiply their capital by 1 + stake (ratio - 1) */
    const double stake = (gain[0] - 1.0) / (exp(2.0) - 1.0);
    assert_true(stake > 0.1);
    assert_near(gain[1], 1.0 + stake * (exp(2.0 - 0.2) - 1.0), 1e-9);
    assert_near(gain[2], 1.0 + stake * (exp(2.0 - 2e-6) - 1.0), 1e-9);
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"precision\": 0.2}\n",
            "t.jsonl:1: \"precision\" is 0.2: it must be from 0 to 0.1");
    refuses("{\"speclab_trace\": 1, \"vocab\": 3, \"precision\": null}\n",
            "t.jsonl:1: \"precision\" is not a number");
}

TEST(rows_are_read_as_laws_over_cells)
{
    spec_trace_reader *reader;
    FILE *file;
    spec_trace_record r =
        read_one("{\"speclab_trace\": 1, \"vocab\": 3, \"rows\": \"logprobs\"}\n"
                 "{\"token\": 1, \"target\": [-0.5, null, -0.93275212956718857]}\n",
                 &reader, &file);
    assert_true(r.whole && r.n_cells == 3 && r.cell == 1 && r.draft == NULL);
    assert_near(r.target[0], exp(-0.5), 1e-14);
    assert_same(r.target[1], 0.0);
    spec_trace_read_close(reader);
    fclose(file);

    /* The temperature applies to the whole row, next to which the probability after it may be
     * logged. */
    r = read_one("{\"speclab_trace\": 1, \"vocab\": 3, \"temperature\": 0.5}\n"
                 "{\"token\": 1, \"target\": [0.2, 0.2, 0.6], "
                 "\"target_logprob\": -2.3978952727983707}\n",
                 &reader, &file);
    assert_near(r.target[2], 0.36 / 0.44, 1e-14);
    spec_trace_read_close(reader);
    fclose(file);

    /* Both lists contain tokens 4 and 7, so there are three cells. */
    r = read_one("{\"speclab_trace\": 1, \"vocab\": 20}\n"
                 "{\"token\": 2, \"target_top\": [[4, -1], [2, -2], [7, -3]], "
                 "\"draft_top\": [[7, -1.5], [4, -0.7], [0, -2]]}\n",
                 &reader, &file);
    assert_true(!r.whole && r.n_cells == 3 && r.cell == 2);
    assert_true(r.id[0] == 4 && r.id[1] == 7 && r.id[2] == -1);
    assert_near(r.target[1], exp(-3.0), 1e-14);
    assert_near(r.draft[1], exp(-1.5), 1e-14);
    assert_near(r.target[2], 1.0 - exp(-1.0) - exp(-3.0), 1e-14);
    assert_near(r.draft[2], 1.0 - exp(-1.5) - exp(-0.7), 1e-14);
    spec_trace_read_close(reader);
    fclose(file);

    /* Rounding gives no token a probability of 0. */
    r = read_one("{\"speclab_trace\": 1, \"vocab\": 9}\n{\"token\": 2, \"target_top\": [[4, 0]]}\n",
                 &reader, &file);
    assert_within(r.target[1], 1e-6, 1e-11);
    spec_trace_read_close(reader);
    fclose(file);
}

TEST(thousands_of_requests_keep_their_positions)
{
    enum { TEXTS = 5000 };
    FILE *file = tmpfile();
    spec_validation v;
    fputs(HEAD, file);
    for (int position = 5; position < 8; position++)
        for (int i = 0; i < TEXTS; i++)
            fprintf(file,
                    i % 2 ? "{\"request\": %d, \"position\": %d, \"token\": 1}\n"
                          : "{\"request\": \"%d\", \"position\": %d, \"token\": 1}\n",
                    i / 2, position);
    rewind(file);
    assert_works(spec_trace_validate_file(&v, file, "t", &SPEC_VALIDATE_PLAN_DEFAULT, &error));
    assert_int_equal(v.rounds, TEXTS);
    assert_int_equal(v.draws, 3 * TEXTS);
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    spec_validation_free(&v);
    fclose(file);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static spec_validate_verdict verdict_of(const char *sampler, const char *fixture,
                                        spec_trace_contents contents, uint64_t tokens,
                                        const char *reason)
{
    FILE *file = tmpfile();
    const spec_fixture_kind *kind;
    spec_validation v;
    assert_works(spec_fixture_find(&kind, fixture, &error));
    assert_works(
        spec_trace_write(file, sampler, kind, contents, tokens, spec_test_seed(), NULL, &error));
    rewind(file);
    assert_works(spec_trace_validate_file(&v, file, "t", &SPEC_VALIDATE_PLAN_DEFAULT, &error));
    const spec_validate_verdict verdict = v.verdict;
    if (strstr(v.reason, reason) == NULL) fail_msg("%s, not %s", v.reason, reason);
    spec_validation_free(&v);
    fclose(file);
    return verdict;
}

TEST(right_samplers_pass_with_rows_and_say_what_log_probabilities_alone_would_show, SLOW)
{
    static const char *const right[] = {"rule:token", "rule:block", "rule:match"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(verdict_of(right[i], "plain-4", SPEC_TRACE_ROWS, 8000, "no difference"),
                         SPEC_VERDICT_PASS);
        assert_int_equal(verdict_of(right[i], "zipf-16", SPEC_TRACE_TOP, 8000, "no difference"),
                         SPEC_VERDICT_PASS);
        assert_int_equal(
            verdict_of(right[i], "plain-4", SPEC_TRACE_LOGPROBS, 8000, "accepted without a test"),
            SPEC_VERDICT_INCONCLUSIVE);
    }
    assert_int_equal(verdict_of("rule:token", "plain-4", SPEC_TRACE_ROWS, 100, "too few tokens"),
                     SPEC_VERDICT_INCONCLUSIVE);
}

/* Forgetting the residual is the hardest to see: its TV is about .1. */
TEST(wrong_samplers_fail_whatever_the_trace_holds, SLOW)
{
    for (int c = 0; c < SPEC_TRACE_CONTENTS; c++) {
        const spec_trace_contents contents = (spec_trace_contents)c;
        assert_int_equal(verdict_of("rule:resample-target", "zipf-16", contents, 20000,
                                    "do not follow the recorded rows"),
                         SPEC_VERDICT_FAIL);
        assert_int_equal(verdict_of("mutant:accept-all", "zipf-16", contents, 4000,
                                    "do not follow the recorded rows"),
                         SPEC_VERDICT_FAIL);
    }
    assert_int_equal(verdict_of("mutant:accept-all", "target-zeros-8", SPEC_TRACE_LOGPROBS, 1000,
                                "whose probability is 0"),
                     SPEC_VERDICT_FAIL);
}

/* The model's rows are 8 decreasing probabilities that start at another token each time. The engine
 * keeps the 6 most probable tokens, renormalises, and keeps the fewest of these that have a mass of
 * .6. */
static void write_in_turn(FILE *file, const char *filters)
{
    enum { V = 8, TOKENS = 20000 };
    const spec_transform t = {.temperature = 1.0, .top_k = 6, .top_p = 0.6};
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_filter_order order;
    spec_rng_stream(rng, spec_test_seed(), 0);
    assert_int_equal(spec_filter_order_parse(&order, "chained", NULL), GSL_SUCCESS);
    fprintf(file, "{\"speclab_trace\": 1, \"vocab\": 8, \"top_k\": 6, \"top_p\": 0.6%s}\n",
            filters);
    for (int i = 0; i < TOKENS; i++) {
        double row[V], sum = 0.0, u = gsl_rng_uniform(rng);
        int workspace[V], token = 0;
        for (int x = 0; x < V; x++) sum += row[(x + i) % V] = exp(-0.2 * x);
        for (int x = 0; x < V; x++) row[x] /= sum;
        fprintf(file, "{\"position\": %d, \"target\": [", i);
        for (int x = 0; x < V; x++) fprintf(file, "%s%.9f", x > 0 ? ", " : "", row[x]);
        spec_filter_order_apply(&order, row, V, &t, workspace);
        while (u >= row[token]) u -= row[token++];
        fprintf(file, "], \"token\": %d}\n", token);
    }
    rewind(file);
}

TEST(filters_in_turn_pass_where_the_head_declares_them)
{
    static const char *const filters[] = {", \"filters\": \"temperature,top_k,top_p\"", "",
                                          ", \"filters\": \"joint\""};
    for (int i = 0; i < 3; i++) {
        FILE *file = tmpfile();
        spec_validation v;
        write_in_turn(file, filters[i]);
        assert_works(spec_trace_validate_file(&v, file, "t", &SPEC_VALIDATE_PLAN_DEFAULT, &error));
        assert_int_equal(v.verdict, i == 0 ? SPEC_VERDICT_PASS : SPEC_VERDICT_FAIL);
        assert_int_equal(strstr(v.reason, "filters were taken as joint: \"filters\" in the head") !=
                             NULL,
                         i == 1);
        spec_validation_free(&v);
        fclose(file);
    }
}

TEST(a_lossy_engine_may_say_so_and_a_test_may_be_chosen)
{
    static const char *const flat[] = {"flat-tilt", NULL}, *const none[] = {"flat-tlit", NULL};
    FILE *file = tmpfile();
    spec_validation v;
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    fputs("{\"speclab_trace\": 1, \"vocab\": 3, \"lossy\": true, \"engine\": \"mine\"}\n", file);
    for (int i = 0; i < 500; i++)
        fputs("{\"token\": 1, \"target_logprob\": -2.3, \"draft_logprob\": -1.1}\n", file);
    rewind(file);
    plan.opt_only = flat;
    assert_works(spec_trace_validate_file(&v, file, "t", &plan, &error));
    assert_int_equal(v.verdict, SPEC_VERDICT_LOSSY);
    assert_int_equal(v.result[0].n_findings, 1);
    assert_string_equal(v.about.name, "mine");
    spec_validation_free(&v);
    rewind(file);
    plan.opt_only = none;
    assert_fails(spec_trace_validate_file(&v, file, "t", &plan, &error), GSL_EINVAL,
                 "no test of traces is named 'flat-tlit'; did you mean 'flat-tilt'?");
    fclose(file);
    assert_fails(spec_trace_validate(&v, "/nowhere/t", &plan, &error), GSL_EFAILED,
                 "/nowhere/t: No such file or directory");
}

/* Findings about the engine are only suspicious: its text may be right. */
TEST(a_constant_coin_is_suspicious_but_no_fail)
{
    FILE *file = tmpfile();
    spec_validation v;
    fputs("{\"speclab_trace\": 1, \"vocab\": 1}\n", file);
    for (int i = 0; i < 1000; i++)
        fputs("{\"token\": 0, \"target\": [1], \"target_logprob\": 0, \"coin\": 0.27}\n", file);
    rewind(file);
    assert_works(spec_trace_validate_file(&v, file, "t", &SPEC_VALIDATE_PLAN_DEFAULT, &error));
    assert_int_equal(v.verdict, SPEC_VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(v.reason, "suspicious, by the test 'coin'"));
    spec_validation_free(&v);
    fclose(file);
}
