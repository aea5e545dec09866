/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/step_cost.h"

#include "base/hardware.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <stdio.h>
#include <string.h>

static const spec_step_work work = {.prompt_tokens = 300,
                                    .decode_tokens = 28,
                                    .kv_tokens = 5000,
                                    .drafted = 21,
                                    .decoding = 7,
                                    .passes = 3};

static spec_step_cost *cost_of(const char *target, const char *draft)
{
    spec_step_cost *cost;
    assert_works(spec_step_cost_create(&cost, target, draft, &error));
    return cost;
}

TEST(an_affine_cost_is_its_record)
{
    spec_step_cost *cost =
        cost_of("affine?step=7.1ms&token=21us&kv=39ns", "affine?round=2.1ms&pass=0.3ms&token=5us");
    const spec_affine_step *affine = spec_step_cost_affine(cost);
    assert_non_null(affine);
    assert_same(affine->step, 0.0071);
    assert_same(affine->token, 21e-6);
    assert_same(affine->kv, 39e-9);
    assert_same(affine->draft_round, 0.0021);
    assert_same(affine->draft_pass, 0.0003);
    assert_same(affine->draft_token, 5e-6);
    assert_same(spec_step_cost_target(cost, &work), spec_affine_step_target(affine, &work));
    assert_same(spec_step_cost_draft(cost, &work), spec_affine_step_draft(affine, &work));
    assert_near(spec_step_cost_target(cost, &work), 0.0071 + 21e-6 * 328 + 39e-9 * 5000, 1e-15);
    assert_near(spec_step_cost_draft(cost, &work), 0.0021 + 0.0003 * 3 + 5e-6 * 21, 1e-15);
    spec_step_cost_free(cost);
}

TEST(specs_need_no_characters_of_the_shell)
{
    const char *const targets[] = {"affine:step=7.1ms,token=21us,kv=39ns",
                                   "step=7.1ms,token=21us,kv=39ns", "step=7.1ms&token=21us&kv=39ns",
                                   "affine?step=7.1ms&token=21us&kv=39ns"};
    for (int i = 0; i < 4; i++) {
        spec_step_cost *cost = cost_of(targets[i], i % 2 == 0 ? "round=2.1ms" : NULL);
        const spec_affine_step *affine = spec_step_cost_affine(cost);
        assert_same(affine->step, 0.0071);
        assert_same(affine->token, 21e-6);
        assert_same(affine->kv, 39e-9);
        assert_same(affine->draft_round, i % 2 == 0 ? 0.0021 : 0.0);
        spec_step_cost_free(cost);
    }
}

/* ---- roofline -------------------------------------------------------------------------------- */

#define LLAMA_2_7B "parameters=6.74B,kv_bytes=524288"
#define TINY_LLAMA "parameters=1.1B,kv_bytes=22528"
#define LLAMA_3_8B "parameters=8.03B,kv_bytes=131072"
#define EIGHT_A100                                                                                 \
    "card=A100,bandwidth=2.039TB/s,devices=8,efficiency=1,compute=0.6,overhead=0,form=max"

/* Returns the seconds per token of plain decoding over those of speculation: a batch of B requests
 * with that context drafts K tokens each, of which E[n_accepted] at alpha are accepted. */
static double speedup(const spec_step_cost *cost, int64_t B, int64_t context, int K, double alpha)
{
    const spec_step_work plain = {.decode_tokens = B, .kv_tokens = B * context, .decoding = (int)B};
    const spec_step_work round = {.decode_tokens = B * (K + 1),
                                  .kv_tokens = B * context,
                                  .drafted = B * K,
                                  .decoding = (int)B,
                                  .passes = K};
    const double emitted = (1.0 - pow(alpha, K + 1)) / (1.0 - alpha);
    return emitted * spec_step_cost_target(cost, &plain) /
           (spec_step_cost_target(cost, &round) + spec_step_cost_draft(cost, &round));
}

/* Speed-ups that another program computed from the same data sheets and printed with two digits.
 * Llama-2-7B with TinyLlama-1.1B as draft at alpha 0.7; Llama-3.1-8B with its own cache cut to 512
 * tokens at alpha 0.85. Eight A100 reach 60 % of their peak FLOP/s; K = 3. */
