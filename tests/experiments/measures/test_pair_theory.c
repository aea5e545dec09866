/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/pair_theory.h"

#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/rules/rrsw.h"
#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

typedef struct {
    spec_model *target, *draft;
    spec_decoder_config config;
} pair;

static void pair_open(pair *p, const char *target, const char *draft, const char *rule,
                      const char *drafting, int K)
{
    p->config = SPEC_DECODER_DEFAULT;
    p->target = model_of(target, NULL);
    p->draft = model_of(draft, p->target);
    p->config.target = p->target;
    p->config.opt_draft = p->draft;
    p->config.rule = rule;
    p->config.drafting = drafting;
    p->config.K = K;
}

static void pair_close(pair *p)
{
    spec_model_close(p->draft);
    spec_model_close(p->target);
}

static double theory_of(const pair *p)
{
    double mean;
    assert_works(spec_pair_theory_emitted(&mean, &p->config, &error));
    return mean;
}

static double enumerated(const pair *p, uint64_t limit)
{
    double mean;
    assert_works(spec_pair_theory_enumerated(&mean, &p->config, limit, &error));
    return mean;
}

/* K = 1 by hand: a round that starts in s ends after the correction, or after the bonus that
 * follows the accepted x. */
TEST(theory_is_the_stationary_mean_over_contexts)
{
    enum { V = 4 };
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    spec_model *target, *draft;
    spec_error error;
    double target_law[V][V], draft_law[V][V], start[V] = {1.0}, next[V], mean = 0.0, theory;
    assert_works(
        spec_model_open(&target, "markov?V=4&order=1&seed=3", NULL, spec_test_context(0), &error));
    assert_works(
        spec_model_open(&draft, "markov?V=4&order=1&seed=4", NULL, spec_test_context(0), &error));
    config.target = target;
    config.opt_draft = draft;
    config.K = 1;
    spec_session a, b;
    assert_works(spec_session_init(&a, target, &error));
    assert_works(spec_session_init(&b, draft, &error));
    for (int s = 0; s < V; s++) {
        double scratch[V];
        memcpy(target_law[s], spec_session_row(&a, &s, 1, scratch, &error), sizeof target_law[s]);
        memcpy(draft_law[s], spec_session_row(&b, &s, 1, scratch, &error), sizeof draft_law[s]);
    }
    for (int i = 0; i < 200; i++) {
        memset(next, 0, sizeof next);
        for (int s = 0; s < V; s++) {
            for (int x = 0; x < V; x++) {
                next[x] += start[s] * fmax(target_law[s][x] - draft_law[s][x], 0.0);
                for (int t = 0; t < V; t++)
                    next[t] +=
                        start[s] * fmin(target_law[s][x], draft_law[s][x]) * target_law[x][t];
            }
        }
        memcpy(start, next, sizeof start);
    }
    for (int s = 0; s < V; s++)
        for (int x = 0; x < V; x++) mean += start[s] * fmin(target_law[s][x], draft_law[s][x]);
    assert_works(spec_pair_theory_emitted(&theory, &config, &error));
    assert_within(theory, 1.0 + mean, 1e-12);
    spec_session_free(&a);
    spec_session_free(&b);
    spec_model_close(target);
    spec_model_close(draft);
}

/* Compares two routes: the definitions of the rules over a chain of contexts, and their code,
 * enumerated branch by branch. */
TEST(enumeration_agrees_with_the_chain_of_contexts)
{
    const char *const rules[] = {"token", "match"}, *const draftings[] = {"chain", "greedy"};
    const char *const targets[] = {"probs:0.55,0.27,0.18", "markov?V=3&order=1&seed=3",
                                   "markov?V=3&order=2&seed=5"};
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < 4; i++) {
            CLOSED(pair) p;
            pair_open(&p, targets[t], "markov?V=3&order=1&seed=4", rules[i / 2], draftings[i % 2],
                      3);
            assert_within(enumerated(&p, 1000000), theory_of(&p), 1e-12);
        }
    }
}

/* ---- drafting ahead -------------------------------------------------------------------------- */

static double hit_of(const pair *p)
{
    double hit;
    assert_works(spec_pair_theory_hit(&hit, &p->config, &error));
    return hit;
}

/* Enumerates a round of the decoder that drafts ahead from each context of one token: the context
 * after it, and whether the next chain is found. The law of starts is iterated. */
