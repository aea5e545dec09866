/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks traversal verification: its law is the target's for siblings of every kind. It keeps as
 * much as the paper's own recursion, and at least as much as the top-down rules, but not always as
 * much as rrsw. */
#include "tests/support/near.h"
#include "tests/support/rule_law.h"
#include "tests/support/support.h"
#include "tests/support/tree_round.h"

#include <string.h>

/* ---- what is kept ---------------------------------------------------------------------------- */

/* The rule again, as in the paper: a normalised residual and a probability at each node, laws of
 * siblings as rows, and the mean over all drafts. No sums are replaced by scalars. */
typedef struct {
    const table_model *goal, *draft;
    spec_siblings siblings;
    int width[3], depth;
} paper;

enum { PAPER_V = 4 };

static int likeliest(const double *row, int V, const bool *out)
{
    int best = -1;
    for (int x = 0; x < V; x++)
        if (!out[x] && (best < 0 || row[x] > row[best])) best = x;
    return best;
}

/* Computes the row without some tokens, renormalised. */
static void rest_of(double *ret_law, const double *row, int V, const bool *out)
{
    double sum = 0.0;
    int others = 0;
    for (int x = 0; x < V; x++)
        if (!out[x]) {
            sum += row[x];
            others++;
        }
    for (int x = 0; x < V; x++) ret_law[x] = out[x] ? 0.0 : sum > 0.0 ? row[x] / sum : 1.0 / others;
}

/* Computes the law of the k-th judged sibling, given the earlier ones; false if there is none. */
static bool sibling_law(double *ret_law, const paper *p, const double *row, int n, int k,
                        const bool *judged)
{
    const int V = p->goal->head.vocab;
    bool out[PAPER_V] = {false};
    if (p->siblings != SPEC_SIBLINGS_IID && n > V) n = V;
    const bool draws = p->siblings == SPEC_SIBLINGS_HUB ||
                       (p->siblings == SPEC_SIBLINGS_GREEDY && n == p->width[0]);
    if (k == n) return false;
    if (p->siblings == SPEC_SIBLINGS_WITHOUT) memcpy(out, judged, sizeof out);
    if (p->siblings <= SPEC_SIBLINGS_WITHOUT) {
        rest_of(ret_law, row, V, out);
        return true;
    }
    if (draws && k == 0) { /* the drawn one, after the n - 1 most probable */
        for (int i = 0; i < n - 1; i++) out[likeliest(row, V, out)] = true;
        rest_of(ret_law, row, V, out);
        return true;
    }
    for (int i = draws ? 1 : 0; i < k; i++) out[likeliest(row, V, out)] = true;
    const int chosen = likeliest(row, V, out);
    for (int x = 0; x < V; x++) ret_law[x] = x == chosen ? 1.0 : 0.0;
    return true;
}

static double kept_below(const paper *p, int *text, int level, double reach);

/* Returns the mean number of tokens kept in children k, k + 1, ..., of a node with this probability
 * and this residual. */
static double kept_from(const paper *p, int *text, int level, int k, double chance,
                        const double *residual, const bool *judged)
{
    const int V = p->goal->head.vocab;
    double law[PAPER_V], next[PAPER_V], sum = 0.0, kept = 0.0;
    paper here = *p;
    here.width[0] = p->width[level];
    const double *row = table_model_row(p->draft, text, (size_t)level);
    if (!sibling_law(law, &here, row, p->width[level], k, judged)) return 0.0;
    for (int x = 0; x < V; x++) sum += next[x] = fmax(chance * residual[x] - law[x], 0.0);
    for (int x = 0; x < V; x++) next[x] = sum > 0.0 ? next[x] / sum : 0.0;
    const double given_up = sum + (1.0 - chance);
    for (int x = 0; x < V; x++) {
        if (!(law[x] > 0.0)) continue;
        const double reach = fmin(1.0, chance * residual[x] / law[x]);
        bool then[PAPER_V];
        memcpy(then, judged, sizeof then);
        then[x] = true;
        text[level] = x;
        kept += law[x] * (reach + kept_below(p, text, level + 1, reach));
        if (reach < 1.0 && sum > 0.0)
            kept += law[x] * (1.0 - reach) *
                    kept_from(p, text, level, k + 1, sum / given_up, next, then);
    }
    return kept;
}

