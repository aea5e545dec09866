/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Greedy texts of transformers: speculation changes no token, for any rule, strategy, K, draft,
 * type of weights, number of threads and instruction set. The expected text comes from rows that
 * are computed one at a time. */
#include "base/cpu.h"
#include "models/model_open.h"
#include "sim/decode.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <omp.h>
#include <string.h>

enum { TOKENS = 48, DRAFTS = 4, TYPES = 5 };

/* A target at temperature 0, its drafts, and its text. */
typedef struct {
    spec_model *target, *draft[DRAFTS];
    int n_drafts;
    int text[TOKENS];
    uint64_t accepted, tokens; /* by all decoders */
} greedy;

static void open_greedy(greedy *g, const char *target, const char *const *draft)
{
    *g = (greedy){.target = model_of(target, NULL)};
    for (; draft[g->n_drafts] != NULL; g->n_drafts++) {
        g->draft[g->n_drafts] = model_of(draft[g->n_drafts], g->target);
    }
    OWNED(spec_session) session;
    spec_error error;
    FREED double *scratch = malloc((size_t)g->target->vocab * sizeof *scratch);
    assert_non_null(scratch);
    assert_works(spec_session_init(&session, g->target, &error));
    for (size_t n = 0; n < TOKENS; n++) {
        const double *row = spec_session_row(&session, g->text, n, scratch, &error);
        assert_non_null(row);
        for (g->text[n] = 0; row[g->text[n]] == 0.0;) g->text[n]++;
        assert_true(row[g->text[n]] == 1.0);
    }
}

static void greedy_free(greedy *g)
{
    for (int i = 0; i < g->n_drafts; i++) spec_model_close(g->draft[i]);
    spec_model_close(g->target);
}

/* Decodes one text; returns false if the decoder refuses the rule with this strategy. */
static bool same_text(greedy *g, const char *rule, const char *drafting, int draft, int K,
                      spec_chance *chance)
{
    const spec_decoder_config config = {.target = g->target,
                                        .opt_draft = g->draft[draft],
                                        .drafting = drafting,
                                        .policy = "fixed",
                                        .rule = rule,
                                        .K = K,
                                        .costs = SPEC_COSTS_DEFAULT};
    spec_decoder decoder;
    spec_error error;
    spec_tally tally = {0};
    int token[TOKENS];
    size_t n;
    if (spec_decoder_init(&decoder, &config, &error) != GSL_SUCCESS) return false;
    assert_works(spec_decoder_reset(&decoder, NULL, 0, &error));
    assert_works(spec_decode(&decoder, TOKENS, token, &n, chance, &tally, &error));
    if (n != TOKENS || memcmp(token, g->text, sizeof token) != 0) {
        fail_msg("another text: %s of %s, rule %s, %s, K = %d", g->draft[draft]->spec,
                 g->target->spec, rule, drafting, K);
    }
    g->accepted += tally.accepted;
    g->tokens += n;
    spec_decoder_free(&decoder);
    return true;
}

static const char *const draftings[] = {
    "chain",
    "greedy",
    "lookup",
    "lookahead?window=4&ngram=4&guesses=3",
    "recycle?k=4&nodes=12",
    "suffix?alpha=2",
    "gumbel",
    "minhash",
    "tree?n=2&siblings=iid",
    "tree?n=2&siblings=without",
    "tree?widths=3.1.2.1&siblings=top",
    "tree?n=2&siblings=hub",
    "tree?widths=4.2.1&siblings=greedy",
    "dynamic?top=3&nodes=12&depth=4",
};

enum { DRAFTINGS = sizeof draftings / sizeof *draftings };

/* Tries every rule that promises the target's greedy text with every strategy that it supports;
 * targets, drafts, K, threads and instruction sets take turns. */
static void every_rule_and_strategy(greedy *all, int n)
{
    static const int lengths[] = {1, 2, 3, 5};
    const int best = SPEC_ISA_END - 1; /* the vector sets take turns */
    const int threads = omp_get_max_threads();
    int held = 0;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    spec_chance chance = spec_chance_sampled(rng);
    const int rounds = (int)spec_test_samples(1);
    for (int round = 0, turn = 0; round < rounds; round++) {
        for (int i = 0; spec_rules[i] != NULL; i++) {
            const spec_rule *rule = spec_rules[i];
            if (rule->claim != SPEC_LOSSLESS && rule->claim != SPEC_LOSSLESS_ARGMAX) continue;
            for (int d = 0; d < DRAFTINGS; d++, turn++) {
                greedy *g = &all[turn % n];
                const bool portable = n > 1 && turn % 17 == 0; /* it is slow */
                const int isa = portable || best == 0 ? SPEC_ISA_PORTABLE : 1 + turn % best;
                assert_int_equal(spec_cpu_limit(spec_cpu_isa_name((spec_isa)isa), NULL),
                                 GSL_SUCCESS);
                omp_set_num_threads(1 + turn / 3 % 3);
                held += same_text(g, rule->name, draftings[d], turn / 2 % g->n_drafts,
                                  lengths[turn / 3 % 4], &chance);
            }
        }
    }
    uint64_t accepted = 0, tokens = 0;
    for (int i = 0; i < n; i++) {
        accepted += all[i].accepted;
        tokens += all[i].tokens;
    }
    printf("%d rules with strategies, %llu tokens, %.2f of them accepted drafts\n", held / rounds,
           (unsigned long long)tokens, (double)accepted / (double)tokens);
    assert_true(held >= 80 * rounds);
    assert_true(accepted > tokens / 5);
    assert_int_equal(spec_cpu_limit(NULL, NULL), GSL_SUCCESS);
    omp_set_num_threads(threads);
}

#define SHAPE "dim=32&layers=3&heads=4&kv_heads=2&ffn=64&vocab=61&context=128&"

TEST(speculation_changes_no_token, SLOW | STATISTICS)
{
    static const char *const types[TYPES] = {"f32", "f16", "bf16", "q8_0", "q4_0"};
    greedy all[TYPES];
    for (int t = 0; t < TYPES; t++) {
        char target[128], other[128];
        snprintf(target, sizeof target, "random?" SHAPE "seed=1&temperature=0&type=%s", types[t]);
        snprintf(other, sizeof other, "random?" SHAPE "seed=2&type=%s", types[(t + 1) % TYPES]);
        const char *const drafts[] = {"quantised?of=target&type=q4_0",
                                      "layers?of=target&exit=2&temperature=0.3", other,
                                      "layers?of=target&skip=1&temperature=0", NULL};
        open_greedy(&all[t], target, drafts);
    }
    every_rule_and_strategy(all, TYPES);
    for (int t = 0; t < TYPES; t++) greedy_free(&all[t]);
}

TEST(speculation_changes_no_letter_of_a_story, SLOW | STATISTICS)
{
    char path[1024], target[1200], draft[1200];
    spec_test_data(path, sizeof path, "babyllama");
    snprintf(target, sizeof target, "llama2c:%s/target.bin?temperature=0", path);
    snprintf(draft, sizeof draft, "llama2c:%s/draft.bin", path);
    const char *const drafts[] = {draft, "layers?of=target&exit=4", "quantised?of=target&type=q8_0",
                                  NULL};
    OWNED(greedy) g;
    open_greedy(&g, target, drafts);
    every_rule_and_strategy(&g, 1);
}
