/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/observed/counted_log.h"

#include "base/memory_text.h"
#include "tests/support/support.h"

#include <string.h>

/* A log of 1000 rounds of 3 tokens, of which 12 tokens were cut off, and of 20 requests. */
static spec_engine_counters window(double seconds)
{
    return (spec_engine_counters){.begun = 20,
                                  .rounds = 1000,
                                  .drafted = 3000,
                                  .accepted = 1590,
                                  .emitted = 2578,
                                  .n_accepted = {200, 300, 210, 290},
                                  .seconds = seconds};
}

static char *text_of(spec_counted_log log, int K, const spec_engine_counters *c, int n)
{
    const spec_counted_engine engine = {.K = K, .batch = 8};
    spec_memory_text text;
    assert_true(spec_memory_text_open(&text));
    spec_counted_log_write(text.out, log, &engine, c, n);
    char *ret = spec_memory_text_take(&text, NULL);
    assert_non_null(ret);
    return ret;
}

TEST(vllm_cuts_tokens_of_the_output_and_not_the_accepted_ones)
{
    const spec_engine_counters c[] = {window(10.0), window(10.0)};
    FREED char *text = text_of(SPEC_COUNTED_VLLM, 3, c, 2);
    assert_string_equal(
        text,
        "(APIServer pid=1) INFO 05-01 00:00:10 [loggers.py:123] Engine 000: Avg prompt throughput: "
        "128.0 tokens/s, Avg generation throughput: 259.8 tokens/s, Running: 8 reqs, Waiting: 0 "
        "reqs, GPU KV cache usage: 10.0%, Prefix cache hit rate: 0.0%\n"
        "(APIServer pid=1) INFO 05-01 00:00:10 [metrics.py:100] SpecDecoding metrics: Mean "
        "acceptance length: 2.59, Accepted throughput: 159.00 tokens/s, Drafted throughput: 300.00 "
        "tokens/s, Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position acceptance rate: "
        "0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n"
        "(APIServer pid=1) INFO 05-01 00:00:20 [loggers.py:123] Engine 000: Avg prompt throughput: "
        "128.0 tokens/s, Avg generation throughput: 259.8 tokens/s, Running: 8 reqs, Waiting: 0 "
        "reqs, GPU KV cache usage: 10.0%, Prefix cache hit rate: 0.0%\n"
        "(APIServer pid=1) INFO 05-01 00:00:20 [metrics.py:100] SpecDecoding metrics: Mean "
        "acceptance length: 2.59, Accepted throughput: 159.00 tokens/s, Drafted throughput: 300.00 "
        "tokens/s, Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position acceptance rate: "
        "0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n");
}

TEST(sglang_counts_tokens_as_they_are_verified)
{
    const spec_engine_counters c = window(4.5);
    FREED char *text = text_of(SPEC_COUNTED_SGLANG, 3, &c, 1);
    assert_string_equal(
        text,
        "[2026-05-01 00:00:00] server_args=ServerArgs(decode_log_interval=40, "
        "speculative_algorithm='EAGLE3', speculative_num_steps=3, speculative_eagle_topk=1, "
        "speculative_num_draft_tokens=4)\n"
        "[2026-05-01 00:00:04] Decode batch, #running-req: 8, #token: 512, token usage: 0.10, "
        "accept len: 2.59, accept rate: 0.53, cuda graph: True, gen throughput (token/s): "
        "575.56, #queue-req: 0\n");
}

TEST(llamacpp_counts_the_token_of_the_prefill)
{
    const spec_engine_counters c = window(10.0);
    FREED char *text = text_of(SPEC_COUNTED_LLAMACPP, 3, &c, 1);
    assert_string_equal(text, "{\"content\":\"...\",\"stop\":true,\"timings\":{\"cache_n\":0,"
                              "\"prompt_n\":64,\"prompt_ms\":100.0,\"predicted_n\":2591,"
                              "\"predicted_ms\":10000.000,\"predicted_per_token_ms\":3.859514,"
                              "\"predicted_per_second\":259.100000,\"draft_n\":3000,"
                              "\"draft_n_accepted\":1590}}\n");
}

TEST(plain_decoding_has_no_word_of_speculation)
{
    const spec_engine_counters c = {
        .begun = 3, .rounds = 800, .emitted = 800, .n_accepted = {800}, .seconds = 10.0};
    for (int log = SPEC_COUNTED_VLLM; log <= SPEC_COUNTED_LLAMACPP; log++) {
        FREED char *text = text_of((spec_counted_log)log, 0, &c, 1);
        assert_true(strstr(text, "80.3") != NULL || strstr(text, "80.00") != NULL ||
                    strstr(text, ":801,") != NULL);
        if (strstr(text, "ccept") != NULL || strstr(text, "draft_n") != NULL) {
            /* SGLang prints its settings, including those that are None */
            assert_int_equal(log, SPEC_COUNTED_SGLANG);
            assert_non_null(strstr(text, "speculative_num_draft_tokens=None"));
            assert_null(strstr(text, "accept"));
        }
    }
}

TEST(stamps_pass_midnight)
{
    const spec_engine_counters c = {.rounds = 8, .emitted = 8, .seconds = 90000.0};
    FREED char *text = text_of(SPEC_COUNTED_VLLM, 0, &c, 1);
    assert_non_null(strstr(text, "INFO 05-02 01:00:00 "));
}
