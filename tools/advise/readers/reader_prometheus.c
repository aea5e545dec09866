/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/prometheus_scrape.h"

#include <math.h>

/* If the share of passes without a draft is smaller than this, we ignore it: first tokens of
 * requests come from prefills, and last rounds that were cut have the opposite effect. */
static const double FIRST_TOKENS = 0.10;

/* The same limit if passes are counted. Counters in one scrape may be a step apart, and the last
 * passes of aborted requests are not counted. */
static const double APART = 0.01;

/* Times must cover this share of a server's tokens. SGLang does not time the first 50 tokens of a
 * request that does not stream. */
static const double TIMED = 0.90;

/* If on average at most this many slots are busy, we treat llama.cpp's requests as one at a
 * time. */
static const double ALONE = 1.05;

/* ---- Engines --------------------------------------------------------------------------------- */

static void learn(spec_log_learned *learned, int generation, unsigned gaps)
{
    if (learned->generation < generation) learned->generation = generation;
    learned->gaps = gaps;
}

/* Completes the observation of an engine that has not drafted, which is plain decoding. */
static int finish_plain(spec_observation *o, spec_log_learned *learned)
{
    spec_observation_decode_plainly(o, o->emitted);
    learned->gaps = 0;
    return GSL_SUCCESS;
}

/* Sets the passes, if many of them had no draft. */
static void passes_of(spec_observation *o, const spec_prometheus_label *s)
{
    const double counted = spec_prometheus_scrape_value(s, SPEC_SCRAPE_TIMED);
    const double passes = isnan(counted) ? o->emitted - o->accepted : counted;
    if (passes > (1.0 + (isnan(counted) ? FIRST_TOKENS : APART)) * o->rounds) o->passes = passes;
}

/* Finds K of vLLM V0 from its efficiency: drafted efficiency / emitted is K / (K + 1). The user may
 * have copied the efficiency with three decimals, so we accept K only if it fits five times as well
 * as its neighbours. -1: not known. */
static int K_of_efficiency(const spec_prometheus_label *s)
{
    const double efficiency = spec_prometheus_scrape_value(s, SPEC_SCRAPE_EFFICIENCY);
    const double ratio = spec_prometheus_scrape_value(s, SPEC_SCRAPE_DRAFTED) * efficiency /
                         spec_prometheus_scrape_value(s, SPEC_SCRAPE_EMITTED_BY_ROUNDS);
    const double K = round(ratio / (1.0 - ratio)), miss = fabs(ratio - K / (K + 1.0));
    if (!(K >= 1.0 && K <= SPEC_OBSERVED_DEPTHS)) return -1;
    if (!(miss * efficiency <= 0.00051 * ratio)) return -1;
    return 5.0 * miss < 1.0 / ((K + 1.0) * (K + 2.0)) ? (int)K : -1;
}

static int finish_vllm_V0(spec_observation *o, spec_log_learned *learned,
                          const spec_prometheus_label *s, const spec_log_record *record,
                          spec_error *error)
{
    o->K = record->K > 0 ? record->K : K_of_efficiency(s);
    o->emitted = s->value[SPEC_SCRAPE_EMITTED_BY_ROUNDS];
    o->accepted = NAN;
    learn(learned, 0,
          SPEC_LOG_OLD_MEANING | SPEC_LOG_NO_DEPTHS |
              (o->K > 0 ? 0 : (unsigned)SPEC_LOG_NO_ROUNDS));
    if (o->K < 1) return GSL_SUCCESS;
    /* A round emits one token more than it accepts. */
    o->rounds = o->passes = o->drafted / o->K;
    o->accepted = o->emitted - o->rounds;
    if (o->rounds != floor(o->rounds) || o->accepted < 0.0)
        return spec_log_bad(record, error,
                            "counters: %.0f drafted and %.0f emitted tokens contradict K = %d",
                            o->drafted, o->emitted, o->K);
    return GSL_SUCCESS;
}

/* Sets the times of V1. When a step gives tokens to a request, except its first, one sample is
 * added to inter_token_latency_seconds: the time since the previous step that gave it tokens. So
 * the sum is the time of decoding, summed over requests, and the count is the number of passes. It
 * includes waits for prefills and preemptions, as a user sees them. Each step also adds one sample
 * to iteration_tokens_total. */
