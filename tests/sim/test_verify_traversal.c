/* Traversal verification: its law is the target's for siblings of every kind, what it keeps is what the paper's own
 * recursion keeps, on chains it is block, and it keeps at least as much as the top-down rules; but not always as much
 * as rrsw. */
#include "sim/rng.h"
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/rule_law.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"
#include "tests/support/tree_round.h"

#include <string.h>

/* ---- scripted ---------------------------------------------------------------------------------------------------- */

static const double even[] = {0.25, 0.25, 0.25, 0.25};

static rule_case tree_of(spec_siblings siblings, const double *target)
{
    rule_case run;
    rule_case_init(&run, 4);
    run.draft.siblings = siblings;
    for (int i = 0; i <= RULE_CASE_NODES; i++) run.target[i] = target;
    return run;
}

/* Force the answers, and compare their probabilities. */
static void check_asked(rule_case *run, const int *answer, const double *asked, int n)
{
    rule_case_verify(run, "traversal", answer, n);
    for (int i = 0; i < n; i++) assert_within(run->asked[i], asked[i], 1e-14);
}

static void check_path(const rule_case *run, const int *node, int n)
{
    assert_int_equal(run->round.n_accepted, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(run->round.node[i], node[i]);
        assert_int_equal(run->round.token[i], run->draft.token[node[i]]);
    }
}

/* [Weng25] section 3: target (.3, .4, .3), draft (.6, .3, .1) everywhere, X1 = a with b and c below it, X2 = b. The
 * first leaf is reached with 2/3; given up, X1 is left with 1/11, and the second leaf is reached with 7/11. */
static void the_papers_tree_is_judged_from_the_leaves_to_the_root(void **state)
{
    (void)state;
    static const double target[] = {0.3, 0.4, 0.3, 0.0}, row[] = {0.6, 0.3, 0.1, 0.0};
    rule_case run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true); /* X1 */
    spec_draft_append(&run.draft, 1, -1, row, true); /* X2 */
    spec_draft_append(&run.draft, 1, 0, row, true);  /* X3 */
    check_asked(&run, (const int[]){0, 1, 2}, (const double[]){1.0 / 3.0, 1.0 / 11.0, 1.0}, 3);
    check_path(&run, (const int[]){0}, 1);
    assert_int_equal(run.round.token[1], 2);

    spec_draft_append(&run.draft, 2, 0, row, true); /* X4 */
    spec_draft_append(&run.draft, 0, 1, row, true); /* X5 */
    check_asked(&run, (const int[]){1, 1}, (const double[]){2.0 / 3.0, 0.4}, 2);
    check_path(&run, (const int[]){0, 2}, 2);
    check_asked(&run, (const int[]){0, 1, 0}, (const double[]){1.0 / 3.0, 7.0 / 11.0, 0.3}, 3);
    check_path(&run, (const int[]){0, 3}, 2);

    /* X4 takes all that X1 had left. Then X2, with 4/9: its leaf with half of it, itself with (4/9 .3 - .1) over
     * that and 5/9. The root: c = 1 + .3/.4 leaves c alone. */
    const double left = 4.0 / 9.0 * 0.3 - 0.1, keep = left / (left + 5.0 / 9.0);
    check_asked(&run, (const int[]){0, 0, 0, 1, 1}, (const double[]){1.0 / 3.0, 4.0 / 11.0, 1.0, 2.0 / 9.0, 0.4}, 5);
    check_path(&run, (const int[]){1, 4}, 2);
    check_asked(&run, (const int[]){0, 0, 0, 0, 1, 2},
                (const double[]){1.0 / 3.0, 4.0 / 11.0, 1.0, 7.0 / 9.0, keep, 1.0}, 6);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 0, 0, 1, 2},
                (const double[]){1.0 / 3.0, 4.0 / 11.0, 1.0, 7.0 / 9.0, 1.0 - keep, 1.0, 1.0}, 7);
    check_path(&run, NULL, 0);
    rule_case_free(&run);
}

