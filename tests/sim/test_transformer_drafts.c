/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs real transformers in the decoding loop: drafts of their own layers and weights, chains and
 * trees, every lossless rule. At temperature 0 the text is the plain one, to the last token of the
 * window. At temperature 1 its law is the target's, by enumeration through the transformer
 * itself. */
#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/output_law.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const draftings[] = {
    "chain",
    "greedy",
    "lookup",
    "lookahead?window=3&ngram=3&guesses=2",
    "recycle?k=3&nodes=7",
    "suffix?alpha=2",
    "tree?widths=2.2",
    "tree?n=2&siblings=without",
    "tree?children=2.1.2.0.1&siblings=top",
    "tree?widths=2.1&siblings=hub",
    "tree?widths=3.1&siblings=greedy",
    "dynamic?top=2&nodes=6&depth=3",
};
enum { N_DRAFTINGS = sizeof draftings / sizeof *draftings };

static const char *const drafts[] = {
    "layers?exit=1",
    "layers?skip=0a.1f",
    "quantised?type=q4_0",
    "layers?exit=2&skip=0&temperature=0.7&top_k=2",
    "layers?exit=2&temperature=0",
    "layers?window=3&sink=2",
};
enum { N_DRAFTS = sizeof drafts / sizeof *drafts };

static bool is_lossless(const spec_rule *rule)
{
    return rule->claim == SPEC_LOSSLESS || rule->claim == SPEC_LOSSLESS_ARGMAX;
}

TEST(greedy_text_is_the_plain_one_for_every_rule_draft_and_tree)
{
    enum {
        WINDOW = 47,
        PROMPT = 4,
        TEXT = WINDOW + 1 - PROMPT
    }; /* one of the 48 positions holds the begin of text */
    static const int prompt[PROMPT] = {3, 1, 4, 1};
    OWNED_MODEL *target = model_of(
        "random?dim=32&layers=3&heads=2&ffn=64&vocab=23&context=48&type=q8_0&temperature=0", NULL);
    assert_int_equal(target->window, WINDOW);
    OWNED_RNG *rng = spec_test_rng(spec_rng_pcg64dxsm, 42);
    spec_chance chance = spec_chance_sampled(rng);
    int n_texts = 0, n_accepted = 0;
    for (int d = 0; d < N_DRAFTS; d++) {
        spec_model *draft = model_of(drafts[d], target);
        for (int c = 0; spec_rules[c / N_DRAFTINGS] != NULL; c++) {
            const spec_rule *rule = spec_rules[c / N_DRAFTINGS];
            if (!is_lossless(rule) || (c + d) % 2 != 0) continue;
            spec_decoder_config config = SPEC_DECODER_DEFAULT;
            config.target = target;
            config.opt_draft = draft;
            config.rule = rule->name;
            config.drafting = draftings[c % N_DRAFTINGS];
            config.K = 1 + (c + d) / 2 % 4;
            spec_decoder decoder;
            spec_error error = {""};
            if (spec_decoder_init(&decoder, &config, &error) != GSL_SUCCESS)
                continue; /* not supported together */
            int plain[TEXT], text[TEXT];
            size_t n, n_plain;
            double time;
            spec_tally tally = {0};
            assert_works(spec_decoder_reset(&decoder, prompt, PROMPT, &error));
            assert_works(
                spec_decode_plain(&decoder, TEXT, plain, &n_plain, &chance, &time, &error));
            assert_works(spec_decoder_reset(&decoder, prompt, PROMPT, &error));
            if (spec_decode(&decoder, TEXT, text, &n, &chance, &tally, &error) != GSL_SUCCESS)
                fail_msg("%s %s %s: %s", config.rule, config.drafting, drafts[d], error.text);
            assert_int_equal(n, TEXT);
            assert_int_equal(n_plain, TEXT);
            for (int i = 0; i < TEXT; i++)
                if (text[i] != plain[i])
                    fail_msg("%s %s %s: token %d is %d, not %d", config.rule, config.drafting,
                             drafts[d], i, text[i], plain[i]);
            n_texts++;
            n_accepted += (int)tally.accepted;
            spec_decoder_free(&decoder);
        }
        spec_model_close(draft);
    }
    print_message("%d texts of %d tokens, %d drafted tokens accepted\n", n_texts, TEXT, n_accepted);
    assert_true(n_texts > 200 && n_accepted > 10 * n_texts);
}

