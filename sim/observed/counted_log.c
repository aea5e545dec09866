/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/observed/counted_log.h"

/* Writes a stamp such as "05-01 14:24:50", with the seconds counted from the first of May. */
static void write_stamp(FILE *out, double seconds)
{
    const long s = (long)seconds;
    fprintf(out, "05-%02ld %02ld:%02ld:%02ld", 1 + s / 86400 % 31, s / 3600 % 24, s / 60 % 60,
            s % 60);
}

/* ---- vLLM ------------------------------------------------------------------------------------ */

static void write_vllm_prefix(FILE *out, double now, const char *place)
{
    fputs("(APIServer pid=1) INFO ", out);
    write_stamp(out, now);
    fprintf(out, " [%s] ", place);
}

/* Tokens that are cut from an output count as accepted, but not in the throughput. */
static void write_vllm(FILE *out, const spec_counted_engine *engine, const spec_engine_counters *c,
                       double now)
{
    const double seconds = c->seconds, rounds = (double)c->rounds;
    write_vllm_prefix(out, now, "loggers.py:123");
    fprintf(out,
            "Engine 000: Avg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f "
            "tokens/s, Running: %d reqs, Waiting: 0 reqs, GPU KV cache usage: 10.0%%, Prefix cache "
            "hit rate: 0.0%%\n",
            (double)c->begun * SPEC_COUNTED_LOG_PROMPT / seconds,
            (double)(c->begun + c->emitted) / seconds, engine->batch);
    if (c->drafted == 0) return;
    write_vllm_prefix(out, now, "metrics.py:100");
    fprintf(out,
            "SpecDecoding metrics: Mean acceptance length: %.2f, Accepted throughput: %.2f "
            "tokens/s, Drafted throughput: %.2f tokens/s, Accepted: %llu tokens, Drafted: %llu "
            "tokens, Per-position acceptance rate: ",
            1.0 + (double)c->accepted / rounds, (double)c->accepted / seconds,
            (double)c->drafted / seconds, (unsigned long long)c->accepted,
            (unsigned long long)c->drafted);
    for (int j = 1; j <= engine->K; j++)
        fprintf(out, "%.3f, ", (double)spec_engine_counters_passed(c, j) / rounds);
    fprintf(out, "Avg Draft acceptance rate: %.1f%%\n",
            100.0 * (double)c->accepted / (double)c->drafted);
}

/* ---- SGLang ---------------------------------------------------------------------------------- */

static void write_sglang_args(FILE *out, const spec_counted_engine *engine)
{
    fputs("[2026-", out);
    write_stamp(out, 0.0);
    fputs("] server_args=ServerArgs(decode_log_interval=40, ", out);
    if (engine->K > 0)
        fprintf(out,
                "speculative_algorithm='EAGLE3', speculative_num_steps=%d, "
                "speculative_eagle_topk=1, speculative_num_draft_tokens=%d)\n",
                engine->K, engine->K + 1);
    else
        fputs("speculative_algorithm=None, speculative_num_steps=None, "
              "speculative_eagle_topk=None, speculative_num_draft_tokens=None)\n",
              out);
}

/* The throughput counts tokens as they are verified. */
static void write_sglang(FILE *out, const spec_counted_engine *engine,
                         const spec_engine_counters *c, double now)
{
    const double rounds = (double)c->rounds, verified = (double)(c->accepted + c->rounds);
    fputs("[2026-", out);
    write_stamp(out, now);
    fprintf(out, "] Decode batch, #running-req: %d, #token: %d, token usage: 0.10, ", engine->batch,
            64 * engine->batch);
    if (engine->K > 0)
        fprintf(out, "accept len: %.2f, accept rate: %.2f, ", verified / rounds,
                (double)c->accepted / (rounds * engine->K));
    fprintf(out, "cuda graph: True, gen throughput (token/s): %.2f, #queue-req: 0\n",
            verified / c->seconds);
}

/* ---- llama.cpp ------------------------------------------------------------------------------- */

/* The prefill emits the first token, and the time is measured from it. Tokens are counted as they
 * are verified. */
static void write_llamacpp(FILE *out, const spec_engine_counters *c)
{
    const double predicted = (double)(1 + c->rounds + c->accepted), ms = 1e3 * c->seconds;
    fprintf(out,
            "{\"content\":\"...\",\"stop\":true,\"timings\":{\"cache_n\":0,\"prompt_n\":%d,"
            "\"prompt_ms\":100.0,\"predicted_n\":%.0f,\"predicted_ms\":%.3f,"
            "\"predicted_per_token_ms\":%.6f,\"predicted_per_second\":%.6f",
            SPEC_COUNTED_LOG_PROMPT, predicted, ms, ms / predicted, predicted / c->seconds);
    if (c->drafted > 0)
        fprintf(out, ",\"draft_n\":%llu,\"draft_n_accepted\":%llu", (unsigned long long)c->drafted,
                (unsigned long long)c->accepted);
    fputs("}}\n", out);
}

void spec_counted_log_write(FILE *out, spec_counted_log engine_log,
                            const spec_counted_engine *engine, const spec_engine_counters *counters,
                            int n)
{
    double now = 0.0;
    if (engine_log == SPEC_COUNTED_SGLANG) write_sglang_args(out, engine);
    for (int i = 0; i < n; i++) {
        now += counters[i].seconds;
        switch (engine_log) {
        case SPEC_COUNTED_VLLM: write_vllm(out, engine, &counters[i], now); break;
        case SPEC_COUNTED_SGLANG: write_sglang(out, engine, &counters[i], now); break;
        case SPEC_COUNTED_LLAMACPP: write_llamacpp(out, &counters[i]); break;
        }
    }
}
