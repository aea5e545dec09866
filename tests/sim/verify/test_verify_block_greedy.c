/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks greedy block verification. The text has the target's law over any number of rounds. The
 * first round keeps the sum of the smaller joint probabilities, and the state passed on is as in
 * theory. test_decode.c compares sampled texts with the enumerated law. */
#include "tests/support/near.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <string.h>

enum { K_MAX = 4 };

/* ---- what theory says ------------------------------------------------------------------------ */

typedef struct {
    const table_model *goal, *draft;
    int V, K;
} pair;

/* Returns target/draft of the tokens text[from..to), each by its own row: `goal` is the target's
 * probability. */
static double joint(const table_model *model, const int *text, int from, int to)
{
    double product = 1.0;
    for (int i = from; i < to; i++) product *= table_model_row(model, text, (size_t)i)[text[i]];
    return product;
}

/* Returns sum_i sum_{x^i} min(target, draft) of the texts of 1..K tokens that begin with
 * text[0..n). */
static double smaller_joint(const pair *p, int *text, int n)
{
    double sum = 0.0;
    if (n >= p->K || n >= K_MAX) return 0.0;
    for (int x = 0; x < p->V; x++) {
        text[n] = x;
        sum += fmin(joint(p->goal, text, 0, n + 1), joint(p->draft, text, 0, n + 1)) +
               smaller_joint(p, text, n + 1);
    }
    return sum;
}

/* Returns the target of the second round, at text[n], after a first round that emitted `first`
 * tokens and rejected: the joint residual over the draft within the first block, then the
 * target. */
static double second_target(const pair *p, int *text, int n)
{
    const double *target = table_model_row(p->goal, text, (size_t)n);
    if (n >= p->K) return target[text[n]];
    const double goal = joint(p->goal, text, 0, n), drafted = joint(p->draft, text, 0, n);
    const double *draft = table_model_row(p->draft, text, (size_t)n);
    double mass = 0.0;
    for (int x = 0; x < p->V; x++) mass += fmax(goal * target[x] - drafted * draft[x], 0.0);
    return fmax(goal * target[text[n]] - drafted * draft[text[n]], 0.0) / mass;
}

/* Returns the same sum for the second round, which begins after `first` tokens: `target` is the
 * probability of text[first..n). */
static double second_smaller(const pair *p, int *text, int first, int n, double target)
{
    double sum = 0.0;
    if (n == first + p->K) return 0.0;
    for (int x = 0; x < p->V; x++) {
        text[n] = x;
        const double chance = target * second_target(p, text, n);
        if (chance > 0.0)
            sum += fmin(chance, joint(p->draft, text, first, n + 1)) +
                   second_smaller(p, text, first, n + 1, chance);
    }
    return sum;
}

/* ---- enumerated ------------------------------------------------------------------------------ */

/* The largest vocabulary of a case, so that it has at most some 10^4 branches: [tokens - 1][K -
 * 1]. */
static const int most[5][K_MAX] = {
    {4, 4, 3, 3}, {4, 3, 3, 2}, {3, 3, 2, 2}, {3, 2, 2, 2}, {2, 2, 2, 0}};

/* Tries at least 20 shapes per family with 10 pairs each, for texts of up to five rounds. */
TEST(the_law_is_the_targets_over_any_number_of_rounds, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(11);
    double worst = 0.0;
    for (int family = 0; family < PAIR_FAMILIES; family++)
        for (uint64_t again = 0; again < times; again++)
            for (int c = 0; c < 5 * K_MAX; c++) {
                const int K = 1 + c % K_MAX, n_tokens = 1 + c / K_MAX, V = most[c / K_MAX][K - 1];
                int text[K_MAX];
                if (V == 0) continue;
                OWNED(table_model) goal, draft;
                table_model_init(&goal, V);
                table_model_init(&draft, V);
                table_pair_randomize(&goal, &draft, (pair_family)family, &noise);
                const pair p = {.goal = &goal, .draft = &draft, .V = V, .K = K};
                spec_output_law law = rule_law(&goal, &draft, "block-greedy", "chain", K, n_tokens),
                                block = rule_law(&goal, &draft, "block", "chain", K, 1);
                if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
                    fail_msg("%s K=%d m=%d V=%d: tv %g, total %.17g", pair_family_names[family], K,
                             n_tokens, V, law.tv, law.total);
                worst = fmax(worst, law.tv);
                assert_within(law.accepted, smaller_joint(&p, text, 0), 1e-13);
                assert_true(law.accepted >= block.accepted - 1e-13);
                if (K == 1) assert_within(law.accepted, block.accepted, 1e-13);
                spec_output_law_free(&law);
                spec_output_law_free(&block);
            }
    print_message("worst tv %.1e\n", worst);
}