TEST(speedups_by_context_are_those_of_the_data_sheets)
{
    static const struct {
        int64_t context;
        double at32, at128;
    } two_models[] = {{256, 1.49, .88},   {512, 1.59, 1.09},  {1024, 1.73, 1.37},
                      {2048, 1.89, 1.65}, {8000, 2.12, 2.04}, {32000, 2.21, 2.19}},
      itself[] = {{1000, .80, .63}, {4000, 1.12, 1.14}, {8000, 1.43, 1.58}, {32000, 2.27, 2.48}};
    spec_step_cost *cost = cost_of("roofline:" LLAMA_2_7B "," EIGHT_A100,
                                   "roofline:" TINY_LLAMA "," EIGHT_A100 ",round=0");
    for (int i = 0; i < 6; i++) {
        assert_within(speedup(cost, 32, two_models[i].context, 3, 0.7), two_models[i].at32, 0.0101);
        assert_within(speedup(cost, 128, two_models[i].context, 3, 0.7), two_models[i].at128,
                      0.0051);
    }
    spec_step_cost_free(cost);
    cost = cost_of("roofline:" LLAMA_3_8B "," EIGHT_A100,
                   "roofline:" LLAMA_3_8B "," EIGHT_A100 ",round=0,kv_limit=512");
    for (int i = 0; i < 4; i++) {
        assert_within(speedup(cost, 32, itself[i].context, 3, 0.85), itself[i].at32, 0.0101);
        assert_within(speedup(cost, 128, itself[i].context, 3, 0.85), itself[i].at128, 0.0101);
    }
    spec_step_cost_free(cost);
}

/* The same for Llama-3-70B with a draft of 0.5 B parameters (Qwen2.5's cache) on four H100 at 70 %,
 * K = 4, context 512, alpha 0.7. */
TEST(speedups_by_batch_are_those_of_the_data_sheets)
{
    static const struct {
        int64_t B;
        double value;
    } known[] = {{1, 2.70}, {32, 2.69}, {64, 1.79}, {96, 1.25}, {128, .97}, {192, .69}, {256, .65}};
    spec_step_cost *cost =
        cost_of("roofline:card=H100,devices=4,efficiency=1,compute=0.7,overhead=0,form=max,"
                "parameters=70B,kv_bytes=327680",
                "roofline:card=H100,devices=4,efficiency=1,compute=0.7,overhead=0,form=max,"
                "parameters=0.5B,kv_bytes=12288,round=0");
    for (int i = 0; i < 7; i++)
        assert_within(speedup(cost, known[i].B, 512, 4, 0.7), known[i].value, 0.0061);
    spec_step_cost_free(cost);
}

/* s* = (b (K+1-E) + K b_d) / (c_kv (E-1) - K c_kv,d): at that context, an arbitrarily large batch
 * gains nothing from drafts. Both forms agree, since weights no longer matter. */
TEST(at_the_break_even_context_speculation_pays_nothing)
{
    const double flops = 312e12 * 0.6 * 8, bandwidth = 2.039e12 * 8;
    const double b = 2.0 * 6.74e9 / flops, kv = 524288.0 / bandwidth, b_draft = 2.0 * 1.1e9 / flops,
                 kv_draft = 22528.0 / bandwidth;
    for (int K = 1; K <= 5; K++) {
        const double emitted = (1.0 - pow(0.7, K + 1)) / 0.3;
        const double context =
            (b * (K + 1 - emitted) + K * b_draft) / (kv * (emitted - 1.0) - K * kv_draft);
        for (int form = 0; form < 2; form++) {
            spec_step_cost *cost =
                form == 0
                    ? cost_of("roofline:" LLAMA_2_7B "," EIGHT_A100,
                              "roofline:" TINY_LLAMA "," EIGHT_A100 ",round=0")
                    : cost_of("roofline:" LLAMA_2_7B ",card=A100,bandwidth=2.039TB/s,devices=8,"
                              "compute=0.6,efficiency=1,overhead=0",
                              "roofline:" TINY_LLAMA ",card=A100,bandwidth=2.039TB/s,devices=8,"
                              "compute=0.6,efficiency=1,overhead=0,round=0");
            const int64_t B = 1000000000;
            assert_true(speedup(cost, B, (int64_t)floor(context), K, 0.7) <= 1.0 + 1e-6);
            assert_true(speedup(cost, B, (int64_t)floor(context) + 1, K, 0.7) >= 1.0 - 1e-6);
            spec_step_cost_free(cost);
        }
    }
}