static int times_of_vllm(spec_observation *o, const spec_prometheus_label *s,
                         const spec_log_record *record, spec_error *error)
{
    o->busy = spec_prometheus_scrape_value(s, SPEC_SCRAPE_SECONDS);
    o->steps = spec_prometheus_scrape_value(s, SPEC_SCRAPE_BATCHES);
    const double first = spec_prometheus_scrape_value(s, SPEC_SCRAPE_FIRST);
    if (isnan(first)) return GSL_SUCCESS;
    if (first > o->emitted)
        return spec_log_bad(record, error,
                            "counters: %.0f first tokens of requests exceed the %.0f tokens of the "
                            "output",
                            first, o->emitted);
    o->emitted -= first;
    return GSL_SUCCESS;
}

static int finish_vllm(spec_observation *o, spec_log_learned *learned,
                       const spec_prometheus_label *s, const spec_log_record *record,
                       spec_error *error)
{
    if (!isnan(spec_prometheus_scrape_value(s, SPEC_SCRAPE_EMITTED_BY_ROUNDS)))
        return finish_vllm_V0(o, learned, s, record, error);
    SPEC_PASS(times_of_vllm(o, s, record, error));
    if (isnan(o->rounds) && isnan(o->drafted)) return finish_plain(o, learned);
    const char *const missing = isnan(o->rounds)     ? "drafts"
                                : isnan(o->drafted)  ? "draft_tokens"
                                : isnan(o->accepted) ? "accepted_tokens"
                                                     : NULL;
    if (missing != NULL)
        return spec_log_bad(record, error,
                            "counters: expected vllm:spec_decode_num_%s_total; the scrape is "
                            "truncated",
                            missing);
    if (o->K < 0) o->K = record->K;
    passes_of(o, s);
    learn(learned, 1, o->depths > 0 ? 0 : SPEC_LOG_NO_DEPTHS);
    return GSL_SUCCESS;
}

/* Sets the times of SGLang. As in vLLM, the sum of its inter_token_latency_seconds is the time
 * between outputs to a user, but the count is the number of tokens in them. */
static void times_of_sglang(spec_observation *o, const spec_prometheus_label *s)
{
    const double timed = spec_prometheus_scrape_value(s, SPEC_SCRAPE_TIMED);
    if (timed >= TIMED * o->emitted) o->busy = spec_prometheus_scrape_value(s, SPEC_SCRAPE_SECONDS);
}

static int finish_sglang(spec_observation *o, spec_log_learned *learned,
                         const spec_prometheus_label *s, const spec_log_record *record,
                         spec_error *error)
{
    const double steps = spec_prometheus_scrape_value(s, SPEC_SCRAPE_STEPS);
    const bool speculates = o->printed_length > 0.0;
    times_of_sglang(o, s);
    if (!speculates && !(o->rounds > 0.0)) return finish_plain(o, learned);
    if (isnan(o->rounds) || isnan(o->emitted)) {
        spec_log_bad(record, error,
                     "sglang:spec_accept_length only covers the last interval, and cannot be "
                     "averaged without weights; without sglang:spec_verify_calls_total and "
                     "sglang:generation_tokens_total give the server's log instead");
        return GSL_EUNSUP;
    }
    if (o->emitted < o->rounds)
        return spec_log_bad(record, error, "counters: %.0f generated tokens of %.0f verify calls",
                            o->emitted, o->rounds);
    o->K = steps >= 1.0 && steps <= SPEC_OBSERVED_DEPTHS ? (int)steps : record->K;
    o->passes = o->rounds;
    o->accepted = o->emitted - o->rounds; /* this includes the first tokens of requests */
    if (o->K > 0) o->drafted = fmax(o->K * o->rounds, o->accepted);
    learn(learned, 0,
          SPEC_LOG_NO_DEPTHS | (spec_prometheus_scrape_value(s, SPEC_SCRAPE_NODES) > steps + 1.0
                                    ? (unsigned)SPEC_LOG_TREE
                                    : 0));
    return GSL_SUCCESS;
}

