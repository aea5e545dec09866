/* SPDX-License-Identifier: GPL-3.0-or-later */
/* univer: its decisions by script, its law by enumeration, and what it keeps beside a recursion
 * over all drafts, traversal and token-rest. */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"
#include "tests/support/tree_round.h"

#include <string.h>

enum { V_MOST = 4 };

/* The drawn one has the share .3 / (.2/.3) = .45. The chosen ones divide .55 in proportion to .1
 * and .2, out of the .367 that the drawn one misses in total: .15 and .3. */
TEST(the_drawn_one_is_judged_last)
{
    static const double target[] = {0.1, 0.2, 0.3, 0.4}, row[] = {0.4, 0.3, 0.2, 0.1};
    OWNED(rule_case) run;
    rule_case_init(&run, 4);
    run.draft.siblings = SPEC_SIBLINGS_GREEDY;
    for (int i = 0; i <= RULE_CASE_NODES; i++) run.target[i] = target;
    spec_draft_append(&run.draft, 0, -1, row, false);
    spec_draft_append(&run.draft, 1, -1, row, false);
    spec_draft_append(&run.draft, 2, -1, row, true);
    const double missed = 2.0 / 3.0 - 0.3, first = 0.55 * 0.1 / missed,
                 second = 0.55 * 0.2 / missed, left = 1.0 - first - second;
    static const int answer[][5] = {{1, 0}, {0, 1, 0}, {0, 0, 1, 0}, {0, 0, 0, 1, 3}};
    const double asked[][5] = {{first, 0.1},
                               {1.0 - first, second / (1.0 - first), 0.1},
                               {1.0 - first, left / (1.0 - first), 0.45 / left, 0.1},
                               {1.0 - first, left / (1.0 - first), 1.0 - 0.45 / left, 1.0, 1.0}};
    for (int c = 0; c < 4; c++) {
        const int n = c < 3 ? c + 2 : 5;
        rule_case_verify(&run, "univer", answer[c], n);
        for (int i = 0; i < n; i++) assert_within(run.asked[i], asked[c][i], 1e-14);
        assert_int_equal(run.round.n_accepted, c < 3);
        if (c < 3) assert_int_equal(run.round.token[0], c);
    }
}

/* ---- what is kept ---------------------------------------------------------------------------- */

typedef struct {
    const table_model *goal, *draft;
    int depth, width[3];
    bool drawn_last;
} plan;

/* The tokens kept below a node that is reached with `reach`, from the shares of its children for
 * each token that may be drawn. */
static double kept_below(const plan *p, int *text, int level, double reach)
{
    const int V = p->goal->head.vocab, n = p->width[level] < V ? p->width[level] : V;
    const double *target = table_model_row(p->goal, text, (size_t)level),
                 *row = table_model_row(p->draft, text, (size_t)level);
    double law[V_MOST], sum = 0.0, given_up = 0.0, kept = 0.0;
    bool chosen[V_MOST] = {false};
    int order[V_MOST];
    if (level == p->depth || reach <= 0.0) return 0.0;
    /* Where the vocabulary is smaller than the number of siblings, all of them are chosen. */
    const int n_chosen = p->width[level] > V ? V : n - 1;
    for (int i = 0; i < n_chosen; i++) {
        int best = -1;
        for (int x = 0; x < V; x++)
            if (!chosen[x] && (best < 0 || row[x] > row[best])) best = x;
        chosen[order[i] = best] = true;
    }
    for (int x = 0; x < V; x++) sum += law[x] = chosen[x] ? 0.0 : row[x];
    for (int x = 0; x < V; x++) {
        law[x] = sum > 0.0 ? law[x] / sum : chosen[x] ? 0.0 : 1.0 / (V - n_chosen);
        given_up += fmax(law[x] - reach * target[x], 0.0);
    }
    const bool draws = n_chosen < V;
    for (int y = 0; y < (draws ? V : 1); y++) {
        const double chance = draws ? law[y] : 1.0;
        if (!(chance > 0.0)) continue;
        const double own = draws ? fmin(1.0, reach * target[y] / law[y]) : 0.0;
        double left = 1.0;
        for (int i = 0; i < n_chosen + draws; i++) {
            const bool drawn = draws && i == (p->drawn_last ? n_chosen : 0);
            const int x = drawn ? y : order[i - (draws && !p->drawn_last)];
            const double share = drawn            ? own
                                 : !draws         ? reach * target[x]
                                 : given_up > 0.0 ? (1.0 - own) * reach * target[x] / given_up
                                                  : 0.0;
            if (!(share > 1e-15)) continue;
            text[level] = x;
            const double reached = fmin(1.0, share / left);
            kept += chance * left * (reached + kept_below(p, text, level + 1, reached));
            left -= share;
        }
    }
    return kept;
}

static const struct {
    const char *widths;
    int depth, width[3], most_V;
} shapes[] = {{"3", 1, {3}, 4},      {"2.2", 2, {2, 2}, 3},      {"3.1", 2, {3, 1}, 3},
              {"1.2", 2, {1, 2}, 4}, {"2.1.1", 3, {2, 1, 1}, 2}, {"1.1.1", 3, {1, 1, 1}, 3}};
