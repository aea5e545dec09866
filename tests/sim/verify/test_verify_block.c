/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block verification: its law is the target's, it keeps as much as the closed form says, and never
 * less than the token rule. test_decode.c compares sampled texts with the enumerated law. */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>

/* ---- scripted -------------------------------------------------------------------------------- */

/* Tokens 2, 2, 3: ratios 2/3, 11/6, 37/35. The first two reach 2/3 and 1 (11/9, capped), the
 * third 1. */
TEST(the_whole_block_is_kept_with_the_capped_product_of_the_ratios)
{
    OWNED(rule_case) run = rule_case_text((const int[]){2, 2, 3}, 3);
    rule_case_verify(&run, "block", (const int[]){1, 1}, 2);
    assert_true(run.asked[0] == 1.0);
    assert_within(run.asked[1], 0.9, 1e-15); /* the bonus, from the row after the last token */
    assert_int_equal(run.round.n_accepted, 3);
    const int expected[] = {2, 2, 3, 1};
    for (int i = 0; i < 4; i++) assert_int_equal(run.round.token[i], expected[i]);
    for (int i = 0; i < 3; i++) assert_int_equal(run.round.node[i], i);
}

/* Tokens 0, 1, 1 have ratios 4, 1/5, 18/25, so the prefixes reach 1, .2 and .144: the cap at the
 * first token still has its effect at the third. */
TEST(a_prefix_is_kept_with_its_residual_over_what_is_left)
{
    OWNED(rule_case) run = rule_case_text((const int[]){0, 1, 1}, 3);
    rule_case_verify(&run, "block", (const int[]){1, 0}, 2);
    assert_within(run.asked[0], 0.144, 1e-15);
    assert_int_equal(run.round.n_accepted, 3);

    /* Two kept: (.2 (.27, .36, 0, .37) - (0, .5, .15, .35))+ = (.054, 0, 0, 0), over .054 + .8. */
    rule_case_verify(&run, "block", (const int[]){0, 1, 0}, 3);
    assert_within(run.asked[0], 0.856, 1e-15);
    assert_within(run.asked[1], 0.054 / 0.854, 1e-15);
    assert_true(run.asked[2] == 1.0);
    assert_int_equal(run.round.n_accepted, 2);
    assert_int_equal(run.round.token[1], 1);

    /* One is kept: its prefix reaches 1, so nothing shorter is kept: ((.15, .05, .55, .25) - (.3,
     * .25, .3, .15))+ = (0, 0, .25, .1). */
    rule_case_verify(&run, "block", (const int[]){0, 0, 1, 3}, 4);
    assert_true(run.asked[2] == 1.0);
    assert_within(run.asked[3], 0.1 / 0.35, 1e-15);
    assert_int_equal(run.round.n_accepted, 1);
    assert_int_equal(run.round.token[0], 0);
    assert_int_equal(run.round.token[1], 3);
}

/* Tokens 3, 1: ratios 1/4 and 1/5. Keeping one leaves the residual (.25 (.15, .05, .55, .25) - (.3,
 * .25, .3, .15))+, which is 0. */
TEST(keeping_nothing_is_certain_at_last_and_corrects_from_the_first_residual)
{
    OWNED(rule_case) run = rule_case_text((const int[]){3, 1}, 2);
    rule_case_verify(&run, "block", (const int[]){0, 0, 1, 0}, 4);
    assert_within(run.asked[0], 0.95, 1e-15);
    assert_true(run.asked[1] == 1.0 && run.asked[2] == 1.0);
    assert_within(run.asked[3], 0.75, 1e-15); /* (.3, .1, 0, 0) / .4 */
    assert_int_equal(run.round.n_accepted, 0);
    assert_int_equal(run.round.token[0], 0);
}

TEST(a_token_that_the_target_excludes_gives_up_all_that_follows)
{
    static const double none[] = {0.0, 0.5, 0.15, 0.35}, next[] = {0.25, 0.25, 0.25, 0.25};
    OWNED(rule_case) run = rule_case_text((const int[]){0, 0}, 2);
    run.target[1] = none;
    run.target[2] = next;
    rule_case_verify(&run, "block", (const int[]){0, 1, 1}, 3);
    assert_true(run.asked[0] == 1.0 && run.asked[1] == 1.0); /* the first reaches 1 */
    assert_within(run.asked[2], 0.25 / 0.45, 1e-15);         /* (0, .25, 0, .2) */
    assert_int_equal(run.round.n_accepted, 1);
}