/* Compares E[n_accepted] of the second round, by enumeration, with the theory of the state after
 * the first round. */
TEST(the_second_round_keeps_what_its_own_target_allows)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 6 * PAIR_FAMILIES; c++) {
        const int K = 2 + c % 2, V = 4 - K;
        OWNED(table_model) goal, draft;
        table_model_init(&goal, 1 + V);
        table_model_init(&draft, 1 + V);
        table_pair_randomize(&goal, &draft, (pair_family)(c / 6), &noise);
        const pair p = {.goal = &goal, .draft = &draft, .V = 1 + V, .K = K};
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        config.target = &goal.head;
        config.opt_draft = &draft.head;
        config.rule = "block-greedy";
        config.K = K;
        spec_decoder decoder;
        spec_enumeration walk;
        double kept = 0.0, expected = 0.0;
        for (int rounds = 1; rounds <= 2; rounds++) {
            assert_int_equal(spec_decoder_init(&decoder, &config, NULL), GSL_SUCCESS);
            assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
            do {
                int text[3 * K_MAX];
                assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
                for (int r = 0; r < rounds; r++)
                    assert_int_equal(spec_decoder_round(&decoder, &walk.chance, NULL, NULL),
                                     GSL_SUCCESS);
                const double chance = spec_enumeration_probability(&walk);
                const int first = decoder.round.n_emitted;
                memcpy(text, decoder.context, decoder.n_context * sizeof *text);
                if (rounds == 1) expected += chance * second_smaller(&p, text, first, first, 1.0);
                else kept += chance * decoder.round.n_accepted;
            } while (spec_enumeration_next(&walk));
            spec_enumeration_free(&walk);
            spec_decoder_free(&decoder);
        }
        assert_within(kept, expected, 1e-12);
    }
}

/* [Sun25]'s example, target (1/3, 2/3), draft (2/3, 1/3), K = 2: 12/9, where block keeps 11/9. */
TEST(the_papers_example_keeps_twelve_ninths)
{
    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){1.0 / 3.0, 2.0 / 3.0},
                  (const double[]){2.0 / 3.0, 1.0 / 3.0}, 2);
    OWNED(spec_output_law) law = rule_law(&goal, &draft, "block-greedy", "chain", 2, 4);
    assert_within(law.accepted, 12.0 / 9.0, 1e-14);
    assert_within(law.tv, 0.0, 1e-14);
}

/* ---- pardon ---------------------------------------------------------------------------------- */

/* Computes the total variation of the first 1..K tokens, as 1 less the sum of the smaller
 * probabilities. */
static void prefix_tv(double *ret_tv, const pair *p)
{
    int text[K_MAX];
    for (int i = 0; i < p->K; i++) {
        const pair less = {.goal = p->goal, .draft = p->draft, .V = p->V, .K = i};
        const pair all = {.goal = p->goal, .draft = p->draft, .V = p->V, .K = i + 1};
        ret_tv[i] = 1.0 - (smaller_joint(&all, text, 0) - smaller_joint(&less, text, 0));
    }
}

/* A block that first differs at token i, which has probability tv_i - tv_(i-1), is pardoned with
 * c_i. This is the total variation of K tokens, and K - sum_i (tv_i - that)+ tokens are kept, the
 * most that any rule could keep. */
TEST(pardon_pays_only_for_what_it_keeps_and_keeps_the_most)
{
    uint64_t noise = spec_test_seed();
    double largest = 0.0;
    for (int c = 0; c < 10 * PAIR_FAMILIES * K_MAX; c++) {
        const int K = 1 + c % K_MAX, V = 2 + (K < 3 ? c % 3 : K < 4 ? c % 2 : 0);
        const double depths[] = {0.3, 1.0, 1.6, 2.25, 4.0}, depth = depths[c / 7 % 5];
        double tv[K_MAX], paid = 0.0, kept = K, before = 0.0;
        OWNED(table_model) goal, draft;
        table_model_init(&goal, V);
        table_model_init(&draft, V);
        table_pair_randomize(&goal, &draft, (pair_family)(c / K_MAX % PAIR_FAMILIES), &noise);
        prefix_tv(tv, &(pair){.goal = &goal, .draft = &draft, .V = V, .K = K});
        for (int i = 0; i < K; before = tv[i++])
            paid += fmin(fmax(depth - i, 0.0), 1.0) * (tv[i] - before);
        for (int i = 0; i < K; i++) kept -= fmax(tv[i] - paid, 0.0);
        char rule[32];
        snprintf(rule, sizeof rule, "pardon?depth=%g", depth);
        OWNED(spec_output_law) law = rule_law(&goal, &draft, rule, "chain", K, K);
        assert_within(law.tv, paid, 1e-13);
        assert_within(law.accepted, kept, 1e-13);
        largest = fmax(largest, paid);
    }
    assert_true(largest > 0.5); /* so that something was pardoned */
}

