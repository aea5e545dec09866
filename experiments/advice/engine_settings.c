/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/engine_settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends to the text; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void add(spec_engine_text text, const char *format,
                                                      ...)
{
    const size_t n = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + n, SPEC_ENGINE_SETTING_TEXT - n, format, list);
    va_end(list);
}

/* Returns whether the newest generation that was read has this word in its name. */
static bool is_generation(const spec_log_summary *read, const char *word)
{
    if (read == NULL || read->format == NULL || read->learned.generation < 0) return false;
    const char *const *name = read->format->generations;
    for (int i = 0; name != NULL && name[i] != NULL; i++)
        if (i == read->learned.generation) return strstr(name[i], word) != NULL;
    return false;
}

/* Returns the last batch of a range, because some engines require a number. If the range has no
 * end, returns the largest default of vLLM's --max-num-seqs, or more. */
static int last_batch(const spec_advice_batch *batch)
{
    return batch->to >= 0 ? batch->to : batch->from < 1024 ? 1024 : 2 * batch->from;
}

static int longest(const spec_advice_batch *batch, int n)
{
    int K = 0;
    for (int i = 0; i < n; i++)
        if (batch[i].K > K) K = batch[i].K;
    return K;
}

static void set_vllm(spec_engine_text ret, const spec_log_summary *read, const spec_advice *advice,
                     int K)
{
    const bool v0 = is_generation(read, "V0");
    (void)advice;
    if (K == 0)
        add(ret, "# start vllm serve without %s",
            v0 ? "--speculative-model and --num-speculative-tokens" : "--speculative-config");
    else if (v0)
        add(ret, "--num-speculative-tokens %d", K);
    else
        add(ret,
            "--speculative-config '{..., \"num_speculative_tokens\": %d}'\n"
            "# ... are the keys that you have, such as method and model",
            K);
}

static void schedule_vllm(spec_engine_text ret, const spec_log_summary *read,
                          const spec_advice_batch *batch, int n)
{
    /* V0 takes only one length, and a batch from which drafting is off */
    if (is_generation(read, "V0")) {
        add(ret, "--num-speculative-tokens %d", batch[0].K);
        if (batch[n - 1].K == 0)
            add(ret, " --speculative-disable-by-batch-size %d", batch[n - 1].from);
        add(ret, "\n# V0 has one length for all batches");
        return;
    }
    add(ret,
        "--speculative-config '{..., \"num_speculative_tokens\": %d, "
        "\"num_speculative_tokens_per_batch_size\": [",
        longest(batch, n));
    for (int i = 0; i < n; i++)
        add(ret, "%s[%d, %d, %d]", i > 0 ? ", " : "", batch[i].from, last_batch(&batch[i]),
            batch[i].K);
    add(ret, "]}'\n# ... are the keys that you have; the last batch must be your --max-num-seqs or "
             "more");
}

static void set_sglang(spec_engine_text ret, const spec_log_summary *read,
                       const spec_advice *advice, int K)
{
    (void)advice;
    if (K == 0) {
        add(ret, "# start the server without --speculative-algorithm");
        return;
    }
    add(ret,
        "--speculative-num-steps %d --speculative-eagle-topk 1 --speculative-num-draft-tokens %d",
        K, K + 1);
    if (read != NULL && (read->learned.gaps & SPEC_LOG_TREE) != 0)
        add(ret, "\n# a chain; the server that was read drafts trees");
}

static void schedule_sglang(spec_engine_text ret, const spec_log_summary *read,
                            const spec_advice_batch *batch, int n)
{
    (void)n;
    set_sglang(ret, read, NULL, batch[0].K);
    add(ret, "\n# for batches of up to %d; --speculative-adaptive changes the length by batch",
        last_batch(&batch[0]));
}

static void set_llama(spec_engine_text ret, const spec_log_summary *read, const spec_advice *advice,
                      int K)
{
    (void)read, (void)advice;
    if (K == 0)
        add(ret, "# start it without --model-draft (-md) and --spec-type");
    else
        add(ret, "--spec-draft-n-max %d\n# in builds before May 2026: --draft-max %d", K, K);
}

static void set_trt(spec_engine_text ret, const spec_log_summary *read, const spec_advice *advice,
                    int K)
{
    (void)read;
    if (K == 0) {
        add(ret, "# leave speculative_config out");
        return;
    }
    add(ret, "speculative_config:\n  max_draft_len: %d", K);
    if (advice->break_even > 0.0 && advice->break_even <= 1.0 && K == advice->K)
        add(ret,
            "\n  acceptance_rate_threshold: %.3f\n# the threshold: accepted/drafted below which a "
            "round of K = %d costs more than it gives, at this load",
            advice->break_even, K);
}

static void schedule_trt(spec_engine_text ret, const spec_log_summary *read,
                         const spec_advice_batch *batch, int n)
{
    (void)read;
    add(ret, "max_draft_len: %d\ndraft_len_schedule: {", batch[0].K);
    for (int i = 0; i < n; i++) add(ret, "%s%d: %d", i > 0 ? ", " : "", batch[i].from, batch[i].K);
    add(ret, "}\n# to version 1.2, where a key is the first batch of a range; newer, where it is "
             "the last:\ndraft_len_schedule: {");
    for (int i = 0; i < n; i++)
        if (batch[i].K > 0 || i + 1 < n)
            add(ret, "%s%d: %d", i > 0 ? ", " : "", last_batch(&batch[i]), batch[i].K);
    add(ret, "}");
}

