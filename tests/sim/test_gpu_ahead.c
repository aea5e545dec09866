/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests drafting ahead, and chains that are drawn and verified on the device, with models on the
 * GPU or the simulated one: with the target there and the draft on the host, and with both there on
 * two streams. The decoded text is the same as without them. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "sim/chance/rng.h"
#include "sim/decode.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

#define SHAPE "random?dim=64&layers=2&heads=4&kv_heads=2&ffn=96&vocab=67&context=48&"
enum { TOKENS = 16 };
static uint64_t seed;

typedef struct {
    int text[TOKENS];
    spec_tally tally;
    double next;
    bool device;
} outcome;

static outcome decode(const spec_model *target, const spec_model *draft, const char *drafting,
                      bool ahead, spec_verify_place verify, int K)
{
    outcome out;
    memset(&out, 0, sizeof out);
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target;
    config.opt_draft = draft;
    config.drafting = drafting;
    config.K = K;
    config.ahead = ahead;
    config.verify = verify;
    OWNED(spec_decoder) decoder;
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, seed, (uint64_t)K);
    spec_chance chance = spec_chance_sampled(rng);
    size_t n;
    stage_open_decoder(&decoder, &config);
    assert_works(spec_decode(&decoder, TOKENS, out.text, &n, &chance, &out.tally, &error));
    assert_int_equal(n, TOKENS);
    out.device = decoder.device.used;
    out.next = gsl_rng_uniform(rng);
    return out;
}

/* Greedy texts equal the plain one. Drafts are on the host and on the GPU, with other weights or
 * with the target's own layers. */
TEST(drafting_ahead_changes_no_greedy_text, SLOW)
{
    OWNED_MODEL *target = model_of(SHAPE "seed=1&type=bf16&temperature=0&device=gpu", NULL);
    static const char *const drafts[] = {
        SHAPE "seed=1&type=q8_0&device=cpu&temperature=0", "layers?exit=1&temperature=0",
        "quantised?type=q8_0&temperature=0", "layers?exit=2&temperature=0.5"};
    const outcome plain = decode(target, target, "chain", false, SPEC_VERIFY_HOST, 0);
    uint64_t hits = 0;
    for (int d = 0; d < 4; d++) {
        OWNED_MODEL *draft = model_of(drafts[d], target);
        for (int K = 1; K <= 3; K += 2) {
            const outcome out = decode(target, draft, "chain", true, SPEC_VERIFY_HOST, K);
            assert_memory_equal(out.text, plain.text, sizeof plain.text);
            hits += out.tally.hits;
        }
    }
    print_message("%llu rounds found their chain\n", (unsigned long long)hits);
    assert_true(hits > 5);
}

/* Chains that are verified on the GPU equal those that are verified by rows, also when drafted
 * ahead, at several temperatures and with filters. */
TEST(chains_on_the_card_are_those_by_rows, SLOW)
{
    static const struct {
        const char *target, *draft;
    } pairs[] = {
        {SHAPE "seed=1&type=f32&device=gpu", SHAPE "seed=2&type=bf16&device=gpu"},
        {SHAPE "seed=1&type=bf16&device=gpu&temperature=0.3&top_k=9",
         "layers?exit=1&temperature=0.4&top_p=0.9"},
        {SHAPE "seed=1&type=q8_0&device=gpu&temperature=0.4",
         "quantised?type=q4_0&temperature=0.4"},
        {SHAPE "seed=1&type=q8_0&device=gpu&temperature=0", "layers?exit=2&temperature=0"},
    };
    uint64_t hits = 0, accepted = 0;
    for (int p = 0; p < 4; p++) {
        spec_model *target = model_of(pairs[p].target, NULL),
                   *draft = model_of(pairs[p].draft, target);
        if (spec_transformer_of(target)->weights->backend->draw == NULL) {
            spec_model_close(draft);
            spec_model_close(target);
            printf("skipped: the card draws nothing\n");
            skip();
        }
        if (p % 2 == 0) draft->ends = (spec_text_ends){3, {11, 42, 60}};
        for (int c = 0; c < 3; c++) {
            const bool ahead = c == 1;
            const char *drafting = c == 2 ? "greedy" : "chain";
            const int K = c == 1 && p % 2 == 0 ? 1 : 4;
            const outcome here = decode(target, draft, drafting, ahead, SPEC_VERIFY_HOST, K);
            const outcome there = decode(target, draft, drafting, ahead, SPEC_VERIFY_DEVICE, K);
            assert_true(there.device && !here.device);
            assert_memory_equal(there.text, here.text, sizeof here.text);
            assert_same(there.next, here.next);
            assert_memory_equal(&there.tally, &here.tally, sizeof here.tally);
            hits += there.tally.hits;
            accepted += there.tally.accepted;
        }
        spec_model_close(draft);
        spec_model_close(target);
    }
    print_message("%llu tokens accepted, %llu rounds found their chain\n",
                  (unsigned long long)accepted, (unsigned long long)hits);
    assert_true(accepted > 40 && hits > 4);
}

static int set_up(void **state)
{
    (void)state;
    seed = spec_test_seed();
    return 0;
}

SUITE(SIMULATOR, .setup = set_up);
