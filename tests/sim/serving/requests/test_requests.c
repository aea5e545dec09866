/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/requests.h"

#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { N = 3000, ROWS = 40, CELLS = 3000 };

static spec_requests requests_of(const char *arrivals, const char *prompt, const char *output,
                                 const char *alpha)
{
    spec_requests requests = {.speed = 1.0};
    spec_error error = {""};
    if (spec_arrivals_init(&requests.arrivals, arrivals, 4.0, &error) != GSL_SUCCESS ||
        spec_length_law_init(&requests.prompt, prompt, 0, &error) != GSL_SUCCESS ||
        spec_length_law_init(&requests.output, output, 1, &error) != GSL_SUCCESS ||
        spec_alpha_law_init(&requests.alpha, alpha, 0.7, &error) != GSL_SUCCESS ||
        spec_requests_check(&requests, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    return requests;
}

/* Takes the first n requests of a stream, or all; returns their number. */
static int take(spec_request *ret, int n, const spec_requests *requests, uint64_t stream)
{
    const spec_request_source source = spec_requests_source(requests);
    void *cursor = source.begin(source.self, 42, stream);
    assert_non_null(cursor);
    int taken = 0;
    while (taken < n && source.next(cursor, &ret[taken])) taken++;
    source.end(cursor);
    return taken;
}

/* ---- laws ------------------------------------------------------------------------------------ */

TEST(a_stream_gives_the_same_requests_again)
{
    const spec_requests requests =
        requests_of("gamma?cv=2", "lognormal", "geometric", "beta?concentration=5");
    static spec_request a[N], b[N];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    assert_int_equal(take(a, N, &requests, 3), N);
    take(b, N, &requests, 3);
    assert_memory_equal(a, b, sizeof a);
    take(b, N, &requests, 4);
    int same = 0;
    for (int i = 0; i < N; i++) same += a[i].arrival == b[i].arrival || a[i].alpha == b[i].alpha;
    assert_int_equal(same, 0);
    for (int i = 1; i < N; i++)
        assert_true(a[i].arrival >= a[i - 1].arrival && a[i].replay == -1 && a[i].output >= 1);
}

/* With common random numbers, another law changes only its own draws. */
TEST(laws_have_random_streams_of_their_own)
{
    static spec_request a[N], b[N];
    const spec_requests one = requests_of("poisson", "lognormal", "geometric", "beta");
    const spec_requests other = requests_of("poisson", "lognormal", "77", "two?spread=0.1");
    take(a, N, &one, 0);
    take(b, N, &other, 0);
    for (int i = 0; i < N; i++) {
        assert_true(a[i].arrival == b[i].arrival && a[i].prompt == b[i].prompt);
        assert_int_equal(b[i].output, 77);
    }
    const spec_requests third = requests_of("even", "300", "geometric", "beta");
    take(b, N, &third, 0);
    for (int i = 0; i < N; i++)
        assert_true(a[i].output == b[i].output && a[i].alpha == b[i].alpha && b[i].prompt == 300);
}

/* Compares outputs and prompts of a stream with the law that theory uses. */
TEST(outputs_have_the_law_for_theory, STATISTICS)
{
    const spec_requests requests =
        requests_of("poisson", "uniform?low=5&high=15", "lognormal?mean=60&sigma=0.9", "beta");
    OWNED(spec_requests_law) law;
    assert_int_equal(spec_requests_law_init(&law, &requests, NULL), GSL_SUCCESS);
    static uint64_t counts[CELLS];
    static double probability[CELLS];
    double sum = 0.0, mean = 0.0;
    for (int l = 0; l <= law.most; l++) {
        assert_true(law.output[l] >= 0.0);
        if (law.output[l] > 0.0) assert_same(law.prompt[l], 10.0);
        sum += law.output[l];
        mean += l * law.output[l];
        probability[l < 250 ? l : 250] += law.output[l];
    }
    assert_within(sum, 1.0, 1e-12);
    assert_near(mean, spec_length_law_mean(&requests.output), 1e-12);
    assert_same(law.mean_output, mean);
    assert_same(law.mean_prompt, 10.0);
    assert_near(law.mean_prompt_square, 110.0, 1e-14); /* the variance of 11 numbers is 10 */
    assert_int_equal(law.n_alpha, SPEC_ALPHA_NODES);

    const uint64_t n = spec_test_samples(200000);
    const spec_request_source source = spec_requests_source(&requests);
    void *cursor = source.begin(source.self, spec_test_seed(), 1);
    spec_request request;
    for (uint64_t i = 0; i < n; i++) {
        assert_true(source.next(cursor, &request));
        counts[request.output < 250 ? request.output : 250]++;
    }
    source.end(cursor);
    assert_true((double)n * probability[1] > 5.0);
    assert_false(spec_battery_rejects(spec_battery_chi_square(counts + 1, probability + 1, 250)));
}

TEST(the_law_of_a_number_is_one_length)
{
    const spec_requests requests = requests_of("poisson", "0", "256", "one");
    OWNED(spec_requests_law) law;
    assert_int_equal(spec_requests_law_init(&law, &requests, NULL), GSL_SUCCESS);
    assert_int_equal(law.most, 256);
    for (int l = 0; l <= 256; l++) assert_same(law.output[l], l == 256 ? 1.0 : 0.0);
    assert_true(law.mean_output == 256.0 && law.mean_prompt == 0.0 && law.n_alpha == 1);
    assert_same(law.alpha[0], 0.7);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double times[ROWS];
static int32_t prompts[ROWS], outputs[ROWS];

/* Row i arrives at i / 2 s with a prompt of 100 + i and an output of 1 + i / 2 tokens. */
static spec_request_trace trace_of_rows(void)
{
    for (int i = 0; i < ROWS; i++) {
        times[i] = 0.5 * i;
        prompts[i] = 100 + i;
        outputs[i] = 1 + i / 2;
    }
    return (spec_request_trace){.n = ROWS, .arrival = times, .prompt = prompts, .output = outputs};
}

TEST(a_trace_comes_in_its_order_and_ends)
{
    const spec_request_trace trace = trace_of_rows();
    spec_requests requests = {
        .arrivals = {.kind = SPEC_ARRIVALS_TRACE}, .speed = 4.0, .opt_trace = &trace};
    assert_int_equal(spec_alpha_law_init(&requests.alpha, "beta", 0.6, NULL), GSL_SUCCESS);
    assert_int_equal(spec_requests_check(&requests, NULL), GSL_SUCCESS);
    static spec_request got[N];
    assert_int_equal(take(got, N, &requests, 1), ROWS);
    for (int i = 0; i < ROWS; i++) {
        assert_same(got[i].arrival, 0.125 * i);
        assert_true(got[i].prompt == 100 + i && got[i].output == 1 + i / 2);
        assert_true(i == 0 || got[i].alpha != got[i - 1].alpha);
    }
}

/* With a rate, rows are drawn uniformly, and prompt and output stay together. */
TEST(a_rate_draws_whole_rows_of_a_trace)
{
    const spec_request_trace trace = trace_of_rows();
    spec_requests requests = requests_of("poisson", "1", "1", "one");
    requests.prompt = requests.output = (spec_length_law){0};
    requests.opt_trace = &trace;
    uint64_t counts[ROWS] = {0};
    double probability[ROWS];
    const spec_request_source source = spec_requests_source(&requests);
    void *cursor = source.begin(source.self, spec_test_seed(), 1);
    spec_request request;
    double last = 0.0;
    for (int i = 0; i < 40000; i++) {
        assert_true(source.next(cursor, &request));
        const int row = request.prompt - 100;
        assert_int_equal(request.output, 1 + row / 2);
        assert_true(request.arrival > last);
        last = request.arrival;
        counts[row]++;
    }
    source.end(cursor);
    for (int i = 0; i < ROWS; i++) probability[i] = 1.0 / ROWS;
    assert_false(spec_battery_rejects(spec_battery_chi_square(counts, probability, ROWS)));
    assert_near(last, 40000 / 4.0, 0.05);
}

TEST(rows_drawn_by_length_have_shares_by_their_output)
{
    int32_t prompt[] = {5, 6, 7}, output[] = {1, 3, 12};
    const spec_request_trace trace = {.n = 3, .prompt = prompt, .output = output};
    const spec_requests requests = {.opt_trace = &trace, .arrivals = {SPEC_ARRIVALS_POISSON, 4, 0}};
    const spec_requests by_length = spec_requests_by_length(&requests);
    static spec_request of[N];
    double count[3] = {0};
    assert_near(spec_requests_mean_output(&requests), 16.0 / 3.0, 1e-15);
    assert_near(spec_requests_mean_context(&requests), 184.0 / 16.0, 1e-15);
    assert_int_equal(take(of, N, &by_length, 1), N);
    for (int i = 0; i < N; i++) {
        const int row = of[i].prompt - 5;
        assert_true(of[i].output == output[row] && of[i].arrival == 0.0);
        count[row]++;
    }
    for (int row = 0; row < 3; row++) {
        const double share = output[row] / 16.0;
        assert_true(fabs(count[row] / N - share) < 5.0 * sqrt(share * (1.0 - share) / N));
    }
}

/* The squares are 1, 9 and 144: the longest row has more than 5 % of them, and two rows have more
 * than 94 %. */
TEST(the_longest_rows_hold_their_share_of_the_squares)
{
    int32_t prompt[] = {5, 6, 7}, output[] = {3, 12, 1};
    const spec_request_trace trace = {.n = 3, .prompt = prompt, .output = output};
    const spec_requests requests = {.opt_trace = &trace};
    double chance;
    assert_works(spec_requests_longest(&chance, &requests, 0.05, &error));
    assert_near(chance, 1.0 / 3.0, 1e-15);
    assert_works(spec_requests_longest(&chance, &requests, 0.94, &error));
    assert_near(chance, 2.0 / 3.0, 1e-15);
}

TEST(the_law_of_rows_is_their_shares)
{
    const spec_request_trace trace = trace_of_rows();
    spec_requests requests = {
        .arrivals = {.kind = SPEC_ARRIVALS_TRACE}, .speed = 1.0, .opt_trace = &trace};
    requests.alpha = (spec_alpha_law){.kind = SPEC_ALPHA_ONE, .mean = 0.3};
    OWNED(spec_requests_law) law;
    assert_int_equal(spec_requests_law_init(&law, &requests, NULL), GSL_SUCCESS);
    assert_int_equal(law.most, ROWS / 2);
    assert_same(law.output[0], 0.0);
    for (int l = 1; l <= law.most; l++) {
        assert_near(law.output[l], 2.0 / ROWS, 1e-15);
        assert_same(law.prompt[l], 100 + 2 * (l - 1) + 0.5);
    }
    assert_near(law.mean_prompt, 100 + 0.5 * (ROWS - 1), 1e-15);
    assert_near(law.mean_prompt_square - law.mean_prompt * law.mean_prompt,
                (ROWS * ROWS - 1) / 12.0, 1e-10);
    assert_near(law.mean_output, 0.5 * (1 + ROWS / 2), 1e-14);
    spec_requests_law_free(&law);

    requests.prompt =
        (spec_length_law){.kind = SPEC_LENGTH_NUMBER, .low = 7, .most = 7, .mean = 7.0};
    assert_int_equal(spec_requests_law_init(&law, &requests, NULL), GSL_SUCCESS);
    assert_same(law.prompt[3], 7.0);
    assert_same(law.mean_prompt, 7.0);
}

TEST(without_arrivals_all_are_there_at_once)
{
    const spec_request_trace trace = trace_of_rows();
    spec_requests requests = {.opt_trace = &trace};
    static spec_request got[N];
    assert_int_equal(spec_requests_check(&requests, NULL), GSL_SUCCESS);
    assert_int_equal(take(got, N, &requests, 1), N);
    for (int i = 0; i < N; i++) assert_same(got[i].arrival, 0.0);
}

/* ---- accepted lengths ------------------------------------------------------------------------ */

static spec_accepted_lengths accepted_of(const char *text)
{
    spec_accepted_lengths accepted;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_works(spec_accepted_lengths_read(&accepted, file, "x", NULL, &error));
    fclose(file);
    return accepted;
}

TEST(requests_replay_accepted_lengths_drawn_uniformly)
{
    OWNED(spec_accepted_lengths) accepted =
        accepted_of("{\"prompt_token_ids\": [1, 2], \"acc\": {\"acc_len\": [1, 3, 2, 1, 1]}}\n"
                    "{\"prompt_token_ids\": [1, 2, 3], \"acc\": {\"acc_len\": [1, 1, 2]}}\n"
                    "{\"prompt_token_ids\": [], \"acc\": {\"acc_len\": [1, 3]}}\n");
    spec_requests requests = requests_of("even", "1", "1", "one");
    requests.prompt = requests.output = (spec_length_law){0};
    requests.opt_accepted = &accepted;
    assert_int_equal(spec_requests_check(&requests, NULL), GSL_SUCCESS);
    static spec_request got[N];
    assert_int_equal(take(got, N, &requests, 0), N);
    uint64_t counts[3] = {0};
    for (int i = 0; i < N; i++) {
        const int r = got[i].replay;
        assert_true(r >= 0 && r < 3);
        assert_int_equal(got[i].prompt, accepted.prompt[r]);
        assert_int_equal(got[i].output, accepted.output[r]);
        assert_same(got[i].alpha, accepted.alpha[r]);
        counts[r]++;
    }
    const double third[] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
    assert_false(spec_battery_rejects(spec_battery_chi_square(counts, third, 3)));
    spec_requests_law law;
    assert_int_equal(spec_requests_law_init(&law, &requests, NULL), GSL_SUCCESS);
    assert_true(law.most == 5 && law.n_alpha == 0);
    assert_near(law.output[2], 1.0 / 3.0, 1e-15);
    assert_same(law.prompt[3], 3.0);
    spec_requests_law_free(&law);

    /* with a trace, lengths are the trace's */
    const spec_request_trace trace = trace_of_rows();
    requests.opt_trace = &trace;
    requests.arrivals.kind = SPEC_ARRIVALS_TRACE;
    assert_int_equal(take(got, N, &requests, 0), ROWS);
    for (int i = 0; i < ROWS; i++)
        assert_true(got[i].prompt == 100 + i && got[i].replay >= 0 && got[i].replay < 3);

    /* and the rows that a rate draws do not depend on what they replay */
    static spec_request other[N];
    requests.arrivals.kind = SPEC_ARRIVALS_EVEN;
    take(got, N, &requests, 0);
    requests.opt_accepted = NULL;
    take(other, N, &requests, 0);
    int differ = 0;
    for (int i = 0; i < N; i++) {
        assert_int_equal(got[i].prompt, other[i].prompt);
        differ += (got[i].prompt - 100) * 3 / ROWS != got[i].replay;
    }
    assert_true(differ > N / 2);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void refused(const spec_requests *requests, const char *text)
{
    spec_error error = {""};
    assert_int_not_equal(spec_requests_check(requests, &error), GSL_SUCCESS);
    assert_string_equal(error.text, text);
}

TEST(missing_parts_are_refused)
{
    OWNED(spec_accepted_lengths) accepted = accepted_of("1 2 3\n");
    spec_request_trace trace = trace_of_rows();
    spec_requests requests = requests_of("poisson", "5", "5", "one");
    requests.output.kind = SPEC_LENGTH_OF_ROW;
    refused(&requests, "there is no output length: give one, as in --output 256");
    requests.opt_accepted = &accepted;
    refused(&requests, "there is no output length: give one, as in --output 256");
    requests.prompt.kind = SPEC_LENGTH_OF_ROW;
    refused(&requests, "there is no prompt length: give one, as in --prompt 512");
    requests.arrivals.kind = SPEC_ARRIVALS_TRACE;
    refused(&requests, "there is no trace to take arrivals from");
    requests.opt_trace = &trace;
    assert_int_equal(spec_requests_check(&requests, NULL), GSL_SUCCESS);
    static const double speeds[] = {0.0, -1.0, NAN, 1e-320};
    static const char *const lines[] = {"a speed of 0 is not a number above 0",
                                        "a speed of -1 is not a number above 0",
                                        "a speed of nan is not a number above 0",
                                        "a speed of 9.99989e-321 is not a number above 0"};
    for (int i = 0; i < 4; i++) {
        requests.speed = speeds[i];
        refused(&requests, lines[i]);
    }
    trace.arrival = NULL;
    refused(&requests, "the trace has lengths but no times of arrival: give a rate");
}
