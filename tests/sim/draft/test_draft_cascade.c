/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The draft strategy cascade. test_cascade_rounds.c proves that it is lossless by enumerating
 * hand-made rounds; here the decoder itself is enumerated. */
#include "sim/output_law.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <math.h>
#include <string.h>

enum { V = 2 };

typedef struct {
    table_model target, middle, small;
    spec_decoder_config config;
} trio;

static void trio_init(trio *t, const char *drafting, int K)
{
    table_model_init(&t->target, V);
    table_model_init(&t->middle, V);
    table_model_init(&t->small, V);
    t->config = SPEC_DECODER_DEFAULT;
    t->config.target = &t->target.head;
    t->config.opt_draft = &t->middle.head;
    t->config.opt_inner = &t->small.head;
    t->config.drafting = drafting;
    t->config.K = K;
}

static void trio_randomize(trio *t, pair_family family, uint64_t *noise)
{
    OWNED(table_model) spare;
    table_model_init(&spare, V);
    table_pair_randomize(&t->target, &t->middle, family, noise);
    table_pair_randomize(&spare, &t->small, family, noise);
}

static void trio_free(trio *t)
{
    table_model_free(&t->target);
    table_model_free(&t->middle);
    table_model_free(&t->small);
}

/* Returns the largest total variation over random models of all families; with `ends`, texts of
 * each model may end, and not at the same token. */
static double worst(const char *drafting, const char *rule, int K, bool ends)
{
    uint64_t noise = spec_test_seed();
    double most = 0.0;
    for (int i = 0; i < 4 * PAIR_FAMILIES; i++) {
        OWNED(trio) t;
        OWNED(spec_output_law) law;
        trio_init(&t, drafting, K);
        trio_randomize(&t, (pair_family)(i % PAIR_FAMILIES), &noise);
        if (ends) {
            t.target.head.ends = spec_text_ends_one(1);
            t.middle.head.ends = spec_text_ends_one(i % 3 - 1);
            t.small.head.ends = spec_text_ends_one(i / 3 % 3 - 1);
        }
        t.config.rule = rule;
        assert_works(spec_output_law_init(&law, &t.config, NULL, 0, 3, 0, &error));
        assert_true(fabs(law.total - 1.0) < 1e-12);
        most = fmax(most, law.tv);
    }
    return most;
}

/* Some of these drafts are cut by K, and some are not. */
TEST(any_rule_for_chains_is_lossless_on_a_cascade, SLOW)
{
    static const char *const draftings[] = {"cascade?K=1", "cascade?K=2", "cascade?K=2&rule=block",
                                            "cascade?K=1&rounds=2", "cascade?K=1&rounds=9"};
    static const char *const rules[] = {"token", "block", "traversal", "match", "target-only"};
    for (int d = 0; d < 5; d++)
        for (int r = 0; r < 5; r++)
            for (int K = 1; K <= 3; K++) {
                const double tv = worst(draftings[d], rules[r], K, (d + r + K) % 2 == 0);
                if (!(tv < 1e-13)) fail_msg("%s in %s, K %d: tv %g", draftings[d], rules[r], K, tv);
            }
}

/* The text and all lengths computed by hand: the small model always drafts 0, and the middle one
 * prefers 1. */
TEST(a_draft_has_the_middle_models_tokens_and_rows)
{
    static const double one[] = {0.0, 1.0}, zero[] = {1.0, 0.0};
    OWNED(trio) t;
    OWNED(spec_decoder) decoder = {0};
    OWNED(spec_enumeration) walk;
    trio_init(&t, "cascade?K=2&rounds=3", 8);
    table_model_fill(&t.target, one);
    table_model_fill(&t.middle, one);
    table_model_fill(&t.small, zero);
    assert_works(spec_decoder_init(&decoder, &t.config, &error));
    assert_works(spec_decoder_reset(&decoder, (const int[]){0, 1}, 2, &error));
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    assert_works(spec_decoder_round(&decoder, &walk.chance, NULL, &error));
    assert_int_equal(decoder.draft.n_nodes, 3); /* each inner round corrects its first token */
    assert_int_equal(decoder.drafter.n_calls, 3);
    assert_int_equal(decoder.drafter.n_rows, 9);
    assert_int_equal(decoder.drafter.n_inner_calls, 6);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(decoder.draft.token[i], 1);
        assert_int_equal(decoder.draft.parent[i], i - 1);
        assert_memory_equal(decoder.draft.row[i], one, sizeof one);
    }
    assert_int_equal(decoder.round.n_emitted, 4);

    /* All are accepted: two rounds of three tokens, and a third one that K leaves two tokens. */
    table_model_fill(&t.small, one);
    assert_works(spec_decoder_round(&decoder, &walk.chance, NULL, &error));
    assert_int_equal(decoder.draft.n_nodes, 8);
    assert_int_equal(decoder.drafter.n_calls, 3);
    assert_int_equal(decoder.drafter.n_inner_calls, 5);

    /* The context has 15 tokens, and the small model's window one more; then none. */
    t.small.head.window = 16;
    assert_works(spec_decoder_round(&decoder, &walk.chance, NULL, &error));
    assert_int_equal(decoder.draft.n_nodes, 4);
    assert_int_equal(decoder.drafter.n_inner_calls, 1);

    t.middle.head.ends = spec_text_ends_one(1);
    assert_works(spec_decoder_round(&decoder, &walk.chance, NULL, &error));
    assert_int_equal(decoder.draft.n_nodes, 1);
    assert_int_equal(decoder.drafter.n_calls, 1);
}

