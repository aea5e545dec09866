/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three models: rounds of the smaller two draft for the target. Every decision of all of them is
 * enumerated, with the rules that decode. docs/formulas/lengths.md#cascade. */
#include "sim/decode.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <math.h>
#include <string.h>

enum { V = 2, TOKENS = 3, TEXTS = V * V * V };

typedef struct {
    const char *inner, *outer;
    int k;      /* draft length of the inner rounds */
    int rounds; /* inner rounds whose tokens are submitted, or 0 */
    int fixed;  /* otherwise: tokens submitted, from as many rounds as it takes */
} cascade;

typedef struct {
    table_model target, middle, small;
    spec_decoder inner;
    spec_rule outer;
} models;

/* Adds the chances of all texts that begin with text[0..n), which then follow the target. */
static void add_texts(double *law, const table_model *target, int *text, int n, double chance)
{
    if (n < TOKENS) {
        for (int x = 0; x < V; x++) {
            text[n] = x;
            add_texts(law, target, text, n + 1,
                      chance * table_model_row(target, text, (size_t)n)[x]);
        }
        return;
    }
    int index = 0;
    for (int i = 0; i < TOKENS; i++) index = V * index + text[i];
    law[index] += chance;
}

/* Drafts by inner rounds and verifies; writes the emitted tokens and returns their number. */
static int outer_round(int *ret_text, const cascade *c, models *m, spec_chance *chance)
{
    OWNED(rule_case) run;
    rule_case_init(&run, V);
    assert_int_equal(spec_decoder_reset(&m->inner, NULL, 0, NULL), GSL_SUCCESS);
    for (int r = 0; c->rounds > 0 ? r < c->rounds : (int)m->inner.n_context < c->fixed; r++)
        assert_int_equal(spec_decoder_round(&m->inner, chance, NULL, NULL), GSL_SUCCESS);
    const int *text = m->inner.context, n = c->rounds > 0 ? (int)m->inner.n_context : c->fixed;
    for (int i = 0; i <= n; i++) {
        if (i < n)
            spec_draft_append(&run.draft, text[i], i - 1,
                              table_model_row(&m->middle, text, (size_t)i), true);
        run.target[i] = table_model_row(&m->target, text, (size_t)i);
    }
    run.draft.depth = n;
    run.round.token = ret_text;
    run.round.node = run.node;
    m->outer.verify(&run.round, &m->outer, &run.draft, run.target, run.weight, chance);
    return run.round.n_emitted;
}

/* Returns the total variation of the first tokens of the cascade and of the target. */
static double distance(const cascade *c, pair_family family, uint64_t *noise)
{
    models m;
    double law[TEXTS] = {0}, promised[TEXTS] = {0}, tv = 0.0;
    int text[RULE_CASE_NODES + 1];
    table_model spare;
    table_model_init(&m.target, V);
    table_model_init(&m.middle, V);
    table_model_init(&m.small, V);
    table_model_init(&spare, V);
    table_pair_randomize(&m.target, &m.middle, family, noise);
    table_pair_randomize(&spare, &m.small, family, noise);
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = &m.middle.head;
    config.opt_draft = &m.small.head;
    config.rule = c->inner;
    config.K = c->k;
    assert_int_equal(spec_decoder_init(&m.inner, &config, NULL), GSL_SUCCESS);
    assert_int_equal(spec_rule_init(&m.outer, c->outer, NULL), GSL_SUCCESS);
    assert_int_equal(spec_rule_open(&m.outer, V, RULE_CASE_NODES, NULL), GSL_SUCCESS);
    OWNED(spec_enumeration) walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    do {
        const int n = outer_round(text, c, &m, &walk.chance);
        add_texts(law, &m.target, text, n < TOKENS ? n : TOKENS,
                  spec_enumeration_probability(&walk));
    } while (spec_enumeration_next(&walk));
    add_texts(promised, &m.target, text, 0, 1.0);
    for (int i = 0; i < TEXTS; i++) tv += 0.5 * fabs(law[i] - promised[i]);
    spec_rule_free(&m.outer);
    spec_decoder_free(&m.inner);
    table_model_free(&m.target);
    table_model_free(&m.middle);
    table_model_free(&m.small);
    table_model_free(&spare);
    return tv;
}

static double worst(const cascade *c, int again)
{
    uint64_t noise = spec_test_seed();
    double most = 0.0;
    for (int i = 0; i < again * PAIR_FAMILIES; i++)
        most = fmax(most, distance(c, (pair_family)(i % PAIR_FAMILIES), &noise));
    return most;
}

/* The block ends after an inner round, however many tokens that round had. */
TEST(a_block_may_end_with_an_inner_round_if_the_inner_rule_judges_each_round_alone)
{
    static const cascade cases[] = {
        {"token", "token", 1, 1, 0}, {"token", "token", 2, 1, 0}, {"token", "token", 1, 2, 0},
        {"block", "token", 2, 1, 0}, {"match", "token", 2, 1, 0}, {"token", "block", 2, 1, 0},
        {"block", "block", 2, 1, 0}, {"block", "block", 1, 2, 0}, {"block", "token", 3, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double tv = worst(&cases[i], 6);
        if (!(tv < 1e-13)) fail_msg("%s in %s: tv %g", cases[i].inner, cases[i].outer, tv);
    }
}

/* The inner texts have the middle model's law, but the rounds do not. */
TEST(block_greedy_may_not_end_a_block_but_may_fill_one)
{
    assert_true(worst(&(cascade){"block-greedy", "token", 2, 1, 0}, 3) > 0.01);
    assert_true(worst(&(cascade){"block-greedy", "token", 2, 0, 3}, 3) < 1e-13);
    assert_true(worst(&(cascade){"block-greedy", "token", 2, 0, 2}, 3) < 1e-13);
}

TEST(a_block_of_fixed_length_takes_any_lossless_rule)
{
    assert_true(worst(&(cascade){"token", "token", 2, 0, 3}, 3) < 1e-13);
    assert_true(worst(&(cascade){"block", "block", 2, 0, 2}, 3) < 1e-13);
}

/* The target judges the tokens by the middle model's rows, which are no longer their law. */
TEST(a_lossy_inner_rule_makes_the_whole_cascade_lossy)
{
    assert_true(worst(&(cascade){"lenience?l=0.3", "token", 2, 0, 2}, 3) > 0.01);
}