TEST(a_roofline_is_the_sum_or_the_larger_of_its_parts)
{
#define MACHINE                                                                                    \
    "flops=8TFLOPS,bandwidth=2TB/s,devices=2,compute=0.5,parameters=4B,"                           \
    "bytes_per_weight=3,kv_bytes=1kB,overhead=7ms"
    const double weights = 12e9 / 4e12, compute = 8e9 * 328 / 8e12, cache = 1e3 * 5000 / 4e12;
    spec_step_cost *sum = cost_of("roofline:" MACHINE, NULL),
                   *max = cost_of("roofline?" MACHINE ",form=max", NULL);
    assert_near(spec_step_cost_target(sum, &work), 7e-3 + weights + compute + cache, 1e-14);
    assert_near(spec_step_cost_target(max, &work), 7e-3 + compute + cache, 1e-14);
    const spec_step_work one = {.decode_tokens = 1, .decoding = 1};
    assert_near(spec_step_cost_target(max, &one), 7e-3 + weights, 1e-14);
    assert_non_null(spec_step_cost_affine(sum));
    assert_near(spec_affine_step_target(spec_step_cost_affine(sum), &work),
                spec_step_cost_target(sum, &work), 1e-15);
    assert_null(spec_step_cost_affine(max));
    spec_step_cost_free(sum);
    spec_step_cost_free(max);
}

TEST(a_draft_by_passes_without_a_cache_is_affine)
{
#define TARGET "step=7.1ms,token=21us"
#define DRAFT "roofline:flops=121TFLOPS,bandwidth=300GB/s,parameters=0.5B"
    spec_step_cost *plain = cost_of(TARGET, DRAFT),
                   *cached = cost_of(TARGET, DRAFT ",kv_bytes=1kB");
    const double pass = 1e9 / 3e11, token = 1e9 / 121e12;
    assert_near(spec_step_cost_draft(plain, &work), 3 * pass + 21 * token, 1e-14);
    assert_near(spec_affine_step_draft(spec_step_cost_affine(plain), &work),
                spec_step_cost_draft(plain, &work), 1e-14);
    assert_null(spec_step_cost_affine(cached));
    assert_near(spec_step_cost_draft(cached, &work), 3 * pass + 21 * token + 3 * 5000 * 1e3 / 3e11,
                1e-14);
    const spec_step_work nothing = {.decode_tokens = 7, .decoding = 7};
    assert_same(spec_step_cost_draft(cached, &nothing), 0.0);
    spec_step_cost_free(plain);
    spec_step_cost_free(cached);
}

/* ---- what engines reach ---------------------------------------------------------------------- */

static double target_of(const char *spec, int64_t tokens, int64_t kv)
{
    const spec_step_work at = {
        .decode_tokens = tokens, .kv_tokens = kv, .decoding = (int)tokens, .passes = 0};
    spec_step_cost *cost = cost_of(spec, NULL);
    const double seconds = spec_step_cost_target(cost, &at);
    spec_step_cost_free(cost);
    return seconds;
}

static double draft_of(const char *target, const char *draft, int64_t requests, int K)
{
    const spec_step_work at = {.decode_tokens = requests * (K + 1),
                               .kv_tokens = requests * 1000,
                               .drafted = requests * K,
                               .decoding = (int)requests,
                               .passes = K};
    spec_step_cost *cost = cost_of(target, draft);
    const double seconds = spec_step_cost_draft(cost, &at);
    spec_step_cost_free(cost);
    return seconds;
}