static double kept_below(const paper *p, int *text, int level, double reach)
{
    static const bool none[PAPER_V] = {false};
    if (level == p->depth || !(reach > 0.0)) return 0.0;
    return kept_from(p, text, level, 0, reach, table_model_row(p->goal, text, (size_t)level), none);
}

static const struct {
    const char *widths;
    int width[3], depth, most_V;
} shapes[] = {{"2.2", {2, 2}, 2, 3}, {"3.1", {3, 1}, 2, 3}, {"1.2", {1, 2}, 2, 4},
              {"2.1.1", {2, 1, 1}, 3, 2}, {"2.1", {2, 1}, 2, 4}, {"1.1.1", {1, 1, 1}, 3, 3}};
enum { N_SHAPES = 6, PAIRS = 200 };

static const char *const top_down[SPEC_SIBLINGS_KINDS][4] = {
    [SPEC_SIBLINGS_IID] = {"rrs", "naive-tree", "match", "token"},
    [SPEC_SIBLINGS_WITHOUT] = {"token", "token", "token", "token"},
    [SPEC_SIBLINGS_TOP] = {"match", "token-rest", "naive-tree", "token"},
    [SPEC_SIBLINGS_HUB] = {"spechub", "naive-tree", "match", "token"},
    [SPEC_SIBLINGS_GREEDY] = {"token-rest", "naive-tree", "match", "token"},
};

static double accepted_by(const table_model *goal, const table_model *draft, const char *rule,
                          const char *drafting, int depth)
{
    tree_round law;
    const spec_decoder_config config =
        tree_round_config(&goal->head, &draft->head, rule, drafting, depth);
    tree_round_enumerate(&law, &config);
    return law.accepted;
}

typedef struct {
    double worst_tv, least_gain, greatest_gain;
    int more, rrsw_more;
    double rrsw_greatest;
} survey;

static void check_pair(survey *seen, const table_model *goal, const table_model *draft,
                       spec_siblings siblings, int shape, int which, const char *family)
{
    const int depth = shapes[shape].depth;
    paper p = {.goal = goal, .draft = draft, .siblings = siblings, .depth = depth};
    memcpy(p.width, shapes[shape].width, sizeof p.width);
    int text[3];
    char drafting[64];
    tree_round law;
    snprintf(drafting, sizeof drafting, "tree?widths=%s&siblings=%s", shapes[shape].widths,
             spec_siblings_names[siblings]);
    const spec_decoder_config config =
        tree_round_config(&goal->head, &draft->head, "traversal", drafting, depth);
    tree_round_enumerate(&law, &config);
    const double tv = tree_round_tv(&law, goal, depth + 1);
    const char *rule = top_down[siblings][which];
    if (!(tv < 1e-12)) fail_msg("%s V=%d %s: tv %g", drafting, goal->head.vocab, family, tv);
    assert_within(law.accepted, kept_below(&p, text, 0, 1.0), 1e-12);
    const double gain = law.accepted - accepted_by(goal, draft, rule, drafting, depth);
    if (!(gain > -1e-12))
        fail_msg("%s V=%d %s: %g less than %s", drafting, goal->head.vocab, family, -gain, rule);
    if (siblings == SPEC_SIBLINGS_TOP && which < 3) assert_within(gain, 0.0, 1e-12);
    seen->worst_tv = fmax(seen->worst_tv, tv);
    seen->least_gain = fmin(seen->least_gain, gain);
    seen->greatest_gain = fmax(seen->greatest_gain, gain);
    seen->more += gain > 1e-9;
    if (siblings != SPEC_SIBLINGS_WITHOUT) return;
    const double loss = accepted_by(goal, draft, "rrsw", drafting, depth) - law.accepted;
    seen->rrsw_more += loss > 1e-12;
    seen->rrsw_greatest = fmax(seen->rrsw_greatest, loss);
}

