/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drafts without training: whatever they learn from texts and rows, the law of a text is the
 * target's; and scouts change neither rows nor counts. */
#include "models/model_open.h"
#include "sim/output_law.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const draftings[] = {
    "lookup?max=2&occurrence=latest",
    "ngram-simple?n=1&m=2",
    "ngram-map-k?n=1&m=1",
    "ngram-map-k4v?n=1&m=1",
    "ngram-mod?n=1&m=3&n_min=1&bits=3",
    "ngram-cache?joined=1&earlier=100",
    "ngram-cache?static=store.txt",
    "lookahead?window=2&ngram=3&guesses=2",
    "lookahead?window=1&ngram=2&guesses=1",
    "lookahead?window=3&ngram=2&guesses=2",
    "recycle?k=2&nodes=4",
    "recycle?k=1&nodes=3",
    "trie?depth=3&nodes=4",
    "trie?depth=3&nodes=3&order=frequency&max_breadth=2",
    "suffix?max=3&alpha=2&min_frac=0",
    "suffix?max=3&alpha=2&width=1",
    "rest:store.txt?min=1&nodes=4",
    "rest:store.txt?min=1&width=1",
};
enum { N_DRAFTINGS = sizeof draftings / sizeof *draftings, N_CHAINS = 7 }; /* chains first */

static int enter(void **state)
{
    if (spec_folder_enter(state) != 0) return -1;
    FILE *out = fopen("store.txt", "w");
    if (out == NULL) return -1;
    fputs("0 1 0 0 1 1 0 1\n", out);
    return fclose(out);
}

static bool is_lossless(const spec_rule *rule)
{
    return rule->claim == SPEC_LOSSLESS || rule->claim == SPEC_LOSSLESS_ARGMAX;
}

/* Returns whether a decoder of this config opens: the rule may not support the strategy. */
static bool opens(const spec_decoder_config *config)
{
    spec_decoder decoder;
    spec_error error = {""};
    const int status = spec_decoder_init(&decoder, config, &error);
    if (status == GSL_SUCCESS)
        spec_decoder_free(&decoder);
    else if (strstr(error.text, "siblings") == NULL && strstr(error.text, "schedule") == NULL &&
             strstr(error.text, "length of a draft before") == NULL)
        fail_msg("%s with %s: %s", config->rule, config->drafting, error.text);
    return status == GSL_SUCCESS;
}

/* Five tokens after a prompt take at least three rounds, so that what one round teaches is used. */
TEST(every_rule_is_lossless_with_what_is_learnt, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(8);
    for (int d = 0; d < N_DRAFTINGS; d++) {
        uint64_t laws = 0, branches = 0;
        double worst = 0.0;
        for (int r = 0; spec_rules[r] != NULL; r++) {
            if (!is_lossless(spec_rules[r])) continue;
            for (uint64_t c = 0; c < times * PAIR_FAMILIES; c++) {
                const int K = 1 + (int)(c / PAIR_FAMILIES % 3), V = c % 4 == 3 ? 3 : 2;
                const int prompt[] = {0, 1, 0}, n_tokens = V == 2 ? 5 : 4;
                stage s;
                spec_output_law law;
                spec_error error = {""};
                stage_init(&s, V, (pair_family)(c % PAIR_FAMILIES), noise++);
                s.config.opt_draft = NULL;
                s.config.drafting = draftings[d];
                s.config.rule = spec_rules[r]->name;
                s.config.K = K;
                if (!opens(&s.config)) {
                    stage_free(&s);
                    break;
                }
                if (spec_output_law_init(&law, &s.config, prompt, 3, n_tokens, 0, &error) !=
                    GSL_SUCCESS)
                    fail_msg("%s with %s: %s", s.config.rule, draftings[d], error.text);
                if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
                    fail_msg("%s with %s: tv %g, total %.17g", s.config.rule, draftings[d], law.tv,
                             law.total);
                laws++;
                branches += law.branches;
                worst = fmax(worst, law.tv);
                spec_output_law_free(&law);
                stage_free(&s);
            }
        }
        print_message("%-37s %3llu laws %8llu branches, worst tv %.1e\n", draftings[d],
                      (unsigned long long)laws, (unsigned long long)branches, worst);
        assert_true(laws >= 3 * times * PAIR_FAMILIES);
    }
}

/* Computes the law of a second text, over all first texts: what persists from text to text
 * anticipates nothing. */