TEST(a_card_brings_what_engines_reach_of_it)
{
    const spec_hardware *card = spec_hardware_find("H100");
    const double read = 3.35e12 * card->share->efficiency.central,
                 rate = 989e12 * card->share->compute.central;
    assert_near(target_of("roofline:card=H100,parameters=8B,kv_bytes=1kB", 7, 5000),
                card->share->overhead.central + 16e9 / read + 7 * 16e9 / rate + 5000 * 1e3 / read,
                1e-14);
    assert_near(target_of("roofline:card=H100,parameters=8B,efficiency=1,compute=1,overhead=0,"
                          "bits=8,bytes_per_weight=1",
                          7, 0),
                8e9 / 3.35e12 + 7 * 16e9 / 1979e12, 1e-14);
    assert_near(draft_of("step=7ms", "roofline:card=H100,parameters=1B,kv_bytes=1kB", 3, 5),
                card->share->round.central + 5 * (card->share->draft_overhead.central + 2e9 / read +
                                                  3 * 2e9 / rate + 3 * 1000 * 1e3 / read),
                1e-14);
}

#define IDEAL "flops=1000TFLOPS,bandwidth=1TB/s"
#define MIXTURE_OF(more)                                                                           \
    "roofline:" IDEAL ",parameters=6B,experts=8,active=2,active_parameters=3B," more
#define MIXTURE MIXTURE_OF("overhead=1ms")

TEST(drafts_take_time_per_call_and_per_step)
{
    assert_near(
        draft_of("step=7ms", "roofline:" IDEAL ",parameters=1B,overhead=3ms,round=5ms", 4, 3),
        5e-3 + 3 * (3e-3 + 2e-3 + 4 * 2e-6), 1e-13);
    assert_near(draft_of("step=7ms",
                         "roofline:" IDEAL ",parameters=1B,overhead=3ms,round=5ms,calls=one", 4, 3),
                5e-3 + 3e-3 + 2e-3 + 12 * 2e-6, 1e-13);
    assert_near(draft_of("step=7ms",
                         "roofline:" IDEAL ",parameters=1B,kv_bytes=1kB,kv_limit=100,calls=one", 4,
                         3),
                2e-3 + 12 * 2e-6 + 4 * 100 * 1e-9, 1e-13);
    assert_near(
        draft_of("roofline:card=H100,parameters=8B,draft_overhead=4ms",
                 "roofline:card=H100,parameters=1B,round=0", 4, 3) -
            draft_of("step=7ms", "roofline:card=H100,parameters=1B,round=0,overhead=0", 4, 3),
        3 * 4e-3, 1e-12);
}

/* The affine record if drafts take one call, and if they take calls of their own. */
TEST(times_around_drafts_are_in_the_affine_record)
{
    static const char *const drafts[] = {"roofline:card=H100,parameters=1B",
                                         "roofline:card=H100,parameters=1B,calls=one"};
    for (int i = 0; i < 2; i++) {
        spec_step_cost *cost = cost_of("step=7.1ms", drafts[i]);
        assert_near(spec_affine_step_draft(spec_step_cost_affine(cost), &work),
                    spec_step_cost_draft(cost, &work), 1e-15);
        spec_step_cost_free(cost);
    }
}

/* Second route: the exact law of the number of distinct experts, token after token. A token that
 * finds d experts taken adds j new ones with the hypergeometric probability. Of 6 billion
 * parameters 8 experts of 0.5 billion each hold 4; a token uses 2 and 1 billion of them. */
TEST(a_mixture_reads_the_experts_of_the_exact_law)
{
    enum { E = 8, A = 2 };
    double law[E + 1] = {1.0};
    for (int n = 1; n <= 12; n++) {
        double next[E + 1] = {0.0}, mean = 0.0;
        for (unsigned d = 0; d <= E; d++)
            for (unsigned j = 0; j <= A && d + j <= E; j++)
                next[d + j] += law[d] * gsl_ran_hypergeometric_pdf(j, E - d, d, A);
        for (int d = 0; d <= E; d++) {
            law[d] = next[d];
            mean += d * law[d];
        }
        const double weights = 2.0 * (2e9 + mean * 0.5e9) / 1e12, products = n * 2.0 * 3e9 / 1e15;
        assert_near(target_of(MIXTURE, n, 0), 1e-3 + weights + products, 1e-13);
        assert_near(target_of(MIXTURE ",form=max", n, 0), 1e-3 + fmax(weights, products), 1e-13);
    }
    spec_step_cost *cost = cost_of(MIXTURE, NULL);
    assert_null(spec_step_cost_affine(cost));
    spec_step_cost_free(cost);
}