/* The middle model shares the target's cache if it has its weights, and the small one the middle
 * one's, which then has weights of its own. In either case the rows are those of a fresh
 * session. */
TEST(the_small_model_of_a_cascade_leaves_nothing_in_a_shared_cache)
{
    enum { VOCAB = 23 };
    static const char *const pairs[][2] = {{"layers?exit=2", "layers?exit=1"},
                                           {"layers?exit=2", "layers?exit=1&window=3&sink=1"},
                                           {"quantised?type=q4_0", "layers?exit=2"},
                                           {"quantised?type=q4_0", "layers?skip=0a"}};
    OWNED_MODEL *target =
        model_of("random?dim=32&layers=3&heads=2&ffn=64&vocab=23&context=48&type=q8_0", NULL);
    OWNED_RNG *rng = spec_test_rng(spec_rng_pcg64dxsm, spec_test_seed());
    spec_chance chance = spec_chance_sampled(rng);
    spec_tally tally = {0};
    for (int p = 0; p < 4; p++) {
        OWNED_MODEL *middle = model_of(pairs[p][0], target), *small = model_of(pairs[p][1], middle);
        OWNED(spec_decoder) decoder = {0};
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        config.target = target;
        config.opt_draft = middle;
        config.opt_inner = small;
        config.drafting = "cascade?K=2&rounds=2";
        assert_works(spec_decoder_init(&decoder, &config, &error));
        assert_works(spec_decoder_reset(&decoder, (const int[]){3, 1, 4}, 3, &error));
        while (spec_decoder_room(&decoder) >= 0) {
            const size_t before = decoder.n_context;
            int text[64];
            assert_works(spec_decoder_round(&decoder, &chance, &tally, &error));
            memcpy(text, decoder.context, before * sizeof *text);
            for (int i = 0; i < decoder.draft.n_nodes; i++) {
                OWNED(spec_session) fresh;
                double row[VOCAB];
                assert_works(spec_session_init(&fresh, middle, &error));
                assert_memory_equal(decoder.draft.row[i],
                                    spec_session_row(&fresh, text, before + (size_t)i, row, NULL),
                                    sizeof row);
                text[before + (size_t)i] = decoder.draft.token[i];
            }
        }
    }
    assert_true(tally.accepted > 50 && tally.accepted < tally.drafted);
}

/* A draft of a second target, with the same weights, keeps its own KV cache. */
TEST(texts_have_the_targets_law_through_the_transformer)
{
    static const int prompt[] = {1, 0};
    static const char spec[] = "random?dim=32&layers=3&heads=2&ffn=32&vocab=2&context=16&type=f32";
    spec_model *target = model_of(spec, NULL), *second = model_of(spec, NULL);
    double worst = 0.0;
    unsigned long long branches = 0;
    int n_laws = 0;
    for (int d = 0; d < 2 * N_DRAFTS; d++) {
        spec_model *draft = model_of(drafts[d / 2], d % 2 == 0 ? target : second);
        for (int c = 0; spec_rules[c / N_DRAFTINGS] != NULL; c++) {
            const spec_rule *rule = spec_rules[c / N_DRAFTINGS];
            if (!is_lossless(rule) || c % N_DRAFTS != d / 2) continue;
            spec_decoder_config config = SPEC_DECODER_DEFAULT;
            config.target = target;
            config.opt_draft = draft;
            config.rule = rule->name;
            config.drafting = draftings[c % N_DRAFTINGS];
            config.K = 1 + c % 2;
            spec_output_law law;
            spec_error error = {""};
            if (spec_output_law_init(&law, &config, prompt, 2, 2, 0, &error) != GSL_SUCCESS)
                continue;
            if (!(law.tv <= 1e-14 && fabs(law.total - 1.0) <= 1e-13))
                fail_msg("%s %s %s: off by %g", config.rule, config.drafting, draft->spec, law.tv);
            if (law.tv > worst) worst = law.tv;
            branches += law.branches;
            n_laws++;
            spec_output_law_free(&law);
        }
        spec_model_close(draft);
    }
    print_message("%d laws, %llu branches, worst total variation %.1e\n", n_laws, branches, worst);
    assert_true(n_laws > 80);
    spec_model_close(second);
    spec_model_close(target);
}