static double hit_by_rounds(const pair *p, int vocab)
{
    enum { V = 3 };
    spec_decoder_config config = p->config;
    double next[V][V] = {{0}}, right[V] = {0}, start[V] = {1.0}, hit = 0.0;
    config.ahead = true;
    assert_true(vocab <= V);
    for (int s = 0; s < vocab; s++) {
        OWNED(spec_decoder) decoder;
        OWNED(spec_enumeration) walk;
        assert_works(spec_decoder_init(&decoder, &config, &error));
        assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
        do {
            assert_int_equal(spec_decoder_reset(&decoder, &s, 1, NULL), GSL_SUCCESS);
            assert_int_equal(spec_decoder_round(&decoder, &walk.chance, NULL, NULL), GSL_SUCCESS);
            next[s][decoder.context[decoder.n_context - 1]] += spec_enumeration_probability(&walk);
            if (decoder.round.guess_right) right[s] += spec_enumeration_probability(&walk);
        } while (spec_enumeration_next(&walk));
    }
    for (int i = 0; i < 1000; i++) {
        double after[V] = {0};
        for (int s = 0; s < vocab; s++)
            for (int t = 0; t < vocab; t++) after[t] += start[s] * next[s][t];
        memcpy(start, after, sizeof start);
    }
    for (int s = 0; s < vocab; s++) hit += start[s] * right[s];
    return hit;
}

/* Compares three routes: alpha^K guessed for one pair of rows; the chain over contexts, by formula
 * (token, match) or by rounds not drafted ahead (block, traversal); and the decoder that drafts
 * ahead. */
TEST(hits_are_those_of_the_decoder_that_drafts_ahead)
{
    static const char *const rules[] = {"token", "match", "block", "traversal"},
                             *const draftings[] = {"chain", "greedy"};
    for (int i = 0; i < 8; i++)
        for (int K = 1; K <= 2; K++) {
            CLOSED(pair) p;
            pair_open(&p, "markov?V=3&order=1&seed=3", "markov?V=3&order=1&seed=4", rules[i / 2],
                      draftings[i % 2], K);
            const double hit = hit_of(&p);
            assert_true(hit > 1e-4 && hit < 0.9);
            assert_within(hit, hit_by_rounds(&p, 3), 1e-12);
            p.config.ahead = true; /* does not matter */
            assert_within(hit_of(&p), hit, 0.0);
            p.config.K = 0;
            assert_within(hit_of(&p), 0.0, 0.0);
        }
    for (int K = 1; K <= 9; K++) {
        CLOSED(pair) p;
        pair_open(&p, "probs:0.55,0.27,0.18", "probs:0.16,0.43,0.41", "token", "chain", K);
        const double alpha = 0.16 + 0.27 + 0.18;
        assert_within(hit_of(&p), spec_ahead_hit(alpha, K, 0.27), 1e-14);
        pair_close(&p);
        pair_open(&p, "zipf?V=20&s=1.5", "perturb?of=target&alpha=0.83", "token", "chain", K);
        const double guessed = hit_of(&p) / pow(0.83, K);
        p.config.K = 1;
        assert_within(hit_of(&p), 0.83 * guessed, 1e-13);
    }
}

TEST(there_is_no_share_of_hits_where_texts_end_or_lengths_vary)
{
    CLOSED(pair) p;
    pair_open(&p, "probs:0.55,0.27,0.18", "probs:0.16,0.43,0.41", "token", "chain", 2);
    assert_true(hit_of(&p) > 0.0);
    p.config.policy = "heuristic";
    assert_nan(hit_of(&p));
    p.config.policy = "confidence?threshold=0.4";
    assert_nan(hit_of(&p));
    pair_close(&p);
    pair_open(&p, "cases?V=3&order=0&seed=1&side=target&end=1",
              "cases?V=3&order=0&seed=1&side=draft", "token", "chain", 2);
    assert_nan(hit_of(&p));
    p.config.opt_draft = NULL;
    assert_nan(hit_of(&p));
}

/* Every place of an order-0 pair accepts with the same probability, so a tree of full levels is a
 * chain of places; analysis has that probability in closed form. */
TEST(trees_of_one_context_are_capped_geometric)
{
    const struct {
        const char *rule, *drafting;
        double (*acceptance)(const spec_ratio_order *, int);
    } c[] = {{"rrs", "tree?n=2", spec_multi_draft_rrs},
             {"kseq", "tree?n=2", spec_multi_draft_kseq},
             {"naive-tree", "tree?n=2", spec_multi_draft_naive_tree},
             {"match", "tree?n=2", spec_multi_draft_match},
             {"rrsw", "tree?n=2&siblings=without", spec_rrsw_acceptance},
             {"spechub", "tree?n=2&siblings=hub", spec_multi_draft_spechub},
             {"token-rest", "tree?n=2&siblings=greedy", spec_multi_draft_greedy},
             {"match", "tree?n=2&siblings=top", spec_multi_draft_match_top}};
    const double target[] = {0.55, 0.27, 0.18}, draft[] = {0.16, 0.43, 0.41};
    OWNED(spec_ratio_order) order = {0};
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    assert_int_equal(spec_ratio_order_sort(&order, target, draft), GSL_SUCCESS);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        CLOSED(pair) p;
        pair_open(&p, "probs:0.55,0.27,0.18", "probs:0.16,0.43,0.41", c[i].rule, c[i].drafting, 2);
        assert_within(theory_of(&p), spec_capped_geometric_mean(c[i].acceptance(&order, 2), 2),
                      1e-12);
    }
}