TEST(pardon_at_depth_zero_is_block_greedy, SLOW)
{
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 30; c++) {
        OWNED(table_model) goal, draft;
        table_model_init(&goal, 2);
        table_model_init(&draft, 2);
        table_pair_randomize(&goal, &draft, PAIR_PLAIN, &noise);
        OWNED(spec_output_law) law = rule_law(&goal, &draft, "pardon?depth=0", "chain", 3, 5);
        assert_true(law.tv < 1e-13);
    }
}

/* Token 1 of the first round is rejected and not pardoned. The second round is still in the first
 * block, so its rejection may not be pardoned: with depth 1 the first two tokens would otherwise
 * cost more than the first did. */
TEST(a_block_is_pardoned_once)
{
    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){0.2, 0.8}, (const double[]){0.7, 0.3}, 2);
    OWNED(spec_output_law) law = rule_law(&goal, &draft, "pardon?depth=0.5", "chain", 2, 2);
    assert_within(law.tv, 0.25, 1e-14);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* The draft's text may end where the target's does not, and vice versa; lengths may vary. */
TEST(ends_of_texts_and_changing_lengths_change_no_law, STATISTICS)
{
    static const char *const policies[] = {"fixed", "heuristic?cap=4", "oracle"};
    static const char *const draftings[] = {"chain", "greedy", "lookup?max=2"};
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(3);
    for (uint64_t again = 0; again < times; again++)
        for (int c = 0; c < 3 * 3 * 9 * 2; c++) {
            const int K = 2 + c / 81, V = K == 2 ? 3 : 2;
            table_model goal, draft;
            table_model_init(&goal, V);
            table_model_init(&draft, V);
            table_pair_randomize(&goal, &draft, again == 0 ? PAIR_PLAIN : PAIR_MIXED, &noise);
            const int goal_end = c / 9 % 3 - 1, draft_end = c / 27 % 3 - 1;
            goal.head.ends = spec_text_ends_one(goal_end);
            draft.head.ends = spec_text_ends_one(draft_end);
            if (again == 2 && goal_end >= 0) spec_text_ends_add(&goal.head.ends, 0);
            if (again > 0 && draft_end >= 0) spec_text_ends_add(&draft.head.ends, 1);
            if (V == 2 && (goal_end > 1 || draft_end > 1)) continue;
            spec_decoder_config config = SPEC_DECODER_DEFAULT;
            config.target = &goal.head;
            config.opt_draft = &draft.head;
            config.rule = "block-greedy";
            config.drafting = draftings[c % 3];
            config.policy = policies[c / 3 % 3];
            config.K = K;
            OWNED(spec_output_law) law;
            const int prompt[] = {0, 1, 0};
            assert_int_equal(
                spec_output_law_init(&law, &config, prompt, 3, V == 3 ? 3 : 4, 0, NULL),
                GSL_SUCCESS);
            if (!(law.tv < 1e-12))
                fail_msg("%s %s K=%d ends %d %d: tv %g", config.drafting, config.policy, K,
                         goal_end, draft_end, law.tv);
            table_model_free(&goal);
            table_model_free(&draft);
        }
}

/* The state of one text does not reach the next: checks the law of two texts of two tokens, the
 * second after a reset, or after a call that cut the first one. */
