/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/pass_fit.h"

#include "sim/serving/step_cost.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

static void write_file(const char *name, const char *text)
{
    FILE *out = fopen(name, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static double seconds(const char *spec, int64_t tokens, int64_t kv)
{
    const spec_step_work at = {
        .decode_tokens = tokens, .kv_tokens = kv, .decoding = (int)tokens, .passes = 0};
    spec_step_cost *cost;
    assert_works(spec_step_cost_create(&cost, spec, NULL, &error));
    const double time = spec_step_cost_target(cost, &at);
    spec_step_cost_free(cost);
    return time;
}

/* ---- formats: the shapes that the programs write --------------------------------------------- */

static const char batched_bench[] =
    "{\"n_kv_max\": 2048, \"n_batch\": 2048, \"pp\": 100, \"tg\": 50, \"pl\": 1, \"n_kv\": 150, "
    "\"t_pp\": 0.2, \"speed_pp\": 500.0, \"t_tg\": 0.5, \"speed_tg\": 100.0, \"t\": 0.7}\n"
    "{\"n_kv_max\": 2048, \"n_batch\": 2048, \"pp\": 100, \"tg\": 50, \"pl\": 4, \"n_kv\": 600, "
    "\"t_pp\": 0.2, \"speed_pp\": 500.0, \"t_tg\": 0.8, \"speed_tg\": 250.0, \"t\": 1.0}\n";
static const char one_batch[] =
    "{\"run_name\": \"default\", \"batch_size\": 2, \"input_len\": 64, \"output_len\": 1, "
    "\"prefill_latency\": 0.1}\n"
    "{\"run_name\": \"default\", \"batch_size\": 8, \"input_len\": 64, \"output_len\": 16, "
    "\"prefill_latency\": 0.1, \"median_decode_latency\": 0.0125, "
    "\"median_decode_throughput\": 640.0}\n";
static const char bench_serve[] =
    "{\"date\": \"20261129\", \"max_concurrency\": 4, \"completed\": 10, "
    "\"total_input_tokens\": 1000, \"total_output_tokens\": 400, \"mean_tpot_ms\": 9.5, "
    "\"median_tpot_ms\": 9.4, \"spec_decode_acceptance_length\": null}\n";
static const char bench_latency[] =
    "{\n    \"avg_latency\": 1.28,\n    \"latencies\": [\n        1.27,\n        1.29\n    ],\n"
    "    \"percentiles\": {\"50\": 1.28}\n}\n";

TEST(points_are_steps_of_decoding)
{
    static const struct {
        const char *text, *query;
        int n;
        spec_pass_point first, last;
    } files[] = {
        {batched_bench, "", 2, {1, 125, 0.01}, {4, 500, 0.016}},
        {one_batch, "", 1, {8, 8 * 72, 0.0125}, {8, 8 * 72, 0.0125}},
        {bench_serve, "", 1, {4, 4 * 120, 0.0095}, {4, 4 * 120, 0.0095}},
        {bench_latency, "", 1, {8, 8 * 96, 0.01}, {8, 8 * 96, 0.01}},
        {bench_latency, "?batch=2&input=10&output=64", 1, {2, 2 * 42, 0.02}, {2, 2 * 42, 0.02}},
        {"batch,tokens,ms\n1,1,7.1\n2,8,7.4\n", "", 2, {1, 0, 0.0071}, {8, 0, 0.0074}},
        {"batch,tokens,kv_tokens,ms\n3,3,900,7\n", "", 1, {3, 900, 0.007}, {3, 900, 0.007}},
    };
    static spec_pass_points points;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char spec[80];
        OWNED(spec_settings) settings;
        write_file("times", files[i].text);
        snprintf(spec, sizeof spec, "fit:times%s", files[i].query);
        assert_works(spec_settings_init(&settings, spec, &error));
        assert_works(spec_pass_points_read(&points, &settings, &error));
        assert_int_equal(points.n, files[i].n);
        const spec_pass_point *const expected[] = {&files[i].first, &files[i].last},
                                     *const found[] = {&points.at[0], &points.at[points.n - 1]};
        for (int k = 0; k < 2; k++) {
            assert_near(found[k]->tokens, expected[k]->tokens, 1e-14);
            assert_near(found[k]->kv_tokens, expected[k]->kv_tokens, 1e-14);
            assert_near(found[k]->seconds, expected[k]->seconds, 1e-14);
        }
    }
}

/* ---- fits ------------------------------------------------------------------------------------ */

TEST(two_points_give_the_step_and_the_token)
{
    write_file("two.csv", "batch,tokens,ms\n1,1,7.2\n9,9,8.8\n");
    assert_near(seconds("fit:two.csv", 1, 0), 7.2e-3, 1e-12);
    assert_near(seconds("fit:two.csv", 101, 0), 7e-3 + 101 * 0.2e-3, 1e-12);
    assert_near(seconds("fit:two.csv?kv=40ns", 1, 1000) - seconds("fit:two.csv?kv=40ns", 1, 0),
                40e-6, 1e-12);
}

/* Points that follow a known cost, with different contexts, give the cost back. */
TEST(points_of_a_cost_give_it_back)
{
    FILE *out = fopen("many.csv", "w");
    assert_non_null(out);
    fputs("batch,tokens,kv_tokens,ms\n", out);
    for (int b = 1; b <= 64; b *= 2)
        for (int context = 100; context <= 1000; context += 900)
            fprintf(out, "%d,%d,%d,%.12g\n", b, b, b * context,
                    1e3 * (6.5e-3 + 23e-6 * b + 41e-9 * b * context));
    assert_int_equal(fclose(out), 0);
    assert_near(seconds("fit:many.csv", 20, 7000), 6.5e-3 + 23e-6 * 20 + 41e-9 * 7000, 1e-9);
}

/* Second route: the formulas of a weighted line, through points that are not on it. */
TEST(the_step_has_the_interval_of_a_weighted_line)
{
    static const double tokens[] = {1, 2, 4, 8, 16}, ms[] = {7.1, 7.0, 7.3, 7.2, 7.6};
    double s = 0, sx = 0, sxx = 0, sy = 0, sxy = 0, rest = 0;
    char text[200] = "batch,tokens,ms\n";
    for (int i = 0; i < 5; i++) {
        const double w = 1.0 / (ms[i] * ms[i]);
        s += w, sx += w * tokens[i], sxx += w * tokens[i] * tokens[i];
        sy += w * ms[i], sxy += w * tokens[i] * ms[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%g,%g,%g\n", tokens[i],
                 tokens[i], ms[i]);
    }
    const double det = s * sxx - sx * sx, step = (sxx * sy - sx * sxy) / det,
                 slope = (s * sxy - sx * sy) / det;
    for (int i = 0; i < 5; i++) rest += pow((step + slope * tokens[i]) / ms[i] - 1.0, 2);
    const double half = gsl_cdf_tdist_Pinv(0.975, 3) * sqrt(rest / 3 * sxx / det);
    write_file("five.csv", text);
    assert_near(seconds("fit:five.csv", 1, 0), 1e-3 * (step + slope), 1e-10);
    assert_near(seconds("fit:five.csv?step=low", 1, 0), 1e-3 * (step - half + slope), 1e-10);
    assert_near(seconds("fit:five.csv?step=high", 1, 0), 1e-3 * (step + half + slope), 1e-10);
    char spec[100];
    assert_true(spec_step_cost_corner(spec, sizeof spec, "fit:five.csv", false, 4));
    assert_string_equal(spec, "fit:five.csv?step=high");
    assert_true(spec_step_cost_corner(spec, sizeof spec, "fit:five.csv?kv=0", false, 0));
    assert_string_equal(spec, "fit:five.csv?kv=0&step=low");
}

TEST(no_time_is_negative)
{
    write_file("falls.csv", "batch,tokens,ms\n1,1,8\n9,9,7\n17,17,7.5\n");
    const double step = seconds("fit:falls.csv", 1, 0);
    assert_near(seconds("fit:falls.csv", 100, 0), step, 1e-12);
    assert_true(step > 7e-3 && step < 8e-3);
}

#define MACHINE "flops=1000TFLOPS&bandwidth=1TB/s&parameters=5B&kv_bytes=1kB"

/* On this machine a pass takes 10 ms for the weights, 10 us per token and 1 ns per KV token. */
TEST(one_point_gives_the_overhead_of_a_machine)
{
    write_file("one.csv", "batch,tokens,kv_tokens,ms\n4,4,2000,13.042\n");
    assert_near(seconds("fit:one.csv?" MACHINE, 1, 0), 3e-3 + 10.01e-3, 1e-12);
    assert_near(seconds("fit:one.csv?" MACHINE "&experts=8&active=2&active_parameters=5B", 4, 2000),
                13.042e-3, 1e-12);
    write_file("fast.csv", "batch,tokens,kv_tokens,ms\n4,4,2000,5.021\n");
    assert_near(seconds("fit:fast.csv?" MACHINE, 1, 0), 5.005e-3, 1e-12);
}

/* If all contexts are equal, the time of a KV token is the machine's; with form=max the overheads
 * of the points are averaged. */
TEST(a_machine_gives_what_points_do_not)
{
    write_file("two.csv", "batch,tokens,kv_tokens,ms\n1,1,500,12.0205\n9,9,4500,12.1845\n");
    assert_near(seconds("fit:two.csv?" MACHINE, 9, 0), 12.18e-3, 1e-9);
    write_file("max.csv", "batch,tokens,ms\n1,1,12\n9,9,12\n");
    assert_near(seconds("fit:max.csv?" MACHINE "&form=max", 5, 0), 12e-3, 1e-12);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* docs/formats.md#fits has the required fields of each format in one row. */
TEST(the_documents_name_all_required_fields)
{
    char line[1024], docs[4200];
    const char *program, *field;
    snprintf(docs, sizeof docs, "%s/docs/formats.md", spec_folder_before);
    for (int format = 0; spec_pass_fit_fields(&program, format, 0) != NULL; format++) {
        FILE *in = fopen(docs, "r");
        bool found = false;
        assert_non_null(in);
        while (!found && fgets(line, sizeof line, in) != NULL) {
            found = line[0] == '|';
            for (int i = 0; found && (field = spec_pass_fit_fields(&program, format, i)); i++) {
                char quoted[64];
                snprintf(quoted, sizeof quoted, "`%s`", field);
                found = strstr(line, quoted) != NULL;
            }
        }
        fclose(in);
        if (!found) fail_msg("docs/formats.md: no row has all fields of %s", program);
    }
}

TEST(wrong_files_are_refused_in_one_line)
{
    static const struct {
        const char *text, *query, *expected;
    } bad[] = {
        {"a,b\n1,2\n", "", "neither JSON of llama-batched-bench"},
        {"{\"pl\": 1, \"t_tg\": 2}", "",
         "row 1: 'pp' is missing; llama-batched-bench needs pl, t_tg, pp, tg"},
        {"{\"batch_size\": 2, \"prefill_latency\": 2, \"input_len\": 9}", "",
         "row 1: 'output_len' is missing; bench_one_batch needs batch_size, prefill_latency, "
         "input_len, output_len"},
        {"{\"pl\": 1, \"t_tg\": 2, \"tg\": 1}\n{\"pl\": tru", "", "times:2: "},
        {"batch,tokens,ms\n1,1,7\n2,0,7\n", "", "row 2: 'tokens' is not a number from 1 to 1e+12"},
        {"batch,tokens,ms\n1,1,7\n4,1,8\n", "", "row 2: tokens counts those of all requests"},
        {"batch,tokens,ms\n1,1,-7\n", "", "row 1: 'ms' is not a number"},
        {"batch,tokens,ms\n1,1,nan\n", "", "row 1: 'ms' is not a number"},
        {"batch,tokens,ms\n4,4,7\n4,4,7.1\n", "",
         "all points have one batch size; measure a second one, or give card= and parameters="},
        {"{\"mean_tpot_ms\": 7, \"total_output_tokens\": 9}", "",
         "row 1: 'max_concurrency' is missing; vllm bench serve --max-concurrency N needs "},
        {"{\"mean_tpot_ms\": 7, \"total_output_tokens\": 9, \"max_concurrency\": 1, "
         "\"completed\": 2, \"total_input_tokens\": 8, \"spec_decode_acceptance_length\": "
         "2.1}",
         "", "the run has speculation; a fit needs plain decoding"},
        {"{\"batch_size\": 1, \"input_len\": 4, \"output_len\": 1, \"prefill_latency\": 1}", "",
         "no step of decoding is timed"},
        {"batch,tokens,ms\n1,1,7\n2,2,8\n", "?step=higher", "is not one of low, central or high"},
        {"batch,tokens,ms\n1,1,7\n2,2,8\n", "?overhead=1ms", "fit has no key 'overhead'"},
        {"batch,tokens,ms\n1,1,7\n", "?card=H100", "give the number of parameters"},
        {"", "", "times"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char spec[80];
        spec_step_cost *cost;
        spec_error error = {""};
        write_file("times", bad[i].text);
        snprintf(spec, sizeof spec, "fit:times%s", bad[i].query);
        assert_int_not_equal(spec_step_cost_create(&cost, spec, NULL, &error), 0);
        assert_null(cost);
        assert_null(strchr(error.text, '\n'));
        if (strstr(error.text, bad[i].expected) == NULL)
            fail_msg("'%s' lacks '%s'", error.text, bad[i].expected);
    }
}

TEST(a_cost_says_what_its_fit_gives)
{
    spec_step_cost *cost;
    write_file("two.csv", "batch,tokens,ms\n1,1,7.2\n9,9,8.8\n");
    assert_works(spec_step_cost_create(&cost, "fit:two.csv", NULL, &error));
    assert_non_null(strstr(spec_step_cost_warning(cost),
                           "two.csv: 2 points give step=7ms, token=200us, kv=0ns (given)"));
    spec_step_cost_free(cost);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