TEST(plain_gives_the_overhead)
{
#define BIG "roofline:" IDEAL ",parameters=5B,kv_bytes=1kB"
    assert_near(target_of(BIG ",plain=13ms", 1, 0), 13e-3, 1e-15);
    assert_near(target_of(BIG ",plain=13ms", 9, 700), 13e-3 + 8 * 1e-5 + 700 * 1e-9, 1e-15);
    /* The given times are faster than the machine can read, so all parts of a pass take the same
     * share of their time. */
    assert_near(target_of(BIG ",plain=5ms", 9, 700),
                5e-3 / (10e-3 + 1e-5) * (10e-3 + 9e-5 + 700e-9), 1e-15);
    assert_near(target_of(MIXTURE_OF("plain=20ms"), 1, 0), 20e-3, 1e-15);
    assert_near(target_of(MIXTURE_OF("plain=2ms,form=max"), 1, 0), 2e-3, 1e-15);
}

TEST(the_draft_says_what_its_cache_takes)
{
    static const char *const drafts[] = {"roofline:card=L4,parameters=1B,kv_bytes=4kB",
                                         "round=1ms,kv_bytes=4kB", "round=1ms"};
    for (int i = 0; i < 3; i++) {
        spec_step_cost *cost = cost_of("step=7ms", drafts[i]);
        assert_same(spec_step_cost_memory(cost).draft_kv_token, i == 2 ? 0.0 : 4e3);
        spec_step_cost_free(cost);
    }
}

TEST(a_roofline_says_what_its_weights_take)
{
    spec_step_cost *cost =
        cost_of("roofline:card=H100,devices=2,parameters=70B,bytes_per_weight=1,kv_bytes=160kB",
                "roofline:card=L4,parameters=1B,kv_bytes=4kB");
    const spec_step_memory bytes = spec_step_cost_memory(cost);
    assert_same(bytes.cards, 160e9);
    assert_same(bytes.weights, 70e9);
    assert_same(bytes.draft_weights, 2e9);
    assert_same(bytes.kv_token, 160e3);
    assert_same(bytes.draft_kv_token, 4e3);
    spec_step_cost_free(cost);
}

/* Second route: settings drawn from between their ends. The speed-up is a quotient of two affine
 * functions of each setting, so it is monotone, and its extremes over the box are at corners. */
TEST(speedups_within_the_ends_are_within_those_of_the_corners)
{
    static const char target[] = "roofline:card=RTX 5060 Ti,parameters=14B,bytes_per_weight=0.6",
                      draft[] = "roofline:card=RTX 5060 Ti,parameters=0.5B";
    const spec_engine_share *share = spec_hardware_find("RTX 5060 Ti")->share;
    const spec_span *const spans[] = {&share->efficiency, &share->compute, &share->overhead,
                                      &share->draft_overhead, &share->round};
    double low = HUGE_VAL, high = 0.0;
    char of_target[512], of_draft[512];
    for (int corner = 0; corner < SPEC_STEP_COST_CORNERS; corner++) {
        assert_true(spec_step_cost_corner(of_target, 512, target, false, corner));
        assert_true(spec_step_cost_corner(of_draft, 512, draft, true, corner));
        spec_step_cost *cost = cost_of(of_target, of_draft);
        low = fmin(low, speedup(cost, 6, 0, 4, 0.7));
        high = fmax(high, speedup(cost, 6, 0, 4, 0.7));
        spec_step_cost_free(cost);
    }
    assert_true(high / low > 1.5);
    for (int i = 0; i < 3000; i++) {
        double at[5];
        for (int k = 0, digits = i; k < 5; k++, digits /= 5)
            at[k] = spans[k]->best + digits % 5 / 4.0 * (spans[k]->worst - spans[k]->best);
        snprintf(of_target, 512, "%s,efficiency=%.17g,compute=%.17g,overhead=%.17gs", target, at[0],
                 at[1], at[2]);
        snprintf(of_draft, 512, "%s,efficiency=%.17g,compute=%.17g,overhead=%.17gs,round=%.17gs",
                 draft, at[0], at[1], at[3], at[4]);
        spec_step_cost *cost = cost_of(of_target, of_draft);
        const double inside = speedup(cost, 6, 0, 4, 0.7);
        if (!(inside >= low * (1 - 1e-9) && inside <= high * (1 + 1e-9)))
            fail_msg("%s: %g is not in [%g, %g]", of_target, inside, low, high);
        spec_step_cost_free(cost);
    }
}