/* The second 1 finds nothing left: neither it nor what is below it is asked for, but it takes its part of the rest. */
static void a_twin_of_an_iid_sibling_is_passed_over(void **state)
{
    (void)state;
    static const double target[] = {0.4, 0.3, 0.2, 0.1}, row[] = {0.1, 0.6, 0.1, 0.2};
    rule_case run = tree_of(SPEC_SIBLINGS_IID, target);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 0, 1, row, true);
    spec_draft_append(&run.draft, 0, 0, even, true);
    check_asked(&run, (const int[]){1, 1}, (const double[]){0.8, 0.3}, 2); /* .5 times .4 / .25 */
    check_path(&run, (const int[]){0, 3}, 2);

    /* (.5 target - even)+ is empty; then (target - 1.4 row)+ = (.26, 0, .06, 0). */
    check_asked(&run, (const int[]){0, 0, 1, 0}, (const double[]){0.2, 1.0, 1.0, 0.26 / 0.32}, 4);
    check_path(&run, NULL, 0);
    rule_case_free(&run);
}

static void the_drawn_one_of_greedy_siblings_is_judged_first(void **state)
{
    (void)state;
    static const double target[] = {0.1, 0.2, 0.3, 0.4}, row[] = {0.4, 0.3, 0.2, 0.1};
    rule_case run = tree_of(SPEC_SIBLINGS_GREEDY, target);
    spec_draft_append(&run.draft, 0, -1, row, false);
    spec_draft_append(&run.draft, 1, -1, row, false);
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* The drawn one: .3 / (.2/.3). It leaves the chosen ones theirs, and .4 - .1/.3 of the last token. */
    check_asked(&run, (const int[]){1, 0}, (const double[]){0.45, 0.1}, 2);
    check_path(&run, (const int[]){2}, 1);
    check_asked(&run, (const int[]){0, 1, 0}, (const double[]){0.55, 3.0 / 11.0, 0.1}, 3);
    check_path(&run, (const int[]){0}, 1);
    check_asked(&run, (const int[]){0, 0, 1, 0}, (const double[]){0.55, 8.0 / 11.0, 0.75, 0.1}, 4);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 3}, (const double[]){0.55, 8.0 / 11.0, 0.25, 1.0, 1.0}, 5);
    rule_case_free(&run);
}

static void where_the_chosen_ones_are_all_of_the_row_the_drawn_one_is_even(void **state)
{
    (void)state;
    static const double target[] = {0.1, 0.2, 0.05, 0.65}, row[] = {0.7, 0.3, 0.0, 0.0};
    rule_case run = tree_of(SPEC_SIBLINGS_GREEDY, target);
    spec_draft_append(&run.draft, 0, -1, row, false);
    spec_draft_append(&run.draft, 1, -1, row, false);
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* .05 / (1/2); then .65 - .5 is left of the last. */
    check_asked(&run, (const int[]){0, 1, 1}, (const double[]){0.9, 0.1 / 0.45, 0.2}, 3);
    check_path(&run, (const int[]){0}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 3}, (const double[]){0.9, 0.35 / 0.45, 0.15 / 0.35, 1.0, 1.0}, 5);
    rule_case_free(&run);
}

static void a_row_without_replacement_that_is_used_up_goes_on_evenly(void **state)
{
    (void)state;
    static const double target[] = {0.1, 0.45, 0.1, 0.35}, row[] = {1.0, 0.0, 0.0, 0.0};
    rule_case run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 2, -1, row, true);
    spec_draft_append(&run.draft, 3, -1, row, true);
    /* .1; then .1 of .9, of three: 1/3; then .35 - .3 of .2, of two: 1/2; then .45 - .4 of token 1. */
    check_asked(&run, (const int[]){0, 1, 1}, (const double[]){0.9, 1.0 / 3.0, 0.45}, 3);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 1, 1}, (const double[]){0.9, 2.0 / 3.0, 0.5, 0.45}, 4);
    check_path(&run, (const int[]){2}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 1}, (const double[]){0.9, 2.0 / 3.0, 0.5, 1.0, 1.0}, 5);
    rule_case_free(&run);
}

