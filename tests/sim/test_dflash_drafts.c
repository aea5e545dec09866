/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding with drafts of dflash, through the real forward pass: the law of the text is the
 * target's, by enumeration of every decision, with chains and trees and with drafts that end by
 * their confidence. */
#include "sim/output_law.h"

#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "sim/chance/rng.h"
#include "tests/sim/greedy_text.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_dflash.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { V = 3, PROMPT = 3 };
static const int prompt[PROMPT] = {2, 0, 2};

#define SMALL "random?dim=8&layers=2&heads=2&ffn=12&vocab=3&context=40&type=f32"

typedef struct {
    spec_model *target, *draft;
} pair;

static pair open_pair(const char *target, spec_dflash_kind kind, int draft_vocab, const char *keys)
{
    pair p = {0};
    p.target = model_of(target, NULL);
    drawn_dflash_config config =
        drawn_dflash(kind, &spec_transformer_of(p.target)->checkpoint->shape);
    if (draft_vocab > 0) {
        config.shape.draft_vocab = draft_vocab;
        config.lacks &= ~(UINT64_C(1) << SPEC_DFLASH_OUTPUT);
    }
    p.draft = drawn_dflash_open(&config, keys, p.target);
    return p;
}

static void pair_free(pair *p)
{
    spec_model_close(p->draft);
    spec_model_close(p->target);
}

static spec_decoder_config config_of(const pair *p, const char *drafting, const char *rule, int K)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = p->target;
    config.opt_draft = p->draft;
    config.drafting = drafting;
    config.rule = rule;
    config.K = K;
    return config;
}

/* ---- losslessness ---------------------------------------------------------------------------- */

static void check_law(const spec_decoder_config *config, int tokens, double *opt_accepted)
{
    OWNED(spec_output_law) law;
    assert_works(spec_output_law_init(&law, config, prompt, PROMPT, tokens, 0, &error));
    if (!(law.tv < 1e-12 && fabs(law.total - 1.0) < 1e-12))
        fail_msg("%s, %s, %s: total variation %g", config->opt_draft->spec, config->drafting,
                 config->rule, law.tv);
    if (opt_accepted != NULL) *opt_accepted = law.accepted;
}

TEST(every_kind_leaves_the_targets_law, SLOW)
{
    static const struct {
        const char *drafting, *rule;
        int K, tokens;
        bool ahead; /* if so, the draft has its own session of the target */
    } ways[] = {
        {"chain", "token", 2, 3, false},
        {"chain", "block", 3, 2, false},
        {"chain", "token", 1, 3, true},
        {"greedy", "token", 3, 3, false},
        {"tree?widths=2.1&siblings=without", "rrsw", 2, 2, false},
        {"dynamic?top=2&nodes=4&depth=3", "naive-tree", 3, 3, false},
        {"marginals?nodes=4", "naive-tree", 3, 3, false}, /* DDTree: rows by depth alone */
    };
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++)
        for (int few = 0; few <= 2; few += 2) {
            pair p = open_pair(SMALL, (spec_dflash_kind)kind, few, "temperature=0.8");
            for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
                if (strncmp(ways[i].drafting, "marginals", 9) == 0 && !p.draft->by_depth) continue;
                spec_decoder_config config =
                    config_of(&p, ways[i].drafting, ways[i].rule, ways[i].K);
                config.ahead = ways[i].ahead;
                check_law(&config, ways[i].tokens, NULL);
            }
            pair_free(&p);
        }
}

/* Returns the lengths of 40 drafts after the prompt, as a set of bits. */
static unsigned lengths(const spec_decoder_config *config)
{
    unsigned seen = 0;
    OWNED(spec_decoder) decoder;
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, 42, 2);
    spec_chance chance = spec_chance_sampled(rng);
    assert_works(spec_decoder_init(&decoder, config, &error));
    for (int i = 0; i < 40; i++) {
        assert_works(spec_decoder_reset(&decoder, prompt, PROMPT, &error));
        assert_works(spec_decoder_round(&decoder, &chance, NULL, &error));
        seen |= 1u << decoder.draft.n_nodes;
    }
    return seen;
}

/* Whether a draft stops depends on the tokens before the one that it leaves out, so drafts after
 * one text have several lengths. */
TEST(ending_by_confidence_leaves_the_targets_law)
{
    static const char *const rules[] = {"token", "block"};
    double accepted[2];
    for (int rule = 0; rule < 2; rule++)
        for (int stops = 0; stops < 2; stops++) {
            OWNED(pair) p = open_pair(SMALL, SPEC_DFLASH_MARKOV, 0, stops ? "confidence=0.1" : "");
            const spec_decoder_config config = config_of(&p, "chain", rules[rule], 3);
            check_law(&config, 2, &accepted[stops]);
            if (stops) assert_true((lengths(&config) & (lengths(&config) - 1)) != 0);
            if (stops) assert_true(accepted[1] > 0.5 && accepted[1] < 0.7 * accepted[0]);
        }
}

/* The negative control: the same threshold on the token that was drawn. */
TEST(a_stop_by_the_drawn_token_is_not_lossless)
{
    OWNED(pair) p = open_pair(SMALL, SPEC_DFLASH_MARKOV, 0, "");
    spec_decoder_config config = config_of(&p, "chain", "token", 3);
    OWNED(spec_output_law) law;
    config.policy = "confidence-drop?threshold=0.4";
    assert_works(spec_output_law_init(&law, &config, prompt, PROMPT, 2, 0, &error));
    assert_true(law.tv > 1e-3);
}

TEST(trees_do_not_end_by_confidence)
{
    OWNED(pair) p = open_pair(SMALL, SPEC_DFLASH_MARKOV, 0, "confidence=0.5&top_k=2");
    const spec_decoder_config config =
        config_of(&p, "dynamic?top=2&nodes=4&depth=3", "naive-tree", 3);
    spec_decoder decoder;
    assert_fails_with(spec_decoder_init(&decoder, &config, &error), GSL_EINVAL,
                      "draft strategy 'dynamic' does not end drafts by a model's "
                      "confidence; use chain or greedy");
}

/* ---- texts and calls ------------------------------------------------------------------------- */

TEST(greedy_text_is_plain_greedy_text)
{
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++) {
        OWNED(pair) p =
            open_pair("random?dim=16&layers=3&heads=2&ffn=24&vocab=50&context=90&type=f32",
                      (spec_dflash_kind)kind, 0, "temperature=0");
        assert_greedy_text_is_plain(p.target, p.draft, prompt, PROMPT);
    }
}

TEST(a_draft_takes_one_call_and_ends_at_the_reach)
{
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++) {
        OWNED(pair) p = open_pair(SMALL, (spec_dflash_kind)kind, 0, "");
        const spec_decoder_config config = config_of(&p, "chain", "token", 7);
        const int reach = kind == SPEC_DFLASH_MARKOV ? 4 : 3;
        OWNED(spec_decoder) decoder;
        spec_tally tally = {0};
        OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
        spec_rng_stream(rng, 42, 1);
        spec_chance chance = spec_chance_sampled(rng);
        assert_works(spec_decoder_init(&decoder, &config, &error));
        assert_true(decoder.shared);
        assert_works(spec_decoder_reset(&decoder, prompt, PROMPT, &error));
        assert_works(spec_decoder_round(&decoder, &chance, &tally, &error));
        assert_int_equal(decoder.draft.n_nodes, reach);
        assert_int_equal(decoder.drafter.n_calls, 1);
        assert_true(fabs(tally.time - 1.1) < 1e-12);
    }
}
