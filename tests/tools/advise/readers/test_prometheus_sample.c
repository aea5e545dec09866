/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/prometheus_scrape.h"

#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

#include <locale.h>

static read_lines r;

static spec_prometheus_sample sample(const char *text)
{
    spec_prometheus_sample s;
    const spec_log_record record = {.bytes = text, .n = strlen(text), .file = "x", .line = 1};
    assert_works(spec_prometheus_sample_read(&s, &record, &error));
    return s;
}

TEST(numbers_have_all_forms)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"a 0", 0},
                 {"a -1.5", -1.5},
                 {"a\t+2", 2},
                 {"a 1.234567e+06", 1234567},
                 {"a 9.007199254740992e+15 ", 0x1p53},
                 {"a 5E-3", 0.005},
                 {"a .25", 0.25},
                 {"a 1.", 1},
                 {"a 12345678901234567890123", 12345678901234567890123.0},
                 {"a 0.1\r", 0.1},
                 {"a 1e999", INFINITY},
                 {"a 1e-999", 0},
                 {"a 1e99999999999999999999", INFINITY},
                 {"a NaN", NAN},
                 {"a +Inf", INFINITY},
                 {"a -Inf", -INFINITY},
                 {"a 3 # {trace_id=\"x\"} 0.67", 3}};
    setlocale(LC_ALL, "de_DE.UTF-8");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        near_check(sample(cases[i].text).value, cases[i].value, 1e-15 * fabs(cases[i].value),
                   cases[i].text, __FILE__, __LINE__);
    setlocale(LC_ALL, "C");
    assert_same(sample("a{} 1 1700000000500").stamp, 1700000000.5);
    assert_nan(sample("a 1").stamp);
}

TEST(labels_become_hashes)
{
    const spec_prometheus_sample a = sample("a{model_name=\"m\",engine=\"0\"} 1");
    const spec_prometheus_sample b = sample("a{engine=\"0\", model_name=\"m\", } 1");
    const spec_prometheus_sample c = sample("a{engine=\"1\",model_name=\"m\"} 1");
    const spec_prometheus_sample d = sample("a{engine=\"1\",model_name=\"m\",rank=\"\\\"}\"} 1");
    const spec_prometheus_sample e = sample("a{position=\"12\",rank=\"2\"} 1");
    assert_true(a.label == b.label && a.series == b.series);
    assert_true(a.label != c.label && a.series != c.series);
    assert_true(d.label == c.label && d.series != c.series);
    assert_int_equal(e.label, 0);
    assert_int_equal(e.position, 12);
    assert_int_equal(a.position, -1);
    assert_true(e.series == sample("a{rank=\"2\",position=\"1\"} 1").series);
    assert_true(e.series != sample("b{rank=\"2\",position=\"1\"} 1").series);
}

TEST(malformed_samples_are_refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"vllm:generation_tokens_total{model_name=\"m\n",
         "x:1: Prometheus sample: expected '\"' after a label; the line is truncated, not ''"},
        {"vllm:generation_tokens_total{model_name=\"m\"\n",
         "x:1: Prometheus sample: expected ',' or '}' after a label, not ''"},
        {"vllm:generation_tokens_total{model_name\n",
         "x:1: Prometheus sample: expected '=\"', not ''"},
        {"vllm:generation_tokens_total{\"m\"} 1\n",
         "x:1: Prometheus sample: expected a label or '}', not '\"m\"} 1'"},
        {"vllm:generation_tokens_total{} \n",
         "x:1: Prometheus sample: expected a number; the line is truncated or has another one in "
         "it, not ''"},
        {"vllm:generation_tokens_total 1e+\n",
         "x:1: Prometheus sample: expected a number; the line is truncated or has another one in "
         "it, not '1e+'"},
        {"vllm:generation_tokens_total 12vllm:x 1\n",
         "x:1: Prometheus sample: expected a number; the line is truncated or has another one in "
         "it, not '12vllm:x 1'"},
        {"vllm:generation_tokens_total 1 2x\n",
         "x:1: Prometheus sample: expected a number; the line is truncated or has another one in "
         "it, not '2x'"},
        {"vllm:num_requests_running 12,5\n",
         "x:1: Prometheus sample: expected a decimal point in place of the comma, not '12,5'"},
        {"vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"-1\"} 1\n",
         "x:1: Prometheus sample: expected a whole number as position, not '-1\"} 1'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_lines_fails(&spec_reader_prometheus_vllm, cases[i].text, GSL_EINVAL, cases[i].error);
}

/* Any beginning of a sample is read or refused, and no byte beyond it is read. */
TEST(cut_samples_do_no_harm)
{
    static const char line[] = "vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"a\\"
                               "\"b\",engine=\"0\",position=\"0\"} 1.25e+03 1700000000000";
    char cut[sizeof line];
    for (size_t n = 0; n < sizeof line; n++) {
        snprintf(cut, sizeof cut, "%.*s", (int)n, line);
        read_lines_with(&r, &spec_reader_prometheus_vllm, cut, -1);
    }
}

TEST(other_lines_are_passed_over)
{
    read_lines_of(&r, &spec_reader_prometheus_vllm,
                  "vllm: error: unrecognized arguments\nvllm:\nvllm:x\nvllm:x y\n# vllm:x 1\n", -1);
    assert_int_equal(r.n, 0);
}