/* Computes [Sun25]'s formula for the mean: the sum over prefixes of the draft's probability times
 * the smallest product of later ratios. */
TEST(block_is_the_sum_over_prefixes)
{
    const double target[] = {0.55, 0.27, 0.18}, draft[] = {0.16, 0.43, 0.41};
    double mean = 1.0;
    CLOSED(pair) p;
    for (int x = 0; x < 3; x++) {
        const double first = target[x] / draft[x];
        mean += draft[x] * fmin(1.0, first);
        for (int y = 0; y < 3; y++) {
            const double second = target[y] / draft[y];
            mean += draft[x] * draft[y] * fmin(1.0, fmin(second, first * second));
        }
    }
    pair_open(&p, "probs:0.55,0.27,0.18", "probs:0.16,0.43,0.41", "block", "chain", 2);
    assert_within(theory_of(&p), mean, 1e-12);
}

TEST(there_is_no_theory_where_rounds_remember_or_are_too_many)
{
    CLOSED(pair) p;
    pair_open(&p, "markov?V=3&order=1&seed=3", "markov?V=3&order=1&seed=4", "rrs", "tree?n=2", 2);
    assert_true(enumerated(&p, 1000000) > 1.0);
    assert_nan(enumerated(&p, 1000)); /* three contexts of more than a thousand branches each */
    p.config.drafting = "chain";
    p.config.rule = "block";
    assert_true(theory_of(&p) > 1.0);
    p.config.policy = "confidence?threshold=0.4";
    assert_true(theory_of(&p) > 1.0);
    p.config.policy = "heuristic"; /* its length depends on earlier rounds */
    assert_nan(theory_of(&p));
    p.config.policy = "fixed";
    p.config.drafting = "lookup"; /* it uses the whole text */
    assert_nan(theory_of(&p));
    p.config.drafting = "chain";
    p.config.opt_draft = NULL;
    assert_nan(theory_of(&p));
}

/* The models alternate between two tokens: rounds of K + 1 = 2 always begin in the same context,
 * rounds of 3 in both contexts in turn. */
TEST(there_is_no_one_mean_where_the_long_run_depends_on_the_start)
{
    CLOSED(pair) p;
    const char *alternating = "markov?V=2&order=1&seed=1&temperature=0";
    pair_open(&p, alternating, alternating, "block", "chain", 1);
    assert_nan(theory_of(&p));
    p.config.K = 2;
    assert_within(theory_of(&p), 3.0, 1e-12);
}

/* Computes the law of the rounds of a seed over texts, which is that of the coupling only if the
 * strategy shares the noise of the rule. test_model_measures.c compares it with simulated
 * rounds. */
TEST(a_seed_has_the_theory_of_its_coupling_or_of_match)
{
    static const struct {
        const char *rule, *drafting, *policy, *by_rule, *by_drafting;
    } c[] = {
        {"gumbel?seed=7", "gumbel?seed=7", "fixed", "gumbel", "chain"},
        {"minhash?seed=7", "minhash?seed=7", "confidence", "minhash", "chain"},
        {"gumbel?seed=7", "gumbel?seed=8", "fixed", "match", "chain"},
        {"gumbel?seed=7", "minhash?seed=7", "fixed", "match", "chain"},
        {"gumbel?seed=0", "greedy", "fixed", "match", "greedy"},
        {"gumbel?seed=7", "tree?n=2", "fixed", "match", "tree?n=2"},
        {"gumbel", "chain", "fixed", "gumbel", "chain"},
        {"gumbel?seed=7", "gumbel?seed=7", "confidence-drop", "gumbel?seed=7", "gumbel?seed=7"},
    };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        CLOSED(pair) p;
        spec_decoder_config by_chance;
        pair_open(&p, "markov?V=3&order=1&seed=3", "markov?V=3&order=1&seed=4", c[i].rule,
                  c[i].drafting, 2);
        p.config.policy = c[i].policy;
        assert_works(spec_pair_theory_by_chance(&by_chance, &p.config, &error));
        assert_string_equal(by_chance.rule, c[i].by_rule);
        assert_string_equal(by_chance.drafting, c[i].by_drafting);
        assert_ptr_equal(by_chance.target, p.target);
        if (p.config.rule[6] == '?')
            assert_nan(enumerated(&p, 100000)); /* no random decisions */
        p.config.drafting = "gumbel?seed=7";
        p.config.rule = "token";
        assert_status(spec_pair_theory_by_chance(&by_chance, &p.config, &error), GSL_EINVAL);
    }
}

TEST(a_config_that_no_decoder_takes_is_refused)
{
    CLOSED(pair) p;
    double mean;
    pair_open(&p, "probs:0.55,0.27,0.18", "probs:0.16,0.43,0.41", "rrs",
              "tree?n=2&siblings=without", 1);
    assert_status(spec_pair_theory_emitted(&mean, &p.config, &error), GSL_EINVAL);
    assert_nan(mean);
}
