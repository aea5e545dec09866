/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the settings for each engine and generation against the engines' documentation
 * (docs/engines.md). */
#include "tests/support/support.h"
#include "tests/tools/advise/advice_facts.h"

static const double passed[3] = {46, 37, 25};
static spec_sentences text;

static const char *setting(advice_facts *f, const char *engine, int K)
{
    f->format.engine = engine;
    spec_engine_setting(text, &f->source.summary, &f->advice, K);
    return text;
}

static void assert_has(const char *whole, const char *words)
{
    if (strstr(whole, words) == NULL) fail_msg("no '%s' in '%s'", words, whole);
}

/* TGI's metrics are refused, so there is no advice about it. */
TEST(every_format_has_an_engine_and_every_engine_a_format)
{
    for (int i = 0; spec_log_formats[i] != NULL; i++) {
        const spec_log_summary read = {.format = spec_log_formats[i]};
        if (strcmp(spec_log_formats[i]->engine, "any") != 0 &&
            strcmp(spec_log_formats[i]->engine, "tgi") != 0 &&
            strcmp(spec_engine_of(&read)->engine, spec_log_formats[i]->engine) != 0)
            fail_msg("engine_settings.c has no engine '%s'", spec_log_formats[i]->engine);
    }
    for (const spec_engine *e = spec_engines; e->engine != NULL; e++) {
        int i = 0;
        while (spec_log_formats[i] != NULL && strcmp(spec_log_formats[i]->engine, e->engine) != 0)
            i++;
        if (spec_log_formats[i] == NULL) fail_msg("no format of '%s'", e->engine);
    }
    assert_string_equal(spec_engine_of(NULL)->engine, "any");
}

TEST(every_engine_has_a_setting_on_and_off)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, passed);
    for (const spec_engine *e = spec_engines; e->engine != NULL; e++) {
        assert_true(strstr(setting(&f, e->engine, 7), "7") != NULL ||
                    strstr(text, "8") != NULL); /* a block of 8 */
        assert_true(strlen(setting(&f, e->engine, 0)) > 10);
        assert_true(strlen(e->run.plain) > 10 && strlen(e->title) > 2);
    }
    spec_engine_setting(text, NULL, &f.advice, 7);
    assert_string_equal(text, "# set the draft length of your engine to 7 tokens");
    spec_engine_setting(text, NULL, &f.advice, 0);
    assert_has(text, "off");
}

TEST(settings_are_what_the_engines_document)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, passed);
    assert_has(setting(&f, "vllm", 3),
               "--speculative-config '{..., \"num_speculative_tokens\": 3}'\n");
    assert_has(setting(&f, "vllm", 0), "without --speculative-config");
    f.source.summary.learned.generation = 0;
    assert_string_equal(setting(&f, "vllm", 3), "--num-speculative-tokens 3");
    assert_has(setting(&f, "vllm", 0), "without --speculative-model");
    f.source.summary.learned.generation = -1; /* not known: the newest */
    assert_has(setting(&f, "vllm", 3), "--speculative-config");

    assert_string_equal(setting(&f, "sglang", 3),
                        "--speculative-num-steps 3 --speculative-eagle-topk 1 "
                        "--speculative-num-draft-tokens 4");
    f.source.summary.learned.gaps = SPEC_LOG_TREE;
    assert_has(setting(&f, "sglang", 3), "drafts trees");
    assert_has(setting(&f, "llama.cpp", 3), "--spec-draft-n-max 3\n");
    assert_has(text, "--draft-max 3");
    assert_has(setting(&f, "mlx-vlm", 3), "--draft-block-size 4\n");
    assert_has(setting(&f, "lm-studio", 3), "speculativeDecodingNumDraftTokensExact: 3");
    assert_string_equal(setting(&f, "mlc", 3), "--overrides \"spec_draft_length=3\"");
}

/* The threshold is the break-even of the current length, so no other length has one. */
TEST(the_threshold_of_tensorrt_is_the_break_even)
{
    advice_facts f;
    advice_facts_make(&f, "tensorrt-llm", 3, 51, passed);
    assert_string_equal(setting(&f, "tensorrt-llm", 3), "speculative_config:\n  max_draft_len: 3");
    f.advice.break_even = 0.3877;
    assert_has(setting(&f, "tensorrt-llm", 3), "\n  acceptance_rate_threshold: 0.388\n");
    assert_has(setting(&f, "tensorrt-llm", 3), "no effect without acceptance_rate_window_size");
    assert_null(strstr(setting(&f, "tensorrt-llm", 2), "threshold"));
    f.advice.break_even = 1.2; /* no rate is high enough, and the option takes at most 1 */
    assert_null(strstr(setting(&f, "tensorrt-llm", 3), "threshold"));
    f.advice.break_even = -0.1;
    assert_null(strstr(setting(&f, "tensorrt-llm", 3), "threshold"));
}

static bool schedule(advice_facts *f, const char *engine)
{
    f->format.engine = engine;
    return spec_engine_schedule(text, &f->source.summary, &f->advice);
}

TEST(a_schedule_has_the_form_of_the_engine)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 5, 51, (const double[]){46, 37, 25, 20, 10});
    assert_false(schedule(&f, "vllm")); /* no batches are known */
    f.advice.n_batches = 3;
    f.advice.batch[0] = (spec_advice_batch){1, 32, 5, {1.4, NAN, 1.3, 1.5}, true};
    f.advice.batch[1] = (spec_advice_batch){33, 128, 2, {1.1, NAN, 1.0, 1.2}, true};
    f.advice.batch[2] = (spec_advice_batch){129, 512, 0, {1.0, NAN, 1.0, 1.0}, true};
    assert_true(schedule(&f, "vllm"));
    assert_has(text, "\"num_speculative_tokens\": 5, \"num_speculative_tokens_per_batch_size\": "
                     "[[1, 32, 5], [33, 128, 2], [129, 512, 0]]}'");
    assert_true(schedule(&f, "tensorrt-llm"));
    assert_has(text, "draft_len_schedule: {1: 5, 33: 2, 129: 0}\n");
    assert_has(text, "draft_len_schedule: {32: 5, 128: 2}");
    assert_true(schedule(&f, "sglang"));
    assert_has(text, "--speculative-num-steps 5 ");
    assert_has(text, "batches of up to 32");
    assert_false(schedule(&f, "llama.cpp"));
    f.source.summary.learned.generation = 0;
    assert_true(schedule(&f, "vllm"));
    assert_has(text, "--num-speculative-tokens 5 --speculative-disable-by-batch-size 129\n");
    f.source.summary.learned.generation = 1;
    f.advice.batch[2].to = -1;
    assert_true(schedule(&f, "vllm"));
    assert_has(text, "[129, 1024, 0]]");
    f.advice.n_batches = 1; /* one length for all: no schedule */
    assert_false(schedule(&f, "vllm"));
    assert_string_equal(text, "");
}

TEST(the_longest_schedule_is_cut_at_the_end_of_the_text)
{
    advice_facts f;
    advice_facts_make(&f, "vllm", 3, 51, passed);
    f.advice.n_batches = SPEC_SUM_BATCHES;
    for (int i = 0; i < SPEC_SUM_BATCHES; i++)
        f.advice.batch[i] =
            (spec_advice_batch){1000000000 + i, 2000000000, i, {1.0, NAN, 1.0, 1.0}, false};
    for (const spec_engine *e = spec_engines; e->engine != NULL; e++)
        if (schedule(&f, e->engine)) assert_true(strlen(text) < SPEC_SENTENCES);
}