TEST(the_law_is_the_targets_and_no_less_is_kept_than_top_down, SLOW | STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const int pairs = (int)spec_test_samples(PAIRS);
    for (int siblings = 0; siblings < SPEC_SIBLINGS_KINDS; siblings++) {
        survey seen = {0};
        if (!(spec_verify_traversal.siblings & SPEC_SIBLINGS_BIT(siblings))) continue;
        for (int family = 0; family < PAIR_FAMILIES; family++)
            for (int c = 0; c < pairs; c++) {
                int shape = c % N_SHAPES;
                if (siblings == SPEC_SIBLINGS_HUB && shape == 1) shape = 0;
                const int V = 1 + (c / N_SHAPES + shapes[shape].most_V - 1) % shapes[shape].most_V;
                OWNED(table_model) goal, draft;
                table_model_init(&goal, V);
                table_model_init(&draft, V);
                table_pair_randomize(&goal, &draft, (pair_family)family, &noise);
                check_pair(&seen, &goal, &draft, (spec_siblings)siblings, shape,
                           c / 2 % 4 > 1 ? c % 4 : 0, pair_family_names[family]);
            }
        print_message("%-8s worst tv %.1e; against top-down: least gain %.1e, greatest %.3f, more "
                      "on %d of %d pairs\n",
                      spec_siblings_names[siblings], seen.worst_tv, seen.least_gain,
                      seen.greatest_gain, seen.more, pairs * PAIR_FAMILIES);
        if (siblings == SPEC_SIBLINGS_WITHOUT)
            print_message("         rrsw keeps more on %d, at most %.1e\n", seen.rrsw_more,
                          seen.rrsw_greatest);
    }
}

/* ---- known answers --------------------------------------------------------------------------- */

/* tests/oracle/multi.py, lines "widths": rational arithmetic over all trees, for target
 * (.5, .3, .2) and draft (.2, .5, .3) everywhere. */
TEST(trees_keep_the_known_numbers_of_tokens)
{
    static const struct {
        const char *rule, *drafting;
        int K;
        double kept;
    } known[] = {
        {"traversal", "tree?widths=2", 1, 0.76},
        {"traversal", "tree?widths=2.2", 2, 1807.0 / 1250.0},
        {"rrs", "tree?widths=2.2", 2, 836.0 / 625.0},
        {"traversal", "tree?widths=3.1", 2, 896.0 / 625.0},
        {"rrs", "tree?widths=3.1", 2, 1717.0 / 1250.0},
        {"traversal", "tree?widths=1.2", 2, 1.34},
        {"traversal", "tree?widths=2.1.1", 3, 1.855},
        {"traversal", "tree?widths=2&siblings=without", 1, 283.0 / 350.0},
        {"traversal", "tree?widths=2.2&siblings=without", 2, 47716.0 / 30625.0},
        {"rrsw", "tree?widths=2.2&siblings=without", 2, 179139.0 / 122500.0},
        {"traversal", "tree?widths=3.1&siblings=without", 2, 1.76},
        {"traversal", "tree?widths=1.2&siblings=without", 2, 2383.0 / 1750.0},
        {"traversal", "tree?widths=2.1.1&siblings=without", 3, 55.0 / 28.0},
        {"traversal", "tree?widths=2&siblings=hub", 1, 0.9},
        {"traversal", "tree?widths=2&siblings=greedy", 1, 0.9},
        {"traversal", "tree?widths=2&siblings=top", 1, 0.5},
        {"traversal", "chain", 3, 0.0}, /* as block */
    };
    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){0.5, 0.3, 0.2}, (const double[]){0.2, 0.5, 0.3},
                  3);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double expected = known[i].kept > 0.0
                                    ? known[i].kept
                                    : accepted_by(&goal, &draft, "block", "chain", known[i].K);
        assert_within(accepted_by(&goal, &draft, known[i].rule, known[i].drafting, known[i].K),
                      expected, 1e-12);
    }
}

/* docs/formulas/rules.md#traversal; tests/oracle/multi.py, "another root": 153/100 and
 * 9467/6200. */
TEST(rrsw_may_keep_more)
{
    OWNED(table_model) goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){0.0, 0.2, 0.5, 0.3},
                  (const double[]){0.6, 0.2, 0.2, 0.0}, 4);
    double *goal_root = goal.row + (table_model_row(&goal, NULL, 0) - goal.row),
           *draft_root = draft.row + (table_model_row(&draft, NULL, 0) - draft.row);
    memcpy(goal_root, (const double[]){0.9, 0.1, 0.0, 0.0}, 4 * sizeof *goal_root);
    memcpy(draft_root, (const double[]){1.0, 0.0, 0.0, 0.0}, 4 * sizeof *draft_root);
    const char *drafting = "tree?widths=1.2&siblings=without";
    assert_within(accepted_by(&goal, &draft, "rrsw", drafting, 2), 1.53, 1e-13);
    assert_within(accepted_by(&goal, &draft, "traversal", drafting, 2), 9467.0 / 6200.0, 1e-13);
}