TEST(what_is_given_is_certain)
{
    static const struct {
        const char *spec;
        bool draft, uncertain;
    } specs[] = {
        {"roofline:card=H100,parameters=8B", false, true},
        {"roofline:card=H100,parameters=8B,plain=7ms,efficiency=0.8", false, true},
        {"roofline:card=H100,parameters=8B,plain=7ms,efficiency=0.8,compute=0.7", false, false},
        {"roofline:card=H100,parameters=8B,overhead=1ms,efficiency=0.8,compute=0.7", true, true},
        {"roofline:" IDEAL ",parameters=8B", false, false},
        {"step=7ms", false, false},
        {"round=7ms", true, false},
        {"what", false, false},
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char spec[512];
        assert_int_equal(spec_step_cost_corner(spec, sizeof spec, specs[i].spec, specs[i].draft, 5),
                         specs[i].uncertain);
        assert_int_equal(strncmp(spec, specs[i].spec, strlen(specs[i].spec)), 0);
    }
}

/* Three passes of 2 tokens, the first of which also computes 50 tokens that the draft's cache
 * lacks; and a pass for the cache alone. If the target has the draft's own spec, its passes take
 * the same times. */
TEST(the_first_pass_of_a_draft_fills_its_cache)
{
    static const char spec[] =
        "roofline:card=H100,parameters=1B,kv_bytes=32768,form=max,overhead=0";
    spec_step_cost *cost = cost_of(
        spec, "roofline:card=H100,parameters=1B,kv_bytes=32768,form=max,overhead=0,round=0");
    const spec_step_work drafts = {.kv_tokens = 800,
                                   .drafted = 6,
                                   .decoding = 2,
                                   .passes = 3,
                                   .fed = 50},
                         prompts = {.passes = 1, .fed = 900},
                         first = {.decode_tokens = 52, .kv_tokens = 800},
                         other = {.decode_tokens = 2, .kv_tokens = 800},
                         alone = {.prompt_tokens = 900};
    assert_null(spec_step_cost_affine(cost));
    assert_near(spec_step_cost_draft(cost, &drafts),
                spec_step_cost_target(cost, &first) + 2.0 * spec_step_cost_target(cost, &other),
                1e-12);
    assert_near(spec_step_cost_draft(cost, &prompts), spec_step_cost_target(cost, &alone), 1e-12);
    spec_step_cost_free(cost);
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(wrong_specs_are_refused_in_one_line)
{
    static const struct {
        const char *target, *draft, *expected;
    } bad[] = {
        {"", NULL, "no step cost is named ''; they are affine, roofline, fit and table"},
        {"afine:step=1ms", NULL, "no step cost is named 'afine'; did you mean 'affine'?"},
        {"tabel:x.csv", NULL, "no step cost is named 'tabel'; did you mean 'table'?"},
        {"table", NULL, "table needs something after a ':', as in table:FILE?kv=0"},
        {"affine:", NULL, "affine?: '' is not of the form key=value"},
        {"step=1ms,stp=2ms", NULL, "affine has no key 'stp'; did you mean 'step'?"},
        {"step=1ms,round=2ms", NULL, "affine has no key 'round'; its keys are step,token,kv"},
        {"step=1ms", "step=2ms", "affine has no key 'step'; its keys are round,pass,token"},
        {"step=nan", NULL,
         "affine: step=nan is not a time with its unit, as in 7.1ms: s, ms, us, ns, min, h"},
        {"step=inf", NULL,
         "affine: step=inf is not a time with its unit, as in 7.1ms: s, ms, us, ns, min, h"},
        {"step=-1ms", NULL, "affine: step=-1ms is not between 0 and 1e+06"},
        {"step=1ms", "token=-1us", "affine: token=-1us is not between 0 and 1e+06"},
        {"kv=39ns", NULL,
         "affine: a step of one token takes no time; give step= or token=, as in "
         "affine:step=7.1ms,token=21us,kv=39ns"},
        {"roofline:card=H10,parameters=8B", NULL,
         "roofline: card=H10 is not known; did you mean 'H100'?; for another, give flops= and "
         "bandwidth="},
        {"roofline:card=Cray-1,parameters=8B", NULL,
         "roofline: card=Cray-1 is not known; 'speclab list cards' shows them; for another, give "
         "flops= and bandwidth="},
        {"roofline:card=H100,parameters=8,kv_bytes=8", NULL,
         "roofline: parameters=8 is not between 10000 and 1e+18"},
        {"roofline:flops=989,bandwidth=3350GB/s,parameters=8B", NULL,
         "roofline: flops=989 is not between 1e+09 and 1e+30"},
        {"roofline:card=H100,parameters=8B,plain=7.1", NULL,
         "roofline: plain=7.1 is not a time with its unit, as in 7.1ms: s, ms, us, ns, min, h"},
        {"roofline:flops=1TFLOPS,parameters=8B", NULL,
         "roofline: give card=, such as H100, or flops= and bandwidth="},
        {"roofline:card=H100", NULL,
         "roofline: give the number of parameters, as in parameters=8.03B"},
        {"roofline:card=H100,parameters=8B,form=both", NULL,
         "roofline: form=both is not one of sum or max"},
        {"roofline:card=H100,parameters=8B,efficiency=1.5", NULL,
         "roofline: efficiency=1.5 is not between 0.001 and 1"},
        {"roofline:card=H100,parameters=8B,kv_limit=5", NULL, "roofline has no key 'kv_limit'"},
        {"roofline:card=H100,parameters=8B,round=1ms", NULL, "roofline has no key 'round'"},
        {"step=1ms", "roofline:card=H100,parameters=8B,draft_overhead=1ms",
         "roofline has no key 'draft_overhead'; its keys are "},
        {"roofline:card=M2 Ultra,parameters=8B,bits=4", NULL,
         "roofline: M2 Ultra has no peak for products of 4 bits"},
        {"roofline:card=H100,parameters=8B,overhead=1ms,plain=7ms", NULL,
         "roofline: plain= gives the overhead; leave out overhead= or plain="},
        {"roofline:card=H100,parameters=8B,experts=8", NULL,
         "roofline: a mixture of experts needs experts=, active= and active_parameters=, as in "
         "experts=128,active=8,active_parameters=3.3B"},
        {"roofline:card=H100,parameters=8B,experts=8,active=8,active_parameters=3B", NULL,
         "roofline: active=8 is not a whole number between 1 and 7"},
        {"roofline:card=H100,parameters=8B,experts=8,active=2,active_parameters=1B", NULL,
         "roofline: active_parameters=1B must be between 2e+09, as many as if all were in experts, "
         "and all 8e+09"},
        {"step=1ms", "roofline:card=H100,parameters=8B,calls=two",
         "roofline: calls=two is not one of each or one"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        spec_step_cost *cost = (spec_step_cost *)&cost;
        spec_error error = {""};
        assert_int_not_equal(spec_step_cost_create(&cost, bad[i].target, bad[i].draft, &error), 0);
        assert_null(cost);
        if (strncmp(error.text, bad[i].expected, strlen(bad[i].expected)) != 0)
            fail_msg("'%s', not '%s'", error.text, bad[i].expected);
    }
    spec_step_cost_free(NULL);
}