/* If the draft gives a token nearly 0, its ratio is infinite; after a token that the target
 * excludes, the block must stay at 0. */
TEST(an_infinite_ratio_does_not_revive_a_block)
{
    static const double none[] = {0.0, 0.5, 0.15, 0.35}, faint[] = {1.0, 1e-310, 0.0, 0.0},
                        even[] = {0.25, 0.25, 0.25, 0.25};
    for (int r = 0; r < 2; r++) {
        OWNED(rule_case) run;
        rule_case_init(&run, 4);
        run.target[0] = none;
        run.target[1] = run.target[2] = run.target[3] = even;
        spec_draft_append(&run.draft, 0, -1, rule_case_draft[0], true);
        spec_draft_append(&run.draft, 1, 0, faint, true);
        spec_draft_append(&run.draft, 1, 1, faint, true);
        rule_case_verify(&run, "block", (const int[]){0, 0, 0, 1, 1}, 5);
        assert_true(run.asked[0] == 1.0 && run.asked[1] == 1.0 && run.asked[2] == 1.0);
        assert_int_equal(run.round.n_accepted, 0);
        run.target[0] = even; /* and if the chain is possible, it is certain */
        rule_case_verify(&run, "block", (const int[]){1, 2}, 2);
        assert_int_equal(run.round.n_accepted, 3);
    }
}

TEST(a_chosen_chain_is_judged_by_the_targets_probabilities_of_it)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    for (int i = 0; i < 3; i++) run.target[i] = rule_case_target[i];
    spec_draft_append(&run.draft, 1, -1, rule_case_draft[0], false);
    spec_draft_append(&run.draft, 2, 0, NULL, false);
    rule_case_verify(&run, "block", (const int[]){1, 0}, 2);
    assert_within(run.asked[0], 0.3 * 0.55, 1e-15);
    assert_int_equal(run.round.n_accepted, 2);

    /* One is kept: .3 of the mass off token 2, .45, divided by that plus 1 - .3. */
    rule_case_verify(&run, "block", (const int[]){0, 1, 3}, 3);
    assert_within(run.asked[1], 0.3 * 0.45 / (0.3 * 0.45 + 0.7), 1e-15);
    assert_within(run.asked[2], 0.25 / 0.45, 1e-15);
    rule_case_verify(&run, "block", (const int[]){0, 0, 1, 0}, 4);
    assert_within(run.asked[3], 0.4 / 0.7, 1e-15);
    assert_int_equal(run.round.n_accepted, 0);
}

TEST(an_empty_draft_gives_one_token_of_the_target)
{
    OWNED(rule_case) run = rule_case_text(NULL, 0);
    rule_case_verify(&run, "block", (const int[]){1, 2}, 2);
    assert_within(run.asked[1], 0.2, 1e-15);
    assert_int_equal(run.round.n_accepted, 0);
}

/* If the rows are equal up to rounding, reach may fall short of 1 by a rounding error, and the
 * residual be empty. */
TEST(a_residual_that_rounding_emptied_is_the_target)
{
    static const double even[] = {0.25, 0.25, 0.25, 0.25},
                        less[] = {0.25, 0.25 - 0x1p-54, 0.25, 0.25};
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    run.target[0] = less;
    run.target[1] = even;
    spec_draft_append(&run.draft, 1, -1, even, true);
    rule_case_verify(&run, "block", (const int[]){0, 1, 2}, 3);
    assert_true(run.asked[0] < 1e-15);
    assert_within(run.asked[2], 0.25, 1e-15);
}

TEST(in_a_tree_the_first_children_are_the_block)
{
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    static const double after[][4] = {{0.15, 0.05, 0.55, 0.25},
                                      {0.25, 0.25, 0.25, 0.25},
                                      {0.6, 0.1, 0.1, 0.2},
                                      {0.3, 0.3, 0.2, 0.2}};
    run.target[0] = rule_case_target[0];
    for (int i = 0; i < 4; i++) run.target[i + 1] = after[i];
    spec_draft_append(&run.draft, 2, -1, rule_case_draft[0], true); /* node 0: ratio 2/3 */
    spec_draft_append(&run.draft, 1, -1, rule_case_draft[0], true); /* its sibling */
    spec_draft_append(&run.draft, 2, 1, rule_case_draft[1], true);  /* the sibling's child */
    spec_draft_append(&run.draft, 1, 0, rule_case_draft[1], true);  /* node 0's child: ratio 1/5 */
    rule_case_verify(&run, "block", (const int[]){1, 0}, 2);
    assert_within(run.asked[0], 2.0 / 15.0, 1e-15);
    assert_within(run.asked[1], 0.3, 1e-15);
    assert_int_equal(run.round.n_accepted, 2);
    assert_int_equal(run.round.node[0], 0);
    assert_int_equal(run.round.node[1], 3);
    rule_case_verify(&run, "block", (const int[]){0, 1, 2},
                     3); /* (2/3 (.15, .05, .55, .25) - (.3, .25, .3, .15))+ */
    const double left = 0.55 * 2.0 / 3.0 - 0.3, right = 0.25 * 2.0 / 3.0 - 0.15;
    assert_within(run.asked[1], (left + right) / (left + right + 1.0 / 3.0), 1e-15);
    assert_within(run.asked[2], left / (left + right), 1e-14);
    assert_int_equal(run.round.node[0], 0);
}

