/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/engine_settings.h"

#include <string.h>

/* Returns whether the newest generation that was read has this word in its name. */
static bool is_generation(const spec_log_summary *read, const char *word)
{
    if (read == NULL || read->format == NULL || read->learned.generation < 0) return false;
    const char *const *name = read->format->generations;
    return name != NULL && strstr(name[read->learned.generation], word) != NULL;
}

/* Adds a setting with K filled in. */
static void say_for(spec_sentences ret, const char *setting, int K)
{
    for (const char *c = setting; *c != '\0';) {
        if (strncmp(c, "{K}", 3) == 0)
            spec_say(ret, "%d", K), c += 3;
        else if (strncmp(c, "{K+1}", 5) == 0)
            spec_say(ret, "%d", K + 1), c += 5;
        else if (strncmp(c, "{s}", 3) == 0)
            spec_say(ret, "%s", K == 1 ? "" : "s"), c += 3;
        else
            spec_say(ret, "%c", *c++);
    }
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

static void schedule_vllm(spec_sentences ret, const spec_log_summary *read,
                          const spec_advice_batch *batch, int n)
{
    /* V0 takes only one length, and a batch from which drafting is off */
    if (is_generation(read, "V0")) {
        spec_say(ret, "--num-speculative-tokens %d", batch[0].K);
        if (batch[n - 1].K == 0)
            spec_say(ret, " --speculative-disable-by-batch-size %d", batch[n - 1].from);
        spec_say(ret, "\n# V0 has one length for all batches");
        return;
    }
    spec_say(ret,
             "--speculative-config '{..., \"num_speculative_tokens\": %d, "
             "\"num_speculative_tokens_per_batch_size\": [",
             longest(batch, n));
    for (int i = 0; i < n; i++)
        spec_say(ret, "%s[%d, %d, %d]", i > 0 ? ", " : "", batch[i].from, last_batch(&batch[i]),
                 batch[i].K);
    spec_say(ret,
             "]}'\n# ... are the keys that you have; the last batch must be your --max-num-seqs or "
             "more");
}

static void remark_sglang(spec_sentences ret, const spec_log_summary *read,
                          const spec_advice *advice, int K)
{
    (void)advice;
    if (K > 0 && read != NULL && (read->learned.gaps & SPEC_LOG_TREE) != 0)
        spec_say(ret, "\n# a chain; the server that was read drafts trees");
}

static void schedule_sglang(spec_sentences ret, const spec_log_summary *read,
                            const spec_advice_batch *batch, int n)
{
    (void)n;
    spec_engine_setting(ret, read, NULL, batch[0].K);
    spec_say(ret, "\n# for batches of up to %d; --speculative-adaptive changes the length by batch",
             last_batch(&batch[0]));
}

static void remark_trt(spec_sentences ret, const spec_log_summary *read, const spec_advice *advice,
                       int K)
{
    (void)read;
    if (K > 0 && advice->break_even > 0.0 && advice->break_even <= 1.0 && K == advice->K)
        spec_say(
            ret,
            "\n  acceptance_rate_threshold: %.3f\n# the threshold: accepted/drafted below which a "
            "round of K = %d costs more than it gives, at this load. It has no effect without "
            "acceptance_rate_window_size; with it, speculation ends for good",
            advice->break_even, K);
}

static void schedule_trt(spec_sentences ret, const spec_log_summary *read,
                         const spec_advice_batch *batch, int n)
{
    (void)read;
    spec_say(ret, "max_draft_len: %d\ndraft_len_schedule: {", batch[0].K);
    for (int i = 0; i < n; i++)
        spec_say(ret, "%s%d: %d", i > 0 ? ", " : "", batch[i].from, batch[i].K);
    spec_say(ret,
             "}\n# to version 1.2, where a key is the first batch of a range; newer, where it is "
             "the last:\ndraft_len_schedule: {");
    for (int i = 0; i < n; i++)
        if (batch[i].K > 0 || i + 1 < n)
            spec_say(ret, "%s%d: %d", i > 0 ? ", " : "", last_batch(&batch[i]), batch[i].K);
    spec_say(ret, "}");
}

const spec_engine spec_engines[] = {
    {.engine = "vllm",
     .title = "vLLM",
     .validate = "speclab validate --exec 'python3 vllm_rejection.py'",
     .depths =
         "responses with --per-request-spec-decode-metrics summary, or two scrapes of /metrics",
     .times = "the server's log, or vllm bench serve --save-result",
     .run = {"the same server and load without --speculative-config",
             "# start vllm serve without --speculative-config",
             "--speculative-config '{..., \"num_speculative_tokens\": {K}}'\n"
             "# ... are the keys that you have, such as method and model"},
     .run_v0 = {"the same server and load without --speculative-model and --num-speculative-tokens",
                "# start vllm serve without --speculative-model and --num-speculative-tokens",
                "--num-speculative-tokens {K}"},
     .schedule = schedule_vllm},
    {.engine = "sglang",
     .title = "SGLang",
     .validate = "speclab validate --exec 'python3 sglang_tree.py'",
     .depths = "responses of 2026: meta_info has a histogram",
     .times = "the server's log: gen throughput",
     .run = {"the same server and load without --speculative-algorithm",
             "# start the server without --speculative-algorithm",
             "--speculative-num-steps {K} --speculative-eagle-topk 1 "
             "--speculative-num-draft-tokens {K+1}"},
     .remark = remark_sglang,
     .schedule = schedule_sglang},
    {.engine = "llama.cpp",
     .title = "llama.cpp",
     .validate = "speclab validate ./llama_cpp.so",
     .depths = "two scrapes of /metrics (--metrics), or the log at trace level (-lv 5)",
     .times = "responses of llama-server: timings",
     .run = {"the same command without --model-draft and --spec-type",
             "# start it without --model-draft (-md) and --spec-type",
             "--spec-draft-n-max {K}\n# in builds before May 2026: --draft-max {K}"}},
    {.engine = "tensorrt-llm",
     .title = "TensorRT-LLM",
     .depths = "responses of trtllm-serve: acceptance_histogram",
     .times = "iteration statistics: enable_iter_perf_stats",
     .run = {"the same server and load without speculative_config",
             "# leave speculative_config out", "speculative_config:\n  max_draft_len: {K}"},
     .remark = remark_trt,
     .schedule = schedule_trt},
    {.engine = "mlx-vlm",
     .title = "mlx-vlm",
     .times = "responses of the server: timings",
     .run = {"the same command without --draft-model", "# start it without --draft-model",
             "--draft-block-size {K+1}\n"
             "# a block is {K} draft token{s} and the token before"}},
    {.engine = "lm-studio",
     .title = "LM Studio",
     .times = "stats with tokensPerSecond",
     .run = {"the same requests without a draft model",
             "# send requests without draftModel (draft_model in HTTP)",
             "speculativeDecodingNumDraftTokensExact: {K}\n"
             "# together with draftModel, in the prediction config of the SDK (experimental)"}},
    {.engine = "mlc",
     .title = "MLC LLM",
     .depths = "/debug/dump_engine_metrics",
     .run = {"the same server with --speculative-mode disable", "--speculative-mode disable",
             "--overrides \"spec_draft_length={K}\""}},
    {.engine = "ollama",
     .title = "ollama",
     .run = {"the same requests with draft_num_predict 0", NULL,
             "PARAMETER draft_num_predict {K}\n"
             "# in the Modelfile; the runner for MLX drafts fewer where that is faster"}},
    {0},
};

static const spec_engine any_engine = {
    .engine = "any",
    .title = "the engine",
    .run = {"the same server and load without speculation",
            "# turn speculative decoding off in your engine",
            "# set the draft length of your engine to {K} tokens"}};

const spec_engine *spec_engine_of(const spec_log_summary *opt_read)
{
    if (opt_read != NULL && opt_read->format != NULL)
        for (const spec_engine *e = spec_engines; e->engine != NULL; e++)
            if (strcmp(e->engine, opt_read->format->engine) == 0) return e;
    return &any_engine;
}

spec_engine_run spec_engine_run_of(const spec_log_summary *opt_read)
{
    const spec_engine *engine = spec_engine_of(opt_read);
    return engine->run_v0.on != NULL && is_generation(opt_read, "V0") ? engine->run_v0
                                                                      : engine->run;
}

void spec_engine_setting(spec_sentences ret, const spec_log_summary *opt_read,
                         const spec_advice *advice, int K)
{
    const spec_engine *engine = spec_engine_of(opt_read);
    const spec_engine_run run = spec_engine_run_of(opt_read);
    ret[0] = '\0';
    say_for(ret, K == 0 && run.off != NULL ? run.off : run.on, K);
    if (engine->remark != NULL) engine->remark(ret, opt_read, advice, K);
}

bool spec_engine_schedule(spec_sentences ret, const spec_log_summary *opt_read,
                          const spec_advice *advice)
{
    const spec_engine *engine = spec_engine_of(opt_read);
    ret[0] = '\0';
    if (advice->n_batches < 2 || engine->schedule == NULL) return false;
    engine->schedule(ret, opt_read, advice->batch, advice->n_batches);
    return true;
}
