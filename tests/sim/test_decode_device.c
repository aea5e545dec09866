/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks chains drawn and verified on a device, a stand-in that does the host's work: texts are the
 * same token for token, and the generators end in the same state. */
#include "sim/decode_device.h"

#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/decode.h"
#include "sim/output_law.h"
#include "tests/support/contexts.h"
#include "tests/support/drawing_backend.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

#define SHAPE "random?dim=32&heads=2&ffn=64&context=64"
enum { PROMPT = 3, TEXT = 64 }; /* at most to the window's end */
static const int prompt[PROMPT] = {3, 1, 4};

typedef struct {
    int text[TEXT];
    size_t n;
    double next; /* of the generator */
    spec_tally tally;
    int used;    /* rounds on the device */
    int passes;  /* draft passes of all rounds, without guesses */
    int wasted;  /* those of them behind an end of a text */
} outcome;

static outcome decode(const spec_decoder_config *config, size_t n_prompt, uint64_t seed)
{
    outcome out = {.used = 0};
    OWNED(spec_decoder) decoder;
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, seed, 7);
    spec_chance chance = spec_chance_sampled(rng);
    stage_open_decoder(&decoder, config);
    assert_int_equal(spec_decoder_reset(&decoder, prompt, n_prompt, NULL), GSL_SUCCESS);
    while (spec_decoder_room(&decoder) >= 0) {
        assert_int_equal(spec_decoder_round(&decoder, &chance, &out.tally, NULL), GSL_SUCCESS);
        out.used += decoder.device.used;
        const int wasted = decoder.drafter.n_wasted + decoder.ahead.n_wasted;
        out.wasted += wasted;
        out.passes +=
            decoder.drafter.n_calls + wasted + decoder.ahead.n_calls - (decoder.ahead.n_calls > 0);
        for (int i = 0; i < decoder.round.n_accepted; i++)
            assert_int_equal(decoder.round.node[i], i);
    }
    out.n = decoder.n_context - n_prompt;
    assert_true(out.n <= TEXT);
    memcpy(out.text, decoder.context + n_prompt, out.n * sizeof *out.text);
    out.next = gsl_rng_uniform(rng);
    return out;
}

/* ---- the same text --------------------------------------------------------------------------- */