static void set_mlx_vlm(spec_engine_text ret, const spec_log_summary *read,
                        const spec_advice *advice, int K)
{
    (void)read, (void)advice;
    if (K == 0)
        add(ret, "# start it without --draft-model");
    else
        add(ret, "--draft-block-size %d\n# a block is %d draft token%s and the token before", K + 1,
            K, K == 1 ? "" : "s");
}

static void set_lm_studio(spec_engine_text ret, const spec_log_summary *read,
                          const spec_advice *advice, int K)
{
    (void)read, (void)advice;
    if (K == 0)
        add(ret, "# send requests without draftModel (draft_model in HTTP)");
    else
        add(ret,
            "speculativeDecodingNumDraftTokensExact: %d\n"
            "# together with draftModel, in the prediction config of the SDK (experimental)",
            K);
}

static void set_mlc(spec_engine_text ret, const spec_log_summary *read, const spec_advice *advice,
                    int K)
{
    (void)read, (void)advice;
    if (K == 0)
        add(ret, "--speculative-mode disable");
    else
        add(ret, "--overrides \"spec_draft_length=%d\"", K);
}

static void set_ollama(spec_engine_text ret, const spec_log_summary *read,
                       const spec_advice *advice, int K)
{
    (void)read, (void)advice;
    add(ret,
        "PARAMETER draft_num_predict %d\n# in the Modelfile; the runner for MLX drafts fewer where "
        "that is faster",
        K);
}

static void set_any(spec_engine_text ret, const spec_log_summary *read, const spec_advice *advice,
                    int K)
{
    (void)read, (void)advice;
    if (K == 0)
        add(ret, "# turn speculative decoding off in your engine");
    else
        add(ret, "# set the draft length of your engine to %d tokens", K);
}

const spec_engine spec_engines[] = {
    {"vllm", "vLLM", "speclab validate --exec 'python3 vllm_rejection.py'",
     "the same server and load without --speculative-config",
     "the same server and load without --speculative-model and --num-speculative-tokens",
     "responses with --per-request-spec-decode-metrics summary, or two scrapes of /metrics",
     "the server's log, or vllm bench serve --save-result", set_vllm, schedule_vllm},
    {"sglang", "SGLang", "speclab validate --exec 'python3 sglang_tree.py'",
     "the same server and load without --speculative-algorithm", NULL,
     "responses of 2026: meta_info has a histogram", "the server's log: gen throughput", set_sglang,
     schedule_sglang},
    {"llama.cpp", "llama.cpp", "speclab validate ./llama_cpp.so",
     "the same command without --model-draft and --spec-type", NULL,
     "two scrapes of /metrics (--metrics), or the log at trace level (-lv 5)",
     "responses of llama-server: timings", set_llama, NULL},
    {"tensorrt-llm", "TensorRT-LLM", NULL, "the same server and load without speculative_config",
     NULL, "responses of trtllm-serve: acceptance_histogram",
     "iteration statistics: enable_iter_perf_stats", set_trt, schedule_trt},
    {"mlx-vlm", "mlx-vlm", NULL, "the same command without --draft-model", NULL, NULL,
     "responses of the server: timings", set_mlx_vlm, NULL},
    {"lm-studio", "LM Studio", NULL, "the same requests without a draft model", NULL, NULL,
     "stats with tokensPerSecond", set_lm_studio, NULL},
    {"mlc", "MLC LLM", NULL, "the same server with --speculative-mode disable", NULL,
     "/debug/dump_engine_metrics", NULL, set_mlc, NULL},
    {"ollama", "ollama", NULL, "the same requests with draft_num_predict 0", NULL, NULL, NULL,
     set_ollama, NULL},
    {0},
};

static const spec_engine any_engine = {
    "any", "the engine", NULL, "the same server and load without speculation", NULL, NULL,
    NULL,  set_any,      NULL,
};

const spec_engine *spec_engine_of(const spec_log_summary *opt_read)
{
    if (opt_read != NULL && opt_read->format != NULL)
        for (const spec_engine *e = spec_engines; e->engine != NULL; e++)
            if (strcmp(e->engine, opt_read->format->engine) == 0) return e;
    return &any_engine;
}

const char *spec_engine_plain(const spec_log_summary *opt_read)
{
    const spec_engine *engine = spec_engine_of(opt_read);
    return engine->opt_plain_v0 != NULL && is_generation(opt_read, "V0") ? engine->opt_plain_v0
                                                                         : engine->plain;
}

void spec_engine_setting(spec_engine_text ret, const spec_log_summary *opt_read,
                         const spec_advice *advice, int K)
{
    ret[0] = '\0';
    spec_engine_of(opt_read)->set(ret, opt_read, advice, K);
}

bool spec_engine_schedule(spec_engine_text ret, const spec_log_summary *opt_read,
                          const spec_advice *advice)
{
    const spec_engine *engine = spec_engine_of(opt_read);
    ret[0] = '\0';
    if (advice->n_batches < 2 || engine->schedule == NULL) return false;
    engine->schedule(ret, opt_read, advice->batch, advice->n_batches);
    return true;
}