static int finish_llama(spec_observation *o, spec_log_learned *learned,
                        const spec_prometheus_label *s, const spec_log_record *record,
                        spec_error *error)
{
    /* A request that ends adds its tokens, and the time from its first token to its last. The mean
     * of busy slots covers all the time since the server started, and includes prompts. */
    o->busy = spec_prometheus_scrape_value(s, SPEC_SCRAPE_SECONDS);
    o->running = spec_prometheus_scrape_value(s, SPEC_SCRAPE_BUSY);
    if (o->running < ALONE) o->running = 1.0;
    if (!(o->drafted > 0.0)) return finish_plain(o, learned);
    if (isnan(o->accepted))
        return spec_log_bad(record, error,
                            "counters: expected llamacpp:spec_decode_num_accepted_tokens_total; "
                            "the scrape is truncated");
    if (o->K < 0) o->K = record->K;
    if (o->emitted < o->accepted)
        return spec_log_bad(record, error,
                            "counters: %.0f accepted tokens exceed the %.0f tokens of the output",
                            o->accepted, o->emitted);
    if (!(o->emitted - o->accepted < o->rounds)) o->passes = o->emitted - o->accepted;
    learn(learned, isnan(o->rounds) ? 0 : 1,
          (isnan(o->rounds) ? (unsigned)SPEC_LOG_NO_ROUNDS : 0) |
              (o->depths > 0 ? 0 : (unsigned)SPEC_LOG_NO_DEPTHS));
    return GSL_SUCCESS;
}

static const spec_prometheus_name vllm_names[] = {
    {"spec_decode_num_drafts", SPEC_SCRAPE_ROUNDS},
    {"spec_decode_num_draft_tokens", SPEC_SCRAPE_DRAFTED},
    {"spec_decode_num_accepted_tokens", SPEC_SCRAPE_ACCEPTED},
    {"spec_decode_num_accepted_tokens_per_pos", SPEC_SCRAPE_PASSED},
    {"spec_decode_num_emitted_tokens", SPEC_SCRAPE_EMITTED_BY_ROUNDS},
    {"spec_decode_draft_acceptance_rate", SPEC_SCRAPE_RATE},
    {"spec_decode_efficiency", SPEC_SCRAPE_EFFICIENCY},
    {"generation_tokens", SPEC_SCRAPE_EMITTED},
    {"num_requests_running", SPEC_SCRAPE_RUNNING},
    {"inter_token_latency_seconds_sum", SPEC_SCRAPE_SECONDS},
    {"inter_token_latency_seconds_count", SPEC_SCRAPE_TIMED},
    {"time_per_output_token_seconds_sum", SPEC_SCRAPE_SECONDS}, /* its name before 0.11 */
    {"time_per_output_token_seconds_count", SPEC_SCRAPE_TIMED},
    {"time_to_first_token_seconds_count", SPEC_SCRAPE_FIRST},
    {"iteration_tokens_total_count", SPEC_SCRAPE_BATCHES},
    {NULL, 0},
};

static const spec_prometheus_name sglang_names[] = {
    {"spec_verify_calls", SPEC_SCRAPE_ROUNDS},
    {"spec_accept_length", SPEC_SCRAPE_LENGTH},
    {"spec_accept_rate", SPEC_SCRAPE_RATE},
    {"spec_num_steps", SPEC_SCRAPE_STEPS},
    {"spec_cap_length", -1},
    {"spec_block_accept_length", -1},
    {"spec_num_draft_tokens", SPEC_SCRAPE_NODES},
    {"generation_tokens", SPEC_SCRAPE_EMITTED},
    {"num_running_reqs", SPEC_SCRAPE_RUNNING},
    {"inter_token_latency_seconds_sum", SPEC_SCRAPE_SECONDS},
    {"inter_token_latency_seconds_count", SPEC_SCRAPE_TIMED},
    {NULL, 0},
};

static const spec_prometheus_name llama_names[] = {
    {"spec_decode_num_drafts", SPEC_SCRAPE_ROUNDS},
    {"spec_decode_num_draft_tokens", SPEC_SCRAPE_DRAFTED},
    {"spec_decode_num_accepted_tokens", SPEC_SCRAPE_ACCEPTED},
    {"spec_decode_num_accepted_tokens_per_pos", SPEC_SCRAPE_PASSED},
    {"n_drafted", SPEC_SCRAPE_DRAFTED}, /* name in forks */
    {"n_accepted", SPEC_SCRAPE_ACCEPTED},
    {"n_drafted_accepted", SPEC_SCRAPE_ACCEPTED},
    {"tokens_predicted", SPEC_SCRAPE_EMITTED},
    {"tokens_predicted_seconds", SPEC_SCRAPE_SECONDS},
    {"n_busy_slots_per_decode", SPEC_SCRAPE_BUSY},
    {NULL, 0},
};