static double tv_of_two_pieces(const table_model *goal, const table_model *draft, bool forgets)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = &goal->head;
    config.opt_draft = &draft->head;
    config.rule = "block-greedy";
    config.K = 3;
    OWNED(spec_decoder) decoder;
    OWNED(spec_enumeration) walk;
    double law[16] = {0.0}, tv = 0.0;
    assert_int_equal(spec_decoder_init(&decoder, &config, NULL), GSL_SUCCESS);
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    do {
        int text[4];
        size_t n, more;
        assert_int_equal(spec_decoder_reset(&decoder, NULL, 0, NULL), GSL_SUCCESS);
        if (forgets) { /* a reset between rounds, which is wrong */
            while (decoder.n_context < 4) {
                spec_rule_reset(&decoder.rule);
                assert_int_equal(spec_decoder_round(&decoder, &walk.chance, NULL, NULL),
                                 GSL_SUCCESS);
            }
            memcpy(text, decoder.context, sizeof text);
        } else {
            assert_int_equal(spec_decode(&decoder, 2, text, &n, &walk.chance, NULL, NULL),
                             GSL_SUCCESS);
            assert_int_equal(spec_decode(&decoder, 2, text + n, &more, &walk.chance, NULL, NULL),
                             GSL_SUCCESS);
        }
        law[8 * text[0] + 4 * text[1] + 2 * text[2] + text[3]] +=
            spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
    for (int i = 0; i < 16; i++)
        tv += 0.5 * fabs(law[i] -
                         joint(goal, (const int[]){i >> 3, i >> 2 & 1, i >> 1 & 1, i & 1}, 0, 4));
    return tv;
}

TEST(what_is_handed_on_ends_with_the_text_and_not_before)
{
    uint64_t noise = spec_test_seed();
    int shown = 0;
    for (int c = 0; c < 20; c++) {
        OWNED(table_model) goal, draft;
        table_model_init(&goal, 2);
        table_model_init(&draft, 2);
        table_pair_randomize(&goal, &draft, PAIR_PLAIN, &noise);
        assert_within(tv_of_two_pieces(&goal, &draft, false), 0.0, 1e-14);
        shown += tv_of_two_pieces(&goal, &draft, true) > 1e-3;
    }
    assert_true(shown >= 18);
}