/* Three siblings, so that what is left of the row counts the younger ones too. */
static void without_replacement_each_is_judged_by_what_its_elders_left_of_the_row(void **state)
{
    (void)state;
    static const double target[] = {0.1, 0.1, 0.35, 0.45}, row[] = {0.4, 0.3, 0.2, 0.1};
    rule_case run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* .25; (0, 0, .15, .35), .5; token 1 has nothing left. c = 1 + .5/.6: (.35 - .3667) is nothing, .45 - .18333. */
    check_asked(&run, (const int[]){0, 1, 3}, (const double[]){0.75, 1.0, 1.0}, 3);
    rule_case_free(&run);

    run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 2, -1, row, true);
    spec_draft_append(&run.draft, 3, -1, row, true);
    /* 1/3; (0, 0, .15, .35), .5, over .7: token 2 with .15 .7 / (.5 .2). */
    check_asked(&run, (const int[]){0, 1, 2}, (const double[]){2.0 / 3.0, 1.0, 0.35}, 3);
    check_path(&run, (const int[]){1}, 1);
    rule_case_free(&run);

    run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 1, -1, row, true);
    spec_draft_append(&run.draft, 0, -1, row, true); /* nothing is left */
    spec_draft_append(&run.draft, 2, -1, row, true);
    /* c = 1 + .5/.7: (.35 - .342857, .45 - .171429); of what is left, .3, token 2 has 2/3. */
    const double c = 1.0 + 0.5 / 0.7, second = 0.35 - 0.2 * c, third = 0.45 - 0.1 * c;
    check_asked(&run, (const int[]){0, 1, 2}, (const double[]){2.0 / 3.0, second * 1.5 / (second + third), 0.35}, 3);
    check_path(&run, (const int[]){2}, 1);
    rule_case_free(&run);
}

/* Whichever came first, the hub is judged last: the argmax, and of equal ones the first. */
static void hub_pairs_are_judged_as_greedy_ones(void **state)
{
    (void)state;
    static const double target[] = {0.2, 0.3, 0.15, 0.35}, row[] = {0.5, 0.1, 0.3, 0.1}, tied[] = {0.3, 0.3, 0.2, 0.2};
    for (int order = 0; order < 2; order++) {
        rule_case run = tree_of(SPEC_SIBLINGS_HUB, target);
        spec_draft_append(&run.draft, order == 0 ? 2 : 0, -1, row, true);
        spec_draft_append(&run.draft, order == 0 ? 0 : 2, -1, row, true);
        /* .15 .5/.3; then .2 of .2 + (.3 - .2) + (.35 - .2). */
        check_asked(&run, (const int[]){1, 0}, (const double[]){0.25, 0.2}, 2);
        check_path(&run, &order, 1);
        check_asked(&run, (const int[]){0, 1, 0}, (const double[]){0.75, 0.2 / 0.45, 0.2}, 3);
        check_path(&run, (const int[]){1 - order}, 1);
        check_asked(&run, (const int[]){0, 0, 1, 1}, (const double[]){0.75, 0.25 / 0.45, 1.0, 0.4}, 4);
        rule_case_free(&run);

        run = tree_of(SPEC_SIBLINGS_HUB, target);
        spec_draft_append(&run.draft, order == 0 ? 1 : 0, -1, tied, true);
        spec_draft_append(&run.draft, order == 0 ? 0 : 1, -1, tied, true);
        check_asked(&run, (const int[]){1, 0}, (const double[]){0.7, 0.2}, 2); /* token 1: .3 .7/.3 */
        check_path(&run, &order, 1);
        rule_case_free(&run);
    }
}

/* Nothing but the target counts, and there may be no row. A text that has ended has no nodes below. */
static void chosen_siblings_take_their_tokens_whole(void **state)
{
    (void)state;
    static const double target[] = {0.2, 0.3, 0.1, 0.4}, after[] = {0.5, 0.1, 0.15, 0.25};
    rule_case run = tree_of(SPEC_SIBLINGS_TOP, target);
    run.target[1] = after;
    spec_draft_append(&run.draft, 1, -1, NULL, false);
    spec_draft_append(&run.draft, 0, -1, NULL, false);
    spec_draft_append(&run.draft, 2, 0, NULL, false);
    spec_draft_append(&run.draft, 3, 0, NULL, false);
    /* Leaves .3 .15, then .3 .25 of what is left of .3 and .7, then node 0 itself. */
    const double leaf = 0.3 * 0.15, second = 0.3 * 0.25, left = 0.3 * 0.6;
    check_asked(&run, (const int[]){1, 3}, (const double[]){leaf, 0.4}, 2);
    check_path(&run, (const int[]){0, 2}, 2);
    check_asked(&run, (const int[]){0, 1, 2}, (const double[]){1.0 - leaf, second / (1.0 - leaf), 0.1}, 3);
    check_path(&run, (const int[]){0, 3}, 2);
    check_asked(&run, (const int[]){0, 0, 1, 0},
                (const double[]){1.0 - leaf, (left + 0.7) / (1.0 - leaf), left / (left + 0.7), 0.5 / 0.6}, 4);
    check_path(&run, (const int[]){0}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 1, 3},
                (const double[]){1.0 - leaf, (left + 0.7) / (1.0 - leaf), 0.7 / (left + 0.7), 0.2 / 0.7, 0.4}, 5);
    check_path(&run, (const int[]){1}, 1);
    check_asked(&run, (const int[]){0, 0, 0, 0, 1, 3},
                (const double[]){1.0 - leaf, (left + 0.7) / (1.0 - leaf), 0.7 / (left + 0.7), 0.5 / 0.7, 1.0, 0.8}, 6);
    rule_case_free(&run);
}