/* ---- enumerated ------------------------------------------------------------------------------ */

/* sum_i sum_{x^i} draft(x^i) min_{0<=j<=i} prod_{l=j+1..i} target/draft, over the texts below
 * `text`: computed with all products of the ratios, without the rule's running minimum. */
static double closed_form(const table_model *goal, const table_model *draft, const char *drafting,
                          int K, int *text, double *ratio, int n, double weight)
{
    double sum = 0.0;
    if (n == K) return 0.0;
    for (int x = 0; x < goal->head.vocab; x++) {
        const double law = rule_law_drafted(draft, drafting, text, (size_t)n, x);
        if (!(law > 0.0)) continue;
        ratio[n] = table_model_row(goal, text, (size_t)n)[x] / law;
        double least = 1.0;
        for (int j = 0; j <= n; j++) {
            double product = 1.0;
            for (int l = j; l <= n; l++) product *= ratio[l];
            least = fmin(least, product);
        }
        text[n] = x;
        sum += weight * law * least +
               closed_form(goal, draft, drafting, K, text, ratio, n + 1, weight * law);
    }
    return sum;
}

static void check(const table_model *goal, const table_model *draft, const char *drafting, int K,
                  int n_tokens, const char *family)
{
    int text[4];
    double ratio[4];
    spec_output_law law = rule_law(goal, draft, "block", drafting, K, n_tokens),
                    token = rule_law(goal, draft, "token", drafting, K, 1);
    if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
        fail_msg("%s %s K=%d m=%d V=%d: tv %g, total %.17g", family, drafting, K, n_tokens,
                 goal->head.vocab, law.tv, law.total);
    assert_within(law.accepted, closed_form(goal, draft, drafting, K, text, ratio, 0, 1.0), 1e-13);
    assert_true(law.accepted >= token.accepted - 1e-13);
    if (K <= 1) assert_within(law.accepted, token.accepted, 1e-13);
    spec_output_law_free(&law);
    spec_output_law_free(&token);
}

/* The largest vocabulary of a case, so that it has at most some 10^5 branches: [tokens - 1][K]. */
static const int most[3][5] = {{4, 4, 4, 4, 4}, {4, 4, 4, 4, 3}, {4, 4, 3, 3, 2}};

/* Tries 240 pairs with sampled and 240 with chosen drafts in each family. */
TEST(the_law_is_the_targets_and_what_is_kept_has_the_closed_form, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(16);
    for (int family = 0; family < PAIR_FAMILIES; family++)
        for (uint64_t again = 0; again < times; again++)
            for (int c = 0; c < 15; c++) {
                const int K = c % 5, n_tokens = 1 + c / 5;
                const int V = again % 2 == 0 ? most[c / 5][K]
                                             : 1 + (int)(most[c / 5][K] * table_uniform(&noise));
                OWNED(table_model) goal, draft;
                table_model_init(&goal, V);
                table_model_init(&draft, V);
                table_pair_randomize(&goal, &draft, (pair_family)family, &noise);
                check(&goal, &draft, "chain", K, n_tokens, pair_family_names[family]);
                check(&goal, &draft, "greedy", K, n_tokens, pair_family_names[family]);
            }
}

/* [Sun25] section 2, target (1/3, 2/3), draft (2/3, 1/3), K = 2: tests/oracle/multi.py prints
 * E[tau] = 10/9 for token and 11/9 for block; tests/oracle/misc.py 5/3 for block at K = 3. */