/* The decoder refuses the rule with drafts of unknown length. */
TEST(trees_and_lengths_that_depend_on_the_draft_are_refused)
{
    OWNED(table_model) goal, draft;
    table_model_init(&goal, 3);
    table_model_init(&draft, 3);
    static const char *const refused[][2] = {
        {"tree?n=2", "fixed"},   {"tree?n=1", "fixed"},
        {"chain", "confidence"}, {"chain", "confidence-drop"},
        {"chain", "trim"},       {"chain", "average"}, /* it may drop to 1 */
        {"chain", "switch-off"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        spec_decoder_config config = SPEC_DECODER_DEFAULT;
        spec_decoder decoder;
        spec_error error = {""};
        config.target = &goal.head;
        config.opt_draft = &draft.head;
        config.rule = "block-greedy";
        config.drafting = refused[i][0];
        config.policy = refused[i][1];
        assert_int_equal(spec_decoder_init(&decoder, &config, &error), GSL_EINVAL);
        assert_non_null(
            strstr(error.text, "use a chain with a length policy like fixed or heuristic"));
    }
}

/* ---- scripted -------------------------------------------------------------------------------- */

static const double target[][3] = {
    {0.5, 0.3, 0.2}, {0.27, 0.4, 0.33}, {0.1, 0.6, 0.3}, {0.35, 0.45, 0.2}};
static const double drafts[][3] = {{0.2, 0.5, 0.3}, {0.6, 0.1, 0.3}, {0.25, 0.35, 0.4}};

typedef struct {
    spec_rule rule;
    spec_draft draft;
    spec_round round;
    double weight[3], asked[6];
    const double *rows[4];
    int token[4], node[3];
} scripted;

static void scripted_init(scripted *s)
{
    *s = (scripted){.rule = {.name = NULL}};
    assert_int_equal(spec_rule_init(&s->rule, "block-greedy", NULL), GSL_SUCCESS);
    assert_int_equal(spec_rule_open(&s->rule, 3, 3, NULL), GSL_SUCCESS);
    assert_int_equal(spec_draft_init(&s->draft, 3, 3, NULL), GSL_SUCCESS);
    s->round = (spec_round){.token = s->token, .node = s->node};
    for (int i = 0; i < 4; i++) s->rows[i] = target[i];
}

static void scripted_free(scripted *s)
{
    spec_rule_free(&s->rule);
    spec_draft_free(&s->draft);
}

static void verify(scripted *s, const int *token, const int *answer, int n)
{
    spec_script script;
    spec_draft_reset(&s->draft);
    for (int i = 0; i < 3; i++) spec_draft_append(&s->draft, token[i], i - 1, drafts[i], true);
    spec_script_init(&script, answer, n, s->asked);
    s->rule.verify(&s->round, &s->rule, &s->draft, s->rows, s->weight, &script.chance);
    assert_false(script.broken);
    assert_int_equal(script.used, n);
}

/* Tokens 0, 0, 2 have ratios 5/2, 9/20, 3/4, jointly 5/2, 9/8, 27/32. A prefix above 1 is certainly
 * kept, with a residual that has its whole product. */
TEST(a_prefix_that_the_target_likes_better_is_kept_for_certain)
{
    OWNED(scripted) s;
    scripted_init(&s);
    verify(&s, (const int[]){0, 0, 2}, (const int[]){1, 1}, 2);
    assert_within(s.asked[0], 27.0 / 32.0, 1e-15);
    assert_within(s.asked[1], 0.45, 1e-15);
    assert_int_equal(s.round.n_accepted, 3);
    verify(&s, (const int[]){0, 0, 2}, (const int[]){0, 1, 1},
           3); /* (9/8 (.1, .6, .3) - (.25, .35, .4))+ */
    assert_true(s.asked[1] == 1.0 && s.asked[2] == 1.0);
    assert_int_equal(s.round.n_accepted, 2);
    assert_int_equal(s.round.token[2], 1);
}

/* In round 1, tokens 1, 1, 1 (ratios 3/5, 4, 12/7) are all rejected; the correction is 0, with
 * joint ratio 5/2. So the next position has (5/2 (.5, .3, .2) - (.2, .5, .3))+ = (1.05, .25, .2),
 * and the next token's ratio is over .2, .5 or .3. */
TEST(the_next_round_has_the_residual_for_its_target)
{
    OWNED(scripted) s;
    scripted_init(&s);
    verify(&s, (const int[]){1, 2, 0}, (const int[]){0, 0, 0, 1, 0}, 5);
    assert_int_equal(s.round.n_accepted, 0);
    assert_int_equal(s.round.token[0], 0);
    const double carried[] = {1.05 / 1.5, 0.25 / 1.5, 0.2 / 1.5};
    verify(&s, (const int[]){1, 2, 0}, (const int[]){0, 0, 0, 1, 0}, 5);
    /* The joint ratio after token 1, then 2, with the carried state: round 1's own ratio there is
     * 5/2 3/5 = 3/2. */
    const double one = carried[1] / 0.5;
    const double left[] = {fmax(1.5 * 0.27 - 0.6, 0.0), 1.5 * 0.4 - 0.1, 1.5 * 0.33 - 0.3};
    const double two = one * left[2] / (left[0] + left[1] + left[2]) / 0.3,
                 three = two * 0.1 / 0.25;
    assert_within(s.asked[0], 1.0 - three, 1e-15);
    assert_true(s.asked[3] == 1.0 &&
                s.asked[4] == 1.0); /* (carried - draft)+ is on token 0 alone */
    double mass = 0.0; /* one token kept */
    const double second[] = {0.0, left[1] / (left[1] + left[2]), left[2] / (left[1] + left[2])};
    for (int i = 0; i < 3; i++) mass += fmax(one * second[i] - drafts[1][i], 0.0);
    assert_within(s.asked[2], 1.0 - mass / (mass + 1.0 - one), 1e-14);
    spec_rule_reset(&s.rule); /* a new text: the target again */
    verify(&s, (const int[]){1, 2, 0}, (const int[]){0, 0, 0, 1, 0}, 5);
    assert_within(s.asked[0], 1.0 - 0.6 * 1.1 * 0.4, 1e-15);
}

/* After the same first round, a chain that was chosen: 0, 2, 1. The first position has (5/2 (.5,
 * .3, .2) - (1, 0, 0))+ = (.25, .75, .5), and the second (5/4 (.27, .4, .33) - (0, 0, 1))+ =
 * (.3375, .5, 0): the whole chain is never kept. */
TEST(a_chosen_token_is_taken_off_the_residual_whole)
{
    const int chosen[] = {0, 2, 1}, answer[] = {0, 0, 1, 0};
    OWNED(scripted) s;
    spec_script script;
    scripted_init(&s);
    verify(&s, (const int[]){1, 2, 0}, (const int[]){0, 0, 0, 1, 0}, 5);
    spec_draft_reset(&s.draft);
    for (int i = 0; i < 3; i++) spec_draft_append(&s.draft, chosen[i], i - 1, NULL, false);
    spec_script_init(&script, answer, 4, s.asked);
    s.rule.verify(&s.round, &s.rule, &s.draft, s.rows, s.weight, &script.chance);
    assert_false(script.broken);
    assert_int_equal(script.used, 4);
    assert_within(s.asked[2], 1.0 / 6.0,
                  1e-15); /* the first position is kept: 1/6 of it, none of which is drafted */
    assert_within(s.asked[3], 0.3375 / 0.8375, 1e-15);
    assert_int_equal(s.round.n_accepted, 1);
}