static const spec_prometheus_source vllm = {"vllm:", vllm_names, finish_vllm};
static const spec_prometheus_source sglang = {"sglang:", sglang_names, finish_sglang};
static const spec_prometheus_source llama = {"llamacpp:", llama_names, finish_llama};

/* ---- Formats --------------------------------------------------------------------------------- */

/* Defines the functions of a format from those of its source. */
#define FUNCTIONS(source)                                                                          \
    static bool concerns_##source(const char *bytes, size_t n)                                     \
    {                                                                                              \
        return spec_prometheus_sample_begins(bytes, n, source.prefix);                             \
    }                                                                                              \
    static int read_##source(void *state, spec_log_learned *learned,                               \
                             const spec_log_record *record, spec_error *error)                     \
    {                                                                                              \
        return spec_prometheus_scrape_read(state, &source, learned, record, error);                \
    }                                                                                              \
    static int end_##source(void *state, spec_log_learned *learned, const spec_log_record *last,   \
                            spec_error *error)                                                     \
    {                                                                                              \
        return spec_prometheus_scrape_end(state, &source, learned, last, error);                   \
    }

FUNCTIONS(vllm)
FUNCTIONS(sglang)
FUNCTIONS(llama)

const spec_log_format spec_reader_prometheus_vllm = {
    .name = "prometheus-vllm", .engine = "vllm", .summary = "Prometheus metrics of vLLM (/metrics)",
    .generations = SPEC_TEXTS("0.4 to 0.8 (V0)", "0.8.3 and later"),
    .concerns = concerns_vllm,
    .needles = SPEC_TEXTS("vllm:spec_", "vllm:generation_tokens", "vllm:num_requests_running",
                          "vllm:inter_token_latency", "vllm:time_per_output_token",
                          "vllm:time_to_first_token", "vllm:iteration_tokens"),
    .state_size = sizeof(spec_prometheus_scrape), .read = read_vllm, .end = end_vllm};

const spec_log_format spec_reader_prometheus_sglang = {
    .name = "prometheus-sglang", .engine = "sglang",
    .summary = "Prometheus metrics of SGLang (--enable-metrics)",
    .generations = SPEC_TEXTS("with spec_verify_calls_total"),
    .concerns = concerns_sglang,
    .needles = SPEC_TEXTS("sglang:spec_", "sglang:generation_tokens", "sglang:num_running_reqs",
                          "sglang:inter_token_latency"),
    .state_size = sizeof(spec_prometheus_scrape), .read = read_sglang, .end = end_sglang};

const spec_log_format spec_reader_prometheus_llama = {
    .name = "prometheus-llama", .engine = "llama.cpp",
    .summary = "Prometheus metrics of llama-server (--metrics)",
    .generations = SPEC_TEXTS("forks with n_drafted_total", "spec_decode counters"),
    .concerns = concerns_llama,
    .needles = SPEC_TEXTS("llamacpp:spec_", "llamacpp:n_", "llamacpp:tokens_predicted",
                          "llamacpp:draft"),
    .state_size = sizeof(spec_prometheus_scrape), .read = read_llama, .end = end_llama};

/* ---- Text Generation Inference --------------------------------------------------------------- */

static bool concerns_tgi(const char *bytes, size_t n)
{
    return spec_prometheus_sample_begins(bytes, n, "tgi_request_skipped_tokens");
}

static int read_tgi(void *state, spec_log_learned *learned, const spec_log_record *record,
                    spec_error *error)
{
    (void)state;
    (void)learned;
    spec_log_bad(record, error,
                 "tgi_request_skipped_tokens only has the last step of each request, a biased "
                 "sample; TGI counts no accepted tokens: measure tokens/s with and without "
                 "--speculate");
    return GSL_EUNSUP;
}

const spec_log_format spec_reader_prometheus_tgi = {
    .name = "prometheus-tgi", .engine = "tgi",
    .summary = "Prometheus metrics of Text Generation Inference, which are refused",
    .generations = SPEC_TEXTS("all"),
    .concerns = concerns_tgi,
    .needles = SPEC_TEXTS("tgi_request_skipped_tokens"), .read = read_tgi};