TEST(the_papers_example_keeps_eleven_ninths)
{
    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){1.0 / 3.0, 2.0 / 3.0},
                  (const double[]){2.0 / 3.0, 1.0 / 3.0}, 2);
    static const struct {
        const char *rule;
        int K;
        double kept;
    } known[] = {{"token", 1, 2.0 / 3.0},
                 {"block", 1, 2.0 / 3.0},
                 {"token", 2, 10.0 / 9.0},
                 {"block", 2, 11.0 / 9.0},
                 {"block", 3, 5.0 / 3.0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWNED(spec_output_law) law = rule_law(&goal, &draft, known[i].rule, "chain", known[i].K, 3);
        assert_within(law.accepted, known[i].kept, 1e-14);
        assert_within(law.tv, 0.0, 1e-14);
    }
}

/* First rows (2/3, 1/3) and (1/3, 2/3), ratios 2 and 1/2. A second position that differs pays only
 * after the ratio 1/2: there its ratio 3/2 repays the deficit. After the ratio 2 the surplus is
 * lost, as for token. A rule that carried the surplus over would keep 4/3 of the first pair. */
TEST(a_later_surplus_repays_a_deficit_and_an_earlier_surplus_is_lost)
{
    static const double first[2] = {2.0 / 3.0, 1.0 / 3.0}, from[2] = {1.0 / 3.0, 2.0 / 3.0},
                        other[2] = {0.25, 0.75};
    for (int after = 0; after < 2; after++) {
        OWNED(table_model) goal, draft;
        int text[4];
        double ratio[4];
        table_model_init(&goal, 2); /* rows are (1/2, 1/2) except for these */
        table_model_init(&draft, 2);
        memcpy(goal.row, first, sizeof first);
        memcpy(draft.row, from, sizeof from);
        memcpy(goal.row + 2 * (1 + after), other, sizeof other);
        spec_output_law token = rule_law(&goal, &draft, "token", "chain", 2, 3),
                        block = rule_law(&goal, &draft, "block", "chain", 2, 3);
        const double kept = after == 0 ? 5.0 / 4.0 : 4.0 / 3.0;
        assert_within(token.accepted, 5.0 / 4.0, 1e-14);
        assert_within(block.accepted, kept, 1e-14);
        assert_within(closed_form(&goal, &draft, "chain", 2, text, ratio, 0, 1.0), kept, 1e-14);
        spec_output_law_free(&token);
        spec_output_law_free(&block);
    }
}

/* Returns whether a text of at most K tokens, possible under both models, has a ratio on one side
 * of 1 after one on the other side. With deficit_first: a ratio above 1 after one below. */
static bool turns(const table_model *goal, const table_model *draft, int K, int *text, int n,
                  bool deficit_first, bool begun)
{
    const double *t = table_model_row(goal, text, (size_t)n),
                 *d = table_model_row(draft, text, (size_t)n);
    for (int x = 0; x < goal->head.vocab && n < K; x++) {
        if (!(d[x] > 0.0 && t[x] > 0.0)) continue;
        const bool below = t[x] < d[x], above = t[x] > d[x];
        text[n] = x;
        if (begun && (deficit_first ? above : below)) return true;
        if (turns(goal, draft, K, text, n + 1, deficit_first,
                  begun || (deficit_first ? below : above)))
            return true;
    }
    return false;
}

/* After every text with a ratio under 1, drafts from some of the target's tokens in its
 * proportions: no ratio there exceeds 1, and all are below 1 if a token is left out. */
static void let_nothing_repay(const table_model *goal, table_model *draft, int K, int *text, int n,
                              bool short_before, uint64_t *noise)
{
    const int V = goal->head.vocab;
    const double *t = table_model_row(goal, text, (size_t)n);
    double *d = draft->row + (table_model_row(draft, text, (size_t)n) - draft->row), sum = 0.0;
    const bool all = table_uniform(noise) < 0.5;
    if (short_before) {
        for (int x = 0; x < V; x++) sum += d[x] = all || x % 2 == 0 ? t[x] : 0.0;
        if (sum > 0.0 && sum < 1.0 - 1e-9)
            for (int x = 0; x < V; x++) d[x] /= sum;
        else
            memcpy(d, t, (size_t)V * sizeof *d);
    }
    for (int x = 0; x < V && n + 1 < K; x++) {
        text[n] = x;
        let_nothing_repay(goal, draft, K, text, n + 1, short_before || t[x] < d[x], noise);
    }
}

/* Half of the pairs are random, and half are constructed so that nothing repays; K <= 3, so each
 * text has its own row. `inverted` counts the pairs for which the condition in the reversed order
 * would be wrong. */