/* A target that equals the middle model accepts every draft, even with rule block. */
TEST(the_inner_rule_is_the_one_that_was_named)
{
    uint64_t noise = 27;
    double drafted[2];
    OWNED(trio) t;
    trio_init(&t, "", 3);
    trio_randomize(&t, PAIR_PLAIN, &noise);
    t.config.opt_draft = &t.target.head;
    for (int i = 0; i < 2; i++) {
        OWNED(spec_output_law) law;
        t.config.drafting = i == 0 ? "cascade?K=2" : "cascade?K=2&rule=block";
        assert_works(spec_output_law_init(&law, &t.config, NULL, 0, 1, 0, &error));
        drafted[i] = law.accepted;
    }
    assert_true(drafted[1] > drafted[0] + 0.001);
}

TEST(the_clock_charges_the_passes_of_both_drafts)
{
    OWNED(trio) t;
    OWNED(spec_output_law) law;
    trio_init(&t, "cascade?K=3&rounds=2", 9);
    t.config.costs = (spec_costs){.draft = 0.27, .inner = 0.031, .verify = 1.0};
    assert_works(spec_output_law_init(&law, &t.config, NULL, 0, 1, 0, &error));
    assert_true(fabs(law.time - (1.0 + 2 * (0.27 + 3 * 0.031))) < 1e-12);
}

TEST(drafts_cut_at_a_window_are_lossless_too)
{
    for (int small = 2; small <= 6; small++)
        for (int middle = 3; middle <= 6; middle++) {
            OWNED(trio) t;
            OWNED(spec_output_law) law;
            uint64_t noise = 27;
            trio_init(&t, "cascade?K=2&rounds=2", 4);
            trio_randomize(&t, PAIR_PLAIN, &noise);
            t.small.head.window = small;
            t.middle.head.window = middle;
            assert_works(
                spec_output_law_init(&law, &t.config, (const int[]){0, 1}, 2, 3, 0, &error));
            assert_true(law.tv < 1e-13);
        }
}

static void refuses(trio *t, const char *part)
{
    spec_decoder decoder;
    assert_fails_with(spec_decoder_init(&decoder, &t->config, &error), GSL_EINVAL, part);
}

TEST(what_a_cascade_cannot_do_is_said_in_one_line)
{
    OWNED(trio) t;
    OWNED(table_model) other;
    trio_init(&t, "cascade", 4);
    table_model_init(&other, 3);
    t.config.opt_inner = NULL;
    refuses(&t, "needs an inner draft");
    t.config.opt_inner = &other.head;
    refuses(&t, "vocabular");
    t.config.opt_inner = &t.small.head;
    t.config.rule = "block-greedy"; /* the length of a draft is not known beforehand */
    refuses(&t, "block-greedy");
    t.config.rule = "token";
    t.config.policy = "confidence";
    refuses(&t, "cascade use one that does not, like fixed");
    t.config.policy = "fixed";
    t.config.ahead = true;
    refuses(&t, "drafted ahead");
    t.config.ahead = false;
    t.middle.head.one_pass = true;
    refuses(&t, "a model of its own");
    t.middle.head.one_pass = false;
    t.small.head.reach = 3;
    refuses(&t, "at most 3 tokens");
    static const char *const bad[][2] = {
        {"cascade?K=0", "K"},          {"cascade?K=256", "K"},
        {"cascade?rounds=0", "round"}, {"cascade?rule=match", "match"},
        {"cascade?k=2", "'k'"},        {"cascade:x", "cascade"}};
    for (int i = 0; i < 6; i++) {
        t.config.drafting = bad[i][0];
        refuses(&t, bad[i][1]);
    }
}