enum { N_SHAPES = 6, PAIRS = 60 };

static double accepted_by(const table_model *goal, const table_model *draft, const char *rule,
                          int shape, double *ret_tv)
{
    char drafting[64];
    tree_round law;
    snprintf(drafting, sizeof drafting, "tree?widths=%s&siblings=greedy", shapes[shape].widths);
    const spec_decoder_config config =
        tree_round_config(&goal->head, &draft->head, rule, drafting, shapes[shape].depth);
    tree_round_enumerate(&law, &config);
    *ret_tv = tree_round_tv(&law, goal, shapes[shape].depth + 1);
    return law.accepted;
}

/* With one level both orders keep what no rule exceeds; with more levels each is ahead on some
 * pairs. */
TEST(the_law_is_the_targets_and_every_node_gets_its_optimal_share, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const int pairs = (int)spec_test_samples(PAIRS);
    int more = 0, less = 0;
    for (int family = 0; family < PAIR_FAMILIES; family++)
        for (int c = 0; c < pairs; c++) {
            const int shape = c % N_SHAPES,
                      V = 1 + (c / N_SHAPES + shapes[shape].most_V - 1) % shapes[shape].most_V;
            OWNED(table_model) goal, draft;
            table_model_init(&goal, V);
            table_model_init(&draft, V);
            table_pair_randomize(&goal, &draft, (pair_family)family, &noise);
            plan p = {.goal = &goal, .draft = &draft, .depth = shapes[shape].depth};
            memcpy(p.width, shapes[shape].width, sizeof p.width);
            double kept[2], tv;
            int text[3];
            for (int last = 0; last < 2; last++) {
                p.drawn_last = last;
                kept[last] = accepted_by(&goal, &draft, last ? "univer" : "traversal", shape, &tv);
                if (!(tv < 1e-12)) fail_msg("%s V=%d: tv %g", shapes[shape].widths, V, tv);
                assert_within(kept[last], kept_below(&p, text, 0, 1.0), 1e-12);
            }
            const double top_down = accepted_by(&goal, &draft, "token-rest", shape, &tv);
            if (!(kept[1] > top_down - 1e-12))
                fail_msg("%s V=%d: %g, token-rest %g", shapes[shape].widths, V, kept[1], top_down);
            if (p.depth == 1) assert_within(kept[1], top_down, 1e-12);
            more += kept[1] > kept[0] + 1e-9;
            less += kept[1] < kept[0] - 1e-9;
        }
    print_message("of %d pairs, univer keeps more than traversal on %d and less on %d\n",
                  pairs * PAIR_FAMILIES, more, less);
    assert_true(more > 0 && less > 0);
}

/* tests/oracle/tree_optimum.py, "one pair": rational arithmetic over all trees. */
TEST(it_keeps_the_known_numbers_of_tokens)
{
    OWNED(table_model) goal, draft;
    double tv;
    rule_law_pair(&goal, &draft, (const double[]){0.5, 0.3, 0.2}, (const double[]){0.2, 0.5, 0.3},
                  3);
    for (int shape = 0; shape < N_SHAPES; shape++) {
        const bool two = strcmp(shapes[shape].widths, "2.2") == 0;
        if (!two && strcmp(shapes[shape].widths, "2.1.1") != 0) continue;
        assert_within(accepted_by(&goal, &draft, "univer", shape, &tv),
                      two ? 44.0 / 25.0 : 551.0 / 250.0, 1e-14);
        assert_within(accepted_by(&goal, &draft, "traversal", shape, &tv),
                      two ? 44.0 / 25.0 : 2199.0 / 1000.0, 1e-14);
    }
}

/* docs/formulas/newer-rules.md#univer: every share is 1/2. If the draft below is right half of the
 * time, the tokens kept there increase with the reach only up to a reach of 1/2. */
TEST(the_first_in_the_order_gains_where_reach_is_worth_less_and_less)
{
    static const double target[] = {0.5, 0.25, 0.25}, row[] = {0.6, 0.2, 0.2},
                        equal[] = {0.5, 0.25, 0.25}, sure[] = {1.0, 0.0, 0.0};
    for (int after_chosen = 0; after_chosen < 2; after_chosen++) {
        OWNED(table_model) goal, draft;
        double tv;
        rule_law_pair(&goal, &draft, target, row, 3);
        for (int x = 0; x < 3; x++) {
            double *at = goal.row + (table_model_row(&goal, &x, 1) - goal.row);
            memcpy(at, (x == 0) == after_chosen ? sure : equal, sizeof sure);
            at = draft.row + (table_model_row(&draft, &x, 1) - draft.row);
            memcpy(at, equal, sizeof equal);
        }
        tree_round law;
        for (int last = 0; last < 2; last++) {
            const spec_decoder_config config =
                tree_round_config(&goal.head, &draft.head, last ? "univer" : "traversal",
                                  "tree?widths=2.1&siblings=greedy", 2);
            tree_round_enumerate(&law, &config);
            tv = tree_round_tv(&law, &goal, 3);
            assert_true(tv < 1e-14);
            assert_within(law.accepted, last == after_chosen ? 2.0 : 1.75, 1e-14);
        }
    }
}