static const struct {
    const char *target, *draft;
} pairs[] = {
    {SHAPE "&layers=2&vocab=31&seed=1", SHAPE "&layers=1&vocab=31&seed=2"},
    {SHAPE "&layers=2&vocab=31&seed=1&temperature=0.7&top_k=5",
     SHAPE "&layers=1&vocab=31&seed=1&top_p=0.8"},
    {SHAPE "&layers=2&vocab=31&seed=1&temperature=0",
     SHAPE "&layers=1&vocab=31&seed=1&temperature=0"},
    {SHAPE "&layers=2&vocab=31&seed=1&temperature=0.4",
     SHAPE "&layers=2&vocab=31&seed=1&temperature=0"},
    {SHAPE "&layers=2&vocab=900&seed=1",
     SHAPE "&layers=2&vocab=900&seed=1&temperature=1.4&min_p=0.01&filters=chained"},
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

TEST(texts_are_the_same_there_and_here)
{
    const uint64_t seed = spec_test_seed();
    uint64_t hits = 0, accepted = 0, corrected = 0, ended = 0;
    for (int p = 0; p < N_PAIRS; p++) {
        spec_model *target = model_of(pairs[p].target, NULL),
                   *draft = model_of(pairs[p].draft, NULL);
        drawing_backend drawing;
        drawing_backend_init(&drawing, target->vocab);
        drawing_backend_take(&drawing, target);
        drawing_backend_take(&drawing, draft);
        if (p < 2) draft->ends = (spec_text_ends){2, {9, 17}};
        for (int c = 0; c < 3 * 2 * 2 * 2; c++) {
            spec_decoder_config config = SPEC_DECODER_DEFAULT;
            config.drafting = c / 12 == 0 ? "chain" : "greedy";
            config.target = target;
            config.opt_draft = draft;
            config.K = 1 + c % 3 * 3;
            config.ahead = c / 3 % 2 == 1;
            config.policy = c / 6 % 2 == 0 ? "fixed" : "heuristic";
            const outcome here = decode(&config, PROMPT, seed + (uint64_t)c);
            assert_int_equal(here.used, 0);
            drawing.draws = drawing.waits = drawing.verifications = drawing.rows = 0;
            config.verify = c % 2 == 0 ? SPEC_VERIFY_AUTO : SPEC_VERIFY_DEVICE;
            const outcome there = decode(&config, PROMPT, seed + (uint64_t)c);
            assert_int_equal(there.n, here.n);
            assert_memory_equal(there.text, here.text, here.n * sizeof *here.text);
            assert_same(there.next, here.next);
            assert_memory_equal(&there.tally, &here.tally, sizeof here.tally);
            assert_int_equal(there.used, drawing.verifications);
            assert_true(there.used > 0 && (uint64_t)there.used >= there.tally.rounds - 1);
            assert_int_equal(drawing.draws, there.passes);
            assert_int_equal(here.passes, there.passes - there.wasted);
            assert_int_equal(here.wasted, 0);
            assert_true(drawing.waits <= (int)there.tally.rounds * (config.ahead ? 2 : 1));
            ended += there.wasted > 0;
            assert_true(drawing.rows <=
                        2); /* the last round has no room for a draft, so its row is on the host */
            hits += there.tally.hits;
            accepted += there.tally.accepted;
            corrected += there.tally.rounds - there.tally.n_accepted[config.K];
        }
        spec_model_close(draft);
        spec_model_close(target);
    }
    print_message("%llu accepted, %llu rounds with a correction, %llu that found their chain, %llu "
                  "texts with a stop token inside a chain\n",
                  (unsigned long long)accepted, (unsigned long long)corrected,
                  (unsigned long long)hits, (unsigned long long)ended);
    assert_true(hits > 20 && accepted > 500 && corrected > 200 && ended > 5);
}

/* The row after an empty context is then computed from the begin-of-text token, and the drafted
 * tokens form a text of their own, without it. */
TEST(a_text_without_a_begin_is_drafted_from_its_first_token)
{
    drawing_backend drawing; /* must outlive the models on it */
    OWNED_MODEL *target = model_of(pairs[1].target, NULL);
    OWNED_MODEL *draft = model_of(pairs[1].draft, NULL);
    drawing_backend_init(&drawing, target->vocab);
    drawing_backend_take(&drawing, target);
    drawing_backend_take(&drawing, draft);
    ((spec_transformer *)spec_transformer_of(target))->own_checkpoint.adds_begin = false;
    ((spec_transformer *)spec_transformer_of(draft))->own_checkpoint.adds_begin = false;
    for (uint64_t seed = 0; seed < 20; seed++) {
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        config.target = target;
        config.opt_draft = draft;
        const outcome here = decode(&config, 0, seed);
        config.verify = SPEC_VERIFY_DEVICE;
        const outcome there = decode(&config, 0, seed);
        assert_true(here.used == 0 && there.used > 0);
        assert_int_equal(there.n, here.n);
        assert_memory_equal(there.text, here.text, here.n * sizeof *here.text);
        assert_same(there.next, here.next);
    }
}

/* Computes the acceptance probability of each tested token, the smaller of 1 and its ratio, from
 * separate rows. */
TEST(chances_are_those_of_the_rows)
{
    spec_model *target = model_of(pairs[1].target, NULL),
               *draft = model_of(pairs[1].draft, NULL);
    drawing_backend drawing;
    drawing_backend_init(&drawing, target->vocab);
    drawing_backend_take(&drawing, target);
    drawing_backend_take(&drawing, draft);
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target;
    config.opt_draft = draft;
    config.verify = SPEC_VERIFY_DEVICE;
    spec_decoder decoder;
    OWNED_RNG *rng = spec_test_rng(spec_rng_pcg64dxsm, 42);
    spec_chance chance = spec_chance_sampled(rng);
    spec_session sessions[2];
    double row[2][31];
    stage_open_decoder(&decoder, &config);
    assert_int_equal(spec_session_init(&sessions[0], target, NULL), GSL_SUCCESS);
    assert_int_equal(spec_session_init(&sessions[1], draft, NULL), GSL_SUCCESS);
    for (int r = 0; r < 9; r++) {
        int text[64 + 6];
        size_t n = decoder.n_context;
        memcpy(text, decoder.context, n * sizeof *text);
        assert_int_equal(spec_decoder_round(&decoder, &chance, NULL, NULL), GSL_SUCCESS);
        assert_true(decoder.device.used);
        for (int i = 0; i < decoder.round.n_tested; i++) {
            const int token = decoder.draft.token[i];
            for (int m = 0; m < 2; m++)
                assert_non_null(spec_session_row(&sessions[m], text, n, row[m], NULL));
            assert_same(decoder.device.chance[i], fmin(1.0, row[0][token] / row[1][token]));
            text[n++] = token;
        }
    }
    for (int m = 0; m < 2; m++) spec_session_free(&sessions[m]);
    spec_decoder_free(&decoder);
    spec_model_close(draft);
    spec_model_close(target);
}

/* When chance is enumerated, rows are used, and the law is the target's. */
TEST(enumeration_goes_by_rows)
{
    drawing_backend drawing;
    OWNED_MODEL *target = model_of(SHAPE "&layers=2&vocab=2&seed=1", NULL);
    OWNED_MODEL *draft = model_of(SHAPE "&layers=1&vocab=2&seed=1", NULL);
    drawing_backend_init(&drawing, 2);
    drawing_backend_take(&drawing, target);
    drawing_backend_take(&drawing, draft);
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target;
    config.opt_draft = draft;
    config.K = 2;
    config.verify = SPEC_VERIFY_DEVICE;
    OWNED(spec_output_law) law;
    assert_int_equal(spec_output_law_init(&law, &config, prompt, 0, 3, 0, NULL), GSL_SUCCESS);
    assert_true(law.tv < 1e-13);
    assert_int_equal(drawing.draws, 0);
}

/* ---- where it is not possible ---------------------------------------------------------------- */

static void check_refused(spec_decoder_config config, const char *line)
{
    OWNED(spec_decoder) decoder;
    config.verify = SPEC_VERIFY_DEVICE;
    assert_fails(spec_decoder_init(&decoder, &config, &error), GSL_EINVAL, line);
    config.verify = SPEC_VERIFY_AUTO;
    assert_works(spec_decoder_init(&decoder, &config, &error));
    assert_false(decoder.device.on);
}

TEST(what_cannot_be_is_refused_with_its_reason)
{
    spec_model *target = model_of(pairs[0].target, NULL),
               *draft = model_of(pairs[0].draft, NULL);
    spec_model *synthetic = model_of("uniform?V=31", NULL),
               *perturbed = model_of("perturb?of=target&alpha=0.8", target);
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    drawing_backend drawing;
    config.target = target;
    config.opt_draft = draft;
#define NOT "chains cannot be verified on a device: "
    check_refused(config, NOT "the models are on cpu, which does not sample");
    drawing_backend_init(&drawing, 31);
    drawing_backend_take(&drawing, target);
    check_refused(config, NOT "the target's rows are on drawing and the draft's on cpu");
    drawing_backend_take(&drawing, draft);
    config.K = 64;
    check_refused(config, NOT "drafts of 64 tokens take more than one pass of 64");
    config.K = 4;
    config.rule = "block";
    check_refused(config, NOT "rule 'block' needs rows; a device supports only the rule token");
    config.rule = "token";
    config.drafting = "lookup";
    check_refused(config, NOT "draft strategy 'lookup' needs rows; a device supports only the "
                              "strategies chain and greedy");
    config.drafting = "chain";
    config.policy = "confidence";
    check_refused(config, NOT "length policy 'confidence' needs rows; a device supports only "
                              "policies that need none, like fixed and heuristic");
    config.policy = "fixed";
    config.opt_draft = synthetic;
    check_refused(config,
                  NOT "the draft is not on a device that can sample");
    config.opt_draft = perturbed;
    check_refused(config,
                  NOT "the draft is not on a device that can sample");
    config.opt_draft = draft;
    config.target = synthetic;
    check_refused(config,
                  NOT "the target is not on a device that can sample");
    spec_model_close(perturbed);
    spec_model_close(synthetic);
    spec_model_close(draft);
    spec_model_close(target);
}