TEST(a_text_after_another_has_the_targets_law)
{
    enum { FIRST = 3, TOKENS = 3, TEXTS = 8 };
    uint64_t noise = spec_test_seed();
    const int prompt[] = {1, 0};
    int learnt = 0;
    for (int c = 0; c < 4 * N_DRAFTINGS; c++) {
        stage s;
        spec_decoder decoder;
        spec_enumeration walk;
        double law[TEXTS] = {0}, total = 0.0;
        stage_init(&s, 2, c % 2 == 0 ? PAIR_PLAIN : PAIR_MIXED, noise++);
        s.config.drafting = draftings[c / 4];
        s.config.rule = c / 2 % 2 == 0 ? "match" : "token";
        s.config.K = 2;
        stage_open_decoder(&decoder, &s.config);
        assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
        do {
            int token[FIRST > TOKENS ? FIRST : TOKENS], text = 0;
            size_t n;
            assert_int_equal(spec_decoder_forget(&decoder, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decoder_reset(&decoder, prompt, 1, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decode(&decoder, FIRST, token, &n, &walk.chance, NULL, NULL),
                             GSL_SUCCESS);
            assert_int_equal(spec_decoder_reset(&decoder, prompt, 2, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decode(&decoder, TOKENS, token, &n, &walk.chance, NULL, NULL),
                             GSL_SUCCESS);
            for (int i = 0; i < TOKENS; i++) text = 2 * text + token[i];
            law[text] += spec_enumeration_probability(&walk);
            total += spec_enumeration_probability(&walk);
        } while (spec_enumeration_next(&walk));
        assert_within(total, 1.0, 1e-12);
        for (int text = 0; text < TEXTS; text++) {
            int token[2 + TOKENS] = {1, 0};
            double expected = 1.0;
            for (int i = 0; i < TOKENS; i++) {
                token[2 + i] = text >> (TOKENS - 1 - i) & 1;
                expected *= table_model_row(&s.target, token, (size_t)(2 + i))[token[2 + i]];
            }
            assert_within(law[text], expected, 1e-12);
        }
        spec_enumeration_free(&walk);
        spec_decoder_free(&decoder);
        stage_free(&s);
        learnt++;
    }
    assert_int_equal(learnt, 4 * N_DRAFTINGS);
}

static int first_scout;

/* The negative control: scouts are nodes, so a rule that sees them would judge them. */
static int draft_all(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                     const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    const int status =
        spec_draft_lookahead.draft(ret_draft, drafter, context, n, policy, chance, error);
    first_scout = ret_draft->n_nodes;
    for (; ret_draft->n_scouts > 0; ret_draft->n_scouts--, ret_draft->n_nodes++) {
        ret_draft->row[ret_draft->n_nodes] = NULL;
        ret_draft->sampled[ret_draft->n_nodes] = false;
    }
    return status;
}

static void observe_all(spec_drafter *drafter, const spec_draft *draft,
                        const double *const *target_row, const spec_round *round)
{
    spec_draft apart = *draft;
    apart.n_nodes = first_scout;
    apart.n_scouts = draft->n_nodes - first_scout;
    spec_draft_lookahead.observe(drafter, &apart, target_row, round);
}

/* Counts the rounds of a text in which a rule accepted a scout, or counted one as drafted. */
static int rounds_with_scouts(bool judges_scouts, uint64_t seed)
{
    spec_drafter_kind all = spec_draft_lookahead;
    OWNED(stage) s;
    OWNED(spec_decoder) decoder;
    int rounds = 0;
    uint64_t accepted = 0;
    all.draft = draft_all;
    all.observe = observe_all;
    stage_init(&s, 4, PAIR_PLAIN, seed);
    s.config.drafting = "lookahead?window=4&ngram=4&guesses=2";
    s.config.rule = "match";
    s.config.K = 8;
    stage_open_decoder(&decoder, &s.config);
    if (judges_scouts) decoder.drafter.kind = &all;
    assert_int_equal(spec_decoder_reset(&decoder, (const int[]){0, 1}, 2, NULL), GSL_SUCCESS);
    for (int round = 0; round < 100; round++) {
        assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
        if (!judges_scouts) first_scout = decoder.draft.n_nodes;
        bool seen = decoder.round.n_drafted != first_scout;
        for (int i = 0; i < decoder.round.n_accepted; i++)
            seen = seen || decoder.round.node[i] >= first_scout;
        rounds += seen;
        accepted += (uint64_t)decoder.round.n_accepted;
    }
    assert_true(accepted > 20);
    return rounds;
}

TEST(scouts_are_neither_judged_nor_counted)
{
    const uint64_t seed = spec_test_seed();
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(rounds_with_scouts(false, seed + i), 0);
        assert_int_equal(rounds_with_scouts(true, seed + i), 100);
    }
}

/* A replay repeats its drafts only from a defined state. */
TEST(a_decoder_that_forgets_repeats_its_rounds)
{
    int differ = 0;
    for (int c = 0; c < 2 * N_DRAFTINGS; c++) {
        const bool forgets = c % 2 == 0;
        OWNED(stage) s;
        OWNED(spec_decoder) decoder;
        uint64_t drafted[2] = {0};
        stage_init(&s, 4, PAIR_PLAIN, 5);
        s.config.drafting = draftings[c / 2];
        s.config.rule = "match";
        stage_open_decoder(&decoder, &s.config);
        for (int text = 0; text < 2; text++) {
            spec_tally tally = {0};
            gsl_rng_set(s.rng, 3);
            if (forgets) assert_int_equal(spec_decoder_forget(&decoder, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decoder_reset(&decoder, (const int[]){0, 1}, 2, NULL),
                             GSL_SUCCESS);
            for (int round = 0; round < 20; round++)
                assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL),
                                 GSL_SUCCESS);
            drafted[text] = tally.drafted;
        }
        if (forgets)
            assert_true(drafted[0] == drafted[1]);
        else
            differ += drafted[0] != drafted[1];
    }
    assert_int_equal(differ, 7); /* these keep what they learnt */
}

/* The rows that a rule reads are those of a pass without scouts, bit for bit. */
TEST(rows_with_scouts_are_those_without)
{
    OWNED_MODEL *target;
    assert_works(
        spec_model_open(&target,
                        "random?dim=32&layers=3&heads=4&kv_heads=2&ffn=64&vocab=61&context=200&"
                        "seed=1",
                        NULL, spec_test_context(0), &error));
    enum { ROWS = 64, VOCAB = 61 };
    static double store[ROWS * VOCAB];
    const double *row[ROWS];
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_decoder decoder;
    spec_session alone;
    OWNED(stage) s;
    uint64_t checked = 0;
    stage_init(&s, 2, PAIR_PLAIN, spec_test_seed()); /* for its chance */
    config.target = target;
    config.drafting = "lookahead?window=5&ngram=4&guesses=4";
    config.rule = "match";
    stage_open_decoder(&decoder, &config);
    assert_works(spec_session_init(&alone, target, &error));
    assert_int_equal(spec_decoder_reset(&decoder, (const int[]){7, 9}, 2, NULL), GSL_SUCCESS);
    while (decoder.n_context < 150) {
        const size_t n = decoder.n_context;
        assert_int_equal(spec_decoder_round(&decoder, &s.chance, NULL, NULL), GSL_SUCCESS);
        const spec_draft *draft = &decoder.draft;
        assert_true(draft->n_scouts > 0 && draft->n_nodes < ROWS);
        assert_works(spec_session_score(&alone,
                                        &(spec_score_request){.context = decoder.context,
                                                              .n_context = n,
                                                              .token = draft->token,
                                                              .opt_parent = draft->parent,
                                                              .n_nodes = draft->n_nodes,
                                                              .ret_row = row,
                                                              .scratch = store},
                                        &error));
        for (int i = 0; i <= draft->n_nodes; i++, checked++)
            assert_memory_equal(row[i], decoder.target_row[i], VOCAB * sizeof *store);
    }
    assert_true(checked > 300);
    spec_session_free(&alone);
    spec_decoder_free(&decoder);
}

/* One line says what drafting ahead and a device cannot do. */
TEST(what_needs_a_chain_of_a_model_is_refused)
{
    for (int d = 0; d < N_DRAFTINGS; d++)
        for (int way = 0; way < (d < N_CHAINS ? 2 : 3); way++) {
            OWNED(stage) s;
            spec_decoder decoder;
            spec_error error = {""};
            stage_init(&s, 3, PAIR_PLAIN, 1);
            s.config.drafting = draftings[d];
            s.config.rule = "token";
            s.config.ahead = way == 0;
            if (way == 1) s.config.verify = SPEC_VERIFY_DEVICE;
            if (way == 2) s.config.policy = "confidence";
            assert_int_equal(spec_decoder_init(&decoder, &s.config, &error), GSL_EINVAL);
            const char *const says[] = {"drafted ahead", "device", "reads the tokens of a chain"};
            if (strstr(error.text, says[way]) == NULL) fail_msg("%s", error.text);
        }
}

SUITE(.setup = enter, .teardown = spec_folder_leave);