TEST(block_keeps_what_token_keeps_iff_no_ratio_exceeds_1_after_one_fell_short, STATISTICS)
{
    static const pair_family families[] = {PAIR_PLAIN, PAIR_ZEROS,    PAIR_LEVELS,
                                           PAIR_EQUAL, PAIR_DISJOINT, PAIR_ONE_HOT};
    uint64_t noise = spec_test_seed();
    int equal = 0, more = 0, inverted = 0;
    for (uint64_t c = 0; c < spec_test_samples(720); c++) {
        const int V = 2 + (int)(c % 2), K = 1 + (int)(c / 2 % 3);
        int text[4];
        OWNED(table_model) goal, draft;
        table_model_init(&goal, V);
        table_model_init(&draft, V);
        table_pair_randomize(&goal, &draft, families[c / 6 % 6], &noise);
        if (c / 36 % 2 == 0) let_nothing_repay(&goal, &draft, K, text, 0, false, &noise);
        const bool repaid = turns(&goal, &draft, K, text, 0, true, false);
        spec_output_law token = rule_law(&goal, &draft, "token", "chain", K, 1),
                        block = rule_law(&goal, &draft, "block", "chain", K, 1);
        if ((block.accepted - token.accepted > 1e-12) != repaid)
            fail_msg("case %d V=%d K=%d: block %.17g, token %.17g, repaid %d", (int)c, V, K,
                     block.accepted, token.accepted, repaid);
        equal += !repaid;
        more += repaid;
        inverted += repaid != turns(&goal, &draft, K, text, 0, false, false);
        spec_output_law_free(&token);
        spec_output_law_free(&block);
    }
    if (equal < 400 || more < 70 || inverted < 70)
        fail_msg("%d equal, %d more, %d inverted", equal, more, inverted);
}

/* At temperature 0 the target is one-hot: a prefix reaches 1 until the first token that differs,
 * then 0. */
TEST(at_temperature_zero_it_keeps_what_greedy_keeps)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 60; c++) {
        OWNED(table_model) goal, draft, unused;
        const int V = 2 + c % 2, K = c % 4;
        table_model_init(&goal, V);
        table_model_init(&draft, V);
        table_model_init(&unused, V);
        table_pair_randomize(&goal, &unused, PAIR_ONE_HOT, &noise);
        table_pair_randomize(&unused, &draft, PAIR_PLAIN, &noise);
        for (int d = 0; d < 2; d++) {
            const char *drafting = d == 0 ? "chain" : "greedy";
            spec_output_law block = rule_law(&goal, &draft, "block", drafting, K, 2),
                            greedy = rule_law(&goal, &draft, "greedy", drafting, K, 2);
            assert_within(block.accepted, greedy.accepted, 1e-14);
            for (size_t i = 0; i < block.size; i++)
                assert_within(block.law[i], greedy.law[i], 1e-14);
            spec_output_law_free(&block);
            spec_output_law_free(&greedy);
        }
    }
}

/* Ratios 2, then 255/256 each: block caps the product at the first token, hsd never does. */
TEST(the_longest_chain_is_judged)
{
    enum { K = SPEC_K_MAX };
    static const double drafted[2] = {0.5, 0.5}, likes[2] = {1.0, 0.0},
                        less[2] = {255.0 / 512.0, 257.0 / 512.0};
    const spec_rule *const rules[] = {&spec_verify_block, &spec_verify_hsd};
    const double capped = pow(255.0 / 256.0, K - 1), joint = 2.0 * capped;
    int token[K + 1], node[K];
    const double *on[K + 1] = {likes};
    OWNED(spec_draft) draft;
    assert_int_equal(spec_draft_init(&draft, K, 2, NULL), GSL_SUCCESS);
    for (int i = 0; i < K; i++) spec_draft_append(&draft, 0, i - 1, drafted, true);
    for (int i = 1; i <= K; i++) on[i] = less;
    for (int r = 0; r < 2; r++) {
        double weight[2], asked[2];
        spec_round round = {.token = token, .node = node};
        spec_script script;
        spec_script_init(&script, (const int[]){1, 1}, 2, asked);
        rules[r]->verify(&round, rules[r], &draft, on, weight, &script.chance);
        assert_int_equal(round.n_accepted, K);
        assert_within(asked[0], r == 0 ? capped : joint, 1e-13);
    }
}

TEST(it_claims_to_be_lossless)
{
    const spec_rule *rule;
    assert_int_equal(spec_rule_find(&rule, "block", NULL), GSL_SUCCESS);
    assert_int_equal(rule->claim, SPEC_LOSSLESS);
}