static void an_empty_draft_gives_one_token_of_the_target(void **state)
{
    (void)state;
    rule_case run = tree_of(SPEC_SIBLINGS_IID, even);
    check_asked(&run, (const int[]){1, 2}, (const double[]){1.0, 0.25}, 2);
    check_path(&run, NULL, 0);
    rule_case_free(&run);
}

/* A rest next to nothing makes what is taken infinite, but not of tokens that the row excludes. */
static void a_faint_rest_takes_nothing_from_tokens_outside_of_the_row(void **state)
{
    (void)state;
    static const double target[] = {0.1, 0.1, 0.5, 0.3}, row[] = {1.0, 1e-310, 0.0, 0.0};
    rule_case run = tree_of(SPEC_SIBLINGS_WITHOUT, target);
    spec_draft_append(&run.draft, 0, -1, row, true);
    spec_draft_append(&run.draft, 1, -1, row, true);
    check_asked(&run, (const int[]){0, 0, 1, 2}, (const double[]){0.9, 8.0 / 9.0, 1.0, 0.625}, 4);
    rule_case_free(&run);
}

/* Where the rows are equal but for rounding, a child may be given up and nothing be left. */
static void what_rounding_emptied_is_the_target(void **state)
{
    (void)state;
    static const double less[] = {0.25, 0.25 - 0x1p-54, 0.25, 0.25};
    rule_case run = tree_of(SPEC_SIBLINGS_IID, less);
    run.target[1] = even;
    spec_draft_append(&run.draft, 1, -1, even, true);
    spec_draft_append(&run.draft, 1, -1, even, true);
    rule_case_verify(&run, "traversal", (const int[]){0, 1, 2}, 3);
    assert_true(run.asked[0] < 1e-15);
    assert_within(run.asked[2], 0.25, 1e-15);
    check_path(&run, NULL, 0);
    rule_case_free(&run);
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

/* The rule once more, as the paper has it: a normalised residual and a chance at each node, laws of siblings as rows,
 * and the mean over all drafts. Nothing here is summed up in scalars. */
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

/* What the tokens that are out leave of a row. */
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

/* The law of the k-th sibling that is judged, given the earlier ones; false where there are no more. */
static bool sibling_law(double *ret_law, const paper *p, const double *row, int n, int k, const bool *judged)
{
    const int V = p->goal->head.vocab;
    bool out[PAPER_V] = {false};
    if (p->siblings != SPEC_SIBLINGS_IID && n > V) n = V;
    const bool draws = p->siblings == SPEC_SIBLINGS_HUB || (p->siblings == SPEC_SIBLINGS_GREEDY && n == p->width[0]);
    if (k == n) return false;
    if (p->siblings == SPEC_SIBLINGS_WITHOUT) memcpy(out, judged, sizeof out);
    if (p->siblings <= SPEC_SIBLINGS_WITHOUT) {
        rest_of(ret_law, row, V, out);
        return true;
    }
    if (draws && k == 0) { /* the drawn one, after the n - 1 likeliest */
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

/* The mean kept in children k, k + 1, ..., of a node with this chance and this residual left. */
static double kept_from(const paper *p, int *text, int level, int k, double chance, const double *residual,
                        const bool *judged)
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
            kept += law[x] * (1.0 - reach) * kept_from(p, text, level, k + 1, sum / given_up, next, then);
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

static double accepted_by(const table_model *goal, const table_model *draft, const char *rule, const char *drafting,
                          int depth)
{
    tree_round law;
    const spec_decoder_config config = tree_round_config(&goal->head, &draft->head, rule, drafting, depth);
    tree_round_enumerate(&law, &config);
    return law.accepted;
}

typedef struct {
    double worst_tv, least_gain, greatest_gain;
    int more, rrsw_more;
    double rrsw_greatest;
} survey;

static void check_pair(survey *seen, const table_model *goal, const table_model *draft, spec_siblings siblings,
                       int shape, int which, const char *family)
{
    const int depth = shapes[shape].depth;
    paper p = {.goal = goal, .draft = draft, .siblings = siblings, .depth = depth};
    memcpy(p.width, shapes[shape].width, sizeof p.width);
    int text[3];
    char drafting[64];
    tree_round law;
    snprintf(drafting, sizeof drafting, "tree?widths=%s&siblings=%s", shapes[shape].widths,
             spec_siblings_names[siblings]);
    const spec_decoder_config config = tree_round_config(&goal->head, &draft->head, "traversal", drafting, depth);
    tree_round_enumerate(&law, &config);
    const double tv = tree_round_tv(&law, goal, depth + 1);
    const char *rule = top_down[siblings][which];
    if (!(tv < 1e-12)) fail_msg("%s V=%d %s: tv %g", drafting, goal->head.vocab, family, tv);
    assert_within(law.accepted, kept_below(&p, text, 0, 1.0), 1e-12);
    const double gain = law.accepted - accepted_by(goal, draft, rule, drafting, depth);
    if (!(gain > -1e-12)) fail_msg("%s V=%d %s: %g less than %s", drafting, goal->head.vocab, family, -gain, rule);
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

static void the_law_is_the_targets_and_no_less_is_kept_than_top_down(void **state)
{
    (void)state;
    uint64_t noise = spec_test_seed();
    const int pairs = (int)spec_test_samples(PAIRS);
    for (int siblings = 0; siblings < SPEC_SIBLINGS_KINDS; siblings++) {
        survey seen = {0};
        for (int family = 0; family < PAIR_FAMILIES; family++)
            for (int c = 0; c < pairs; c++) {
                int shape = c % N_SHAPES;
                if (siblings == SPEC_SIBLINGS_HUB && shape == 1) shape = 0;
                const int V = 1 + (c / N_SHAPES + shapes[shape].most_V - 1) % shapes[shape].most_V;
                table_model goal, draft;
                table_model_init(&goal, V);
                table_model_init(&draft, V);
                table_pair_randomize(&goal, &draft, (pair_family)family, &noise);
                check_pair(&seen, &goal, &draft, (spec_siblings)siblings, shape, c / 2 % 4 > 1 ? c % 4 : 0,
                           pair_family_names[family]);
                table_model_free(&goal);
                table_model_free(&draft);
            }
        print_message("%-8s worst tv %.1e; against top-down: least gain %.1e, greatest %.3f, more on %d of %d pairs\n",
                      spec_siblings_names[siblings], seen.worst_tv, seen.least_gain, seen.greatest_gain, seen.more,
                      pairs * PAIR_FAMILIES);
        if (siblings == SPEC_SIBLINGS_WITHOUT)
            print_message("         rrsw keeps more on %d, at most %.1e\n", seen.rrsw_more, seen.rrsw_greatest);
    }
}

/* ---- known answers ----------------------------------------------------------------------------------------------- */

/* Exact values: `python3 multi.py`'s traversal and topdown, in rational arithmetic over all trees, for target (.5, .3,
 * .2) and draft (.2, .5, .3) everywhere. */
static void trees_keep_the_known_numbers_of_tokens(void **state)
{
    (void)state;
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
    table_model goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){0.5, 0.3, 0.2}, (const double[]){0.2, 0.5, 0.3}, 3);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const double expected =
            known[i].kept > 0.0 ? known[i].kept : accepted_by(&goal, &draft, "block", "chain", known[i].K);
        assert_within(accepted_by(&goal, &draft, known[i].rule, known[i].drafting, known[i].K), expected, 1e-12);
    }
    table_model_free(&goal);
    table_model_free(&draft);
}

/* docs/formulas.md#traversal; `python3 multi.py`'s recursions give 153/100 and 9467/6200 for these rows. */
static void rrsw_may_keep_more(void **state)
{
    (void)state;
    table_model goal, draft;
    rule_law_pair(&goal, &draft, (const double[]){0.0, 0.2, 0.5, 0.3}, (const double[]){0.6, 0.2, 0.2, 0.0}, 4);
    double *goal_root = goal.row + (table_model_row(&goal, NULL, 0) - goal.row),
           *draft_root = draft.row + (table_model_row(&draft, NULL, 0) - draft.row);
    memcpy(goal_root, (const double[]){0.9, 0.1, 0.0, 0.0}, 4 * sizeof *goal_root);
    memcpy(draft_root, (const double[]){1.0, 0.0, 0.0, 0.0}, 4 * sizeof *draft_root);
    const char *drafting = "tree?widths=1.2&siblings=without";
    assert_within(accepted_by(&goal, &draft, "rrsw", drafting, 2), 1.53, 1e-13);
    assert_within(accepted_by(&goal, &draft, "traversal", drafting, 2), 9467.0 / 6200.0, 1e-13);
    table_model_free(&goal);
    table_model_free(&draft);
}

/* ---- chains ------------------------------------------------------------------------------------------------------ */

/* From one seed, so that each decision has been asked for with the same numbers, and the same texts come out. */
static void on_chains_it_is_block_decision_by_decision(void **state)
{
    (void)state;
    static const char *const draftings[] = {"chain", "greedy", "lookup", "tree?n=1", "tree?n=1&siblings=hub"};
    enum { ROUNDS = 60, K = 5 };
    const uint64_t seed = spec_test_seed();
    for (int c = 0; c < 5 * 4 * PAIR_FAMILIES; c++) {
        stage s[2];
        spec_decoder decoder[2];
        const int prompt[] = {0, 1, 0};
        for (int i = 0; i < 2; i++) {
            stage_init(&s[i], 2 + c / 5 % 4, (pair_family)(c / 20), seed + (uint64_t)c);
            s[i].config.drafting = draftings[c % 5];
            s[i].config.rule = i == 0 ? "block" : "traversal";
            s[i].config.K = K;
            stage_open_decoder(&decoder[i], &s[i].config);
            assert_int_equal(spec_decoder_reset(&decoder[i], prompt, 3, NULL), GSL_SUCCESS);
        }
        for (int r = 0; r < ROUNDS; r++) {
            for (int i = 0; i < 2; i++)
                assert_int_equal(spec_decoder_round(&decoder[i], &s[i].chance, NULL, NULL), GSL_SUCCESS);
            const spec_round *block = &decoder[0].round, *traversal = &decoder[1].round;
            assert_int_equal(traversal->n_accepted, block->n_accepted);
            assert_int_equal(traversal->n_tested, block->n_tested);
            for (int i = 0; i < block->n_emitted; i++) assert_int_equal(traversal->token[i], block->token[i]);
            for (int i = 0; i < block->n_accepted; i++) assert_int_equal(traversal->node[i], block->node[i]);
        }
        for (int i = 0; i < 2; i++) {
            spec_decoder_free(&decoder[i]);
            stage_free(&s[i]);
        }
    }
}

static void it_claims_to_be_lossless_for_siblings_of_every_kind(void **state)
{
    (void)state;
    const spec_rule *rule;
    assert_int_equal(spec_rule_find(&rule, "traversal", NULL), GSL_SUCCESS);
    assert_int_equal(rule->claim, SPEC_LOSSLESS);
    assert_int_equal(rule->siblings, SPEC_SIBLINGS_ANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_papers_tree_is_judged_from_the_leaves_to_the_root),
        cmocka_unit_test(a_twin_of_an_iid_sibling_is_passed_over),
        cmocka_unit_test(the_drawn_one_of_greedy_siblings_is_judged_first),
        cmocka_unit_test(where_the_chosen_ones_are_all_of_the_row_the_drawn_one_is_even),
        cmocka_unit_test(a_row_without_replacement_that_is_used_up_goes_on_evenly),
        cmocka_unit_test(without_replacement_each_is_judged_by_what_its_elders_left_of_the_row),
        cmocka_unit_test(hub_pairs_are_judged_as_greedy_ones),
        cmocka_unit_test(chosen_siblings_take_their_tokens_whole),
        cmocka_unit_test(an_empty_draft_gives_one_token_of_the_target),
        cmocka_unit_test(a_faint_rest_takes_nothing_from_tokens_outside_of_the_row),
        cmocka_unit_test(what_rounding_emptied_is_the_target),
        cmocka_unit_test(the_law_is_the_targets_and_no_less_is_kept_than_top_down),
        cmocka_unit_test(trees_keep_the_known_numbers_of_tokens),
        cmocka_unit_test(rrsw_may_keep_more),
        cmocka_unit_test(on_chains_it_is_block_decision_by_decision),
        cmocka_unit_test(it_claims_to_be_lossless_for_siblings_of_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
