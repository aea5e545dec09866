/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every branch of the rules for several siblings, forced by a script, with the probability of each
 * answer computed by hand. After an accepted leaf a token is drawn from the target. */
#include "tests/support/near.h"
#include "tests/support/rule_case.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

static const double target[4] = {0.4, 0.3, 0.2, 0.1}, row[4] = {0.1, 0.2, 0.3, 0.4};

/* Children of the root, `chosen` of them without chance, the rest drawn; one answer per decision,
 * each with its probability. */
typedef struct {
    const char *rule;
    spec_siblings siblings;
    const double *target, *row;
    int vocab, n, chosen;
    int token[4];
    int n_answers, answer[6];
    double asked[6];
    int accepted, emitted; /* n_accepted, and the first token */
} scripted;

static void check(const scripted *c)
{
    rule_case run;
    rule_case_init(&run, c->vocab);
    run.draft.siblings = c->siblings;
    for (int i = 0; i <= c->n; i++) run.target[i] = c->target;
    for (int i = 0; i < c->n; i++)
        spec_draft_append(&run.draft, c->token[i], -1, c->row, i >= c->chosen);
    rule_case_verify(&run, c->rule, c->answer, c->n_answers);
    for (int i = 0; i < c->n_answers; i++) assert_within(run.asked[i], c->asked[i], 1e-12);
    assert_int_equal(run.round.n_accepted, c->accepted);
    assert_int_equal(run.round.n_tested, 1);
    assert_int_equal(run.round.token[0], c->emitted);
    rule_case_free(&run);
}

static void check_all(const scripted *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) check(&cases[i]);
}
#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof *(cases))

static void rrs_tests_each_sibling_against_what_is_left(void **state)
{
    (void)state;
    const scripted cases[] = {
        /* residual: target; (.3, .1, 0, 0)/.4; (.26, .02, 0, 0)/.28; (.232, 0, 0, 0). */
        {"rrs",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         3,
         0,
         {3, 2, 1},
         4,
         {0, 0, 0, 0},
         {0.75, 1.0, 1.0 - 0.02 / 0.28 / 0.2, 1.0},
         0,
         0},
        {"rrs",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         3,
         0,
         {3, 2, 1},
         4,
         {0, 0, 1, 2},
         {0.75, 1.0, 0.02 / 0.28 / 0.2, 0.2},
         1,
         1},
        {"rrs",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 1},
         3,
         {0, 1, 0},
         {0.75, 1.0, 0.4},
         1,
         1},
        {"rrs", SPEC_SIBLINGS_IID, target, row, 4, 2, 0, {3, 1}, 2, {1, 3}, {0.25, 0.1}, 1, 3},
        {"rrs",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 3},
         3,
         {0, 0, 1},
         {0.75, 1.0, 0.02 / 0.28},
         0,
         1}, /* the same again */
        {"rrs",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 3},
         3,
         {0, 0, 0},
         {0.75, 1.0, 0.26 / 0.28},
         0,
         0},
    };
    CHECK_ALL(cases);
}

static void rrsw_judges_siblings_by_what_was_left_of_the_row(void **state)
{
    (void)state;
    static const double example_target[3] = {0.3, 0.4, 0.3}, example_row[3] = {0.6, 0.3, 0.1};
    static const double halves[4] = {0.5, 0.5, 0.0, 0.0}, rising[4] = {0.1, 0.2, 0.3, 0.4};
    const scripted cases[] = {
        /* The example of arXiv:2505.12398 section 2.2. */
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         example_target,
         example_row,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 1, 2},
         {0.5, 4.0 / 9.0, 0.3},
         1,
         1},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         example_target,
         example_row,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 0, 2},
         {0.5, 5.0 / 9.0, 1.0},
         0,
         2},
        /* residual: (.3, .1, 0, 0)/.4, of the row .6; (7/30, 0, 0, 0), of the row .3. */
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         target,
         row,
         4,
         3,
         0,
         {3, 2, 1},
         4,
         {0, 0, 0, 0},
         {0.75, 1.0, 1.0, 1.0},
         0,
         0},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         target,
         row,
         4,
         3,
         0,
         {3, 1, 0},
         3,
         {0, 1, 1},
         {0.75, 0.75, 0.3},
         1,
         1},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         target,
         row,
         4,
         3,
         0,
         {3, 1, 0},
         4,
         {0, 0, 1, 1},
         {0.75, 0.25, 1.0, 0.3},
         1,
         0},
        /* The rest of the row is 0: the others are uniform. residual: (0, 0, .3, .4)/.7, then (0,
         * 0, 0, .05). */
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         rising,
         halves,
         4,
         4,
         0,
         {0, 1, 2, 3},
         4,
         {0, 0, 1, 3},
         {0.8, 1.0, 6.0 / 7.0, 0.4},
         1,
         2},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         rising,
         halves,
         4,
         4,
         0,
         {0, 1, 2, 3},
         5,
         {0, 0, 0, 1, 3},
         {0.8, 1.0, 1.0 / 7.0, 1.0, 0.4},
         1,
         3},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         rising,
         halves,
         4,
         3,
         0,
         {0, 1, 2},
         4,
         {0, 0, 0, 3},
         {0.8, 1.0, 1.0 / 7.0, 1.0},
         0,
         3},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         rising,
         halves,
         4,
         2,
         0,
         {0, 1},
         3,
         {0, 0, 2},
         {0.8, 1.0, 3.0 / 7.0},
         0,
         2},
    };
    CHECK_ALL(cases);
}

static void kseq_tests_all_alike(void **state)
{
    (void)state;
    /* tests/oracle/vectors.py: rho of two and three siblings. */
    static const double example_target[3] = {0.5, 0.3, 0.2}, example_row[3] = {0.2, 0.5, 0.3};
    const double two = 1.456776436283, three = 1.792593028269;
    const scripted cases[] = {
        {"kseq",
         SPEC_SIBLINGS_IID,
         example_target,
         example_row,
         3,
         2,
         0,
         {1, 2},
         2,
         {1, 2},
         {0.6 / two, 0.2},
         1,
         1},
        {"kseq",
         SPEC_SIBLINGS_IID,
         example_target,
         example_row,
         3,
         2,
         0,
         {1, 2},
         3,
         {0, 1, 2},
         {1 - 0.6 / two, 2.0 / 3.0 / two, 0.2},
         1,
         2},
        {"kseq",
         SPEC_SIBLINGS_IID,
         example_target,
         example_row,
         3,
         2,
         0,
         {1, 1},
         3,
         {0, 0, 0},
         {1 - 0.6 / two, 1 - 0.6 / two, 1.0},
         0,
         0},
        {"kseq",
         SPEC_SIBLINGS_IID,
         example_target,
         example_row,
         3,
         3,
         0,
         {2, 2, 0},
         4,
         {0, 0, 1, 0},
         {1 - 2.0 / 3.0 / three, 1 - 2.0 / 3.0 / three, 1.0, 0.5},
         1,
         0},
        /* Equal rows: the first is accepted. */
        {"kseq", SPEC_SIBLINGS_IID, target, target, 4, 2, 0, {2, 1}, 2, {1, 0}, {1.0, 0.4}, 1, 2},
    };
    for (size_t i = 0; i + 1 < sizeof cases / sizeof *cases; i++) check(&cases[i]);

    /* Near rho = 1 the law hardly depends on rho, which is found to 1e-7. */
    rule_case run;
    rule_case_init(&run, 4);
    for (int i = 0; i < 3; i++) run.target[i] = target;
    for (int i = 0; i < 2; i++) spec_draft_append(&run.draft, 2 - i, -1, target, true);
    rule_case_verify(&run, "kseq", cases[4].answer, 2);
    assert_within(run.asked[0], 1.0, 1e-6);
    rule_case_free(&run);

    /* Equal rows whose sum is slightly above 1: the number of misses is never negative. */
    static const double over[2] = {0.5, 0.5 + 5e-10};
    rule_case_init(&run, 2);
    for (int i = 0; i < 3; i++) run.target[i] = over;
    for (int i = 0; i < 2; i++) spec_draft_append(&run.draft, 0, -1, over, true);
    rule_case_verify(&run, "kseq", (const int[]){1, 0}, 2);
    assert_within(run.asked[0], 1.0, 1e-12);
    rule_case_free(&run);

    /* Disjoint rows: nothing is accepted, and the residual is the whole target. */
    static const double left[4] = {0.27, 0.73, 0.0, 0.0}, right[4] = {0.0, 0.0, 0.4, 0.6};
    const scripted disjoint = {"kseq",    SPEC_SIBLINGS_IID, left, right, 4, 2, 0, {2, 3}, 3,
                               {0, 0, 1}, {1.0, 1.0, 0.73},  0,    1};
    check(&disjoint);
}

/* The root of 1 - (1 - beta)^n = rho beta in [1,n], by bisection alone. */
static double least_rho(const double *goal, const double *law, int n, int vocab)
{
    double low = 1.0, high = n;
    for (int i = 0; i < 100; i++) {
        const double rho = 0.5 * (low + high);
        double beta = 0.0;
        for (int x = 0; x < vocab; x++) beta += fmin(goal[x] / rho, law[x]);
        if (1.0 - pow(1.0 - beta, n) > rho * beta)
            low = rho;
        else
            high = rho;
    }
    return high;
}

static void kseq_finds_rho_in_any_vocabulary(void **state)
{
    (void)state;
    enum { V = 300 };
    uint64_t noise = spec_test_seed();
    for (int c = 0; c < 200; c++) {
        const int n = 2 + c % 3, vocab = 2 + (int)(table_uniform(&noise) * (V - 2));
        const double sharpness[] = {0.3 + 3.0 * table_uniform(&noise),
                                    0.3 + 3.0 * table_uniform(&noise)};
        double both[2][V], weight[V], asked[1], sum[2] = {0.0, 0.0};
        for (int i = 0; i < 2; i++) {
            for (int x = 0; x < vocab; x++)
                sum[i] += both[i][x] = pow(-log(table_uniform(&noise)), sharpness[i]);
            for (int x = 0; x < vocab; x++) both[i][x] /= sum[i];
        }
        int least = 0, token[2], node[1];
        for (int x = 0; x < vocab; x++)
            if (both[0][x] / both[1][x] < both[0][least] / both[1][least]) least = x;
        spec_draft draft;
        spec_script script;
        spec_round round = {.token = token, .node = node};
        const double *rows[] = {both[0], both[0], both[0], both[0], both[0]};
        assert_int_equal(spec_draft_init(&draft, n, vocab, NULL), GSL_SUCCESS);
        for (int i = 0; i < n; i++) spec_draft_append(&draft, least, -1, both[1], true);
        spec_script_init(&script, (const int[]){1}, 1, asked);
        spec_verify_kseq.verify(&round, &spec_verify_kseq, &draft, rows, weight, &script.chance);
        assert_near(asked[0],
                    both[0][least] / both[1][least] / least_rho(both[0], both[1], n, vocab), 1e-9);
        spec_draft_free(&draft);
    }
}

/* Rows that agree except for a long tail, in which the guesses climb for more passes than are
 * allowed. Any rho >= 1 is at least the ratio of the head, and n would accept 1/32 of it. */
static void kseq_stays_near_its_rho_where_many_passes_are_needed(void **state)
{
    (void)state;
    enum { V = 17, N = 32 };
    double both[2][V], weight[V], asked[1], tail[2] = {0.0, 0.0};
    int token[2], node[1];
    for (int x = 1; x < V; x++) {
        tail[1] += both[1][x] = ldexp(pow(7.0 / 16.0, x), -21);
        tail[0] += both[0][x] = 27.0 / 32.0 * pow(17.0 / 16.0, x) * both[1][x];
    }
    for (int i = 0; i < 2; i++) both[i][0] = 1.0 - tail[i];
    spec_draft draft;
    spec_script script;
    spec_round round = {.token = token, .node = node};
    const double *rows[N + 1];
    assert_int_equal(spec_draft_init(&draft, N, V, NULL), GSL_SUCCESS);
    for (int i = 0; i <= N; i++) rows[i] = both[0];
    for (int i = 0; i < N; i++) spec_draft_append(&draft, 0, -1, both[1], true);
    spec_script_init(&script, (const int[]){1}, 1, asked);
    spec_verify_kseq.verify(&round, &spec_verify_kseq, &draft, rows, weight, &script.chance);
    assert_in_range((int)(100.0 * asked[0]), 25, 100);
    spec_draft_free(&draft);
}

static void spechub_serves_the_spokes_and_then_the_hub(void **state)
{
    (void)state;
    static const double hubby[4] = {0.2, 0.2, 0.1, 0.5}, ties[4] = {0.3, 0.3, 0.2, 0.2},
                        one[4] = {0.0, 0.0, 0.0, 1.0};
    const scripted cases[] = {
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         row,
         4,
         2,
         0,
         {2, 3},
         2,
         {1, 0},
         {2.0 / 3.0, 0.4},
         1,
         2},
        /* The pairs that begin with the hub use it up: the residual is (target - rest)+ = (7/30, 0,
         * 0, .). */
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         row,
         4,
         2,
         0,
         {2, 3},
         3,
         {0, 0, 0},
         {1.0 / 3.0, 1.0, 1.0},
         0,
         0},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         row,
         4,
         2,
         0,
         {3, 2},
         3,
         {0, 1, 0},
         {1.0, 0.1 / (7.0 / 30.0), 0.4},
         1,
         3},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         row,
         4,
         2,
         0,
         {3, 2},
         3,
         {0, 0, 0},
         {1.0, 1.0 - 3.0 / 7.0, 1.0},
         0,
         0},
        {"spechub", SPEC_SIBLINGS_HUB, target, row, 4, 2, 0, {3, 1}, 2, {1, 0}, {0.75, 0.4}, 1, 1},
        {"spechub", SPEC_SIBLINGS_HUB, target, row, 4, 2, 0, {3, 0}, 2, {1, 0}, {1.0, 0.4}, 1, 0},
        /* Residual of the hub: 1/2 - 1/3, for .2 of pairs that end with it. */
        {"spechub",
         SPEC_SIBLINGS_HUB,
         hubby,
         row,
         4,
         2,
         0,
         {2, 3},
         3,
         {0, 1, 1},
         {2.0 / 3.0, 5.0 / 6.0, 0.2},
         1,
         3},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         hubby,
         row,
         4,
         2,
         0,
         {3, 2},
         3,
         {0, 1, 1},
         {1.0, 1.0, 0.2},
         1,
         3},
        /* Of equals the lowest id is the hub. */
        {"spechub", SPEC_SIBLINGS_HUB, target, ties, 4, 2, 0, {1, 0}, 2, {1, 0}, {1.0, 0.4}, 1, 1},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         ties,
         4,
         2,
         0,
         {0, 1},
         3,
         {0, 1, 0},
         {1.0, 1.0, 0.4},
         1,
         0},
        /* Only the hub: the others are uniform. */
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         one,
         4,
         2,
         0,
         {3, 2},
         2,
         {1, 0},
         {0.2 * 3.0, 0.4},
         1,
         2},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         one,
         4,
         2,
         0,
         {3, 2},
         3,
         {0, 1, 0},
         {0.4, 0.1 / (1.0 / 30.0 + 4.0 / 30.0), 0.4},
         1,
         3},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         target,
         one,
         4,
         2,
         0,
         {3, 2},
         3,
         {0, 0, 0},
         {0.4, 0.4, 1.0},
         0,
         0},
    };
    CHECK_ALL(cases);
}

static void token_rest_judges_the_drawn_one(void **state)
{
    (void)state;
    static const double two[4] = {0.0, 0.0, 0.4, 0.6};
    const scripted cases[] = {
        /* Without 3 and 2, which are chosen, the row is (1/3, 2/3). */
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 1},
         2,
         {1, 0},
         {0.45, 0.4},
         1,
         1},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 1},
         3,
         {0, 2, 0},
         {0.55, 0.2 / (11.0 / 30.0), 0.4},
         1,
         2},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 1},
         2,
         {0, 0},
         {0.55, 2.0 / 11.0},
         0,
         0},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         row,
         4,
         3,
         2,
         {3, 2, 0},
         2,
         {1, 0},
         {1.0, 0.4},
         1,
         0},
        /* Their rest is 0: (1/2, 1/2). */
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         two,
         4,
         3,
         2,
         {3, 2, 0},
         2,
         {1, 1},
         {0.8, 0.3},
         1,
         0},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         target,
         two,
         4,
         3,
         2,
         {3, 2, 0},
         3,
         {0, 3, 1},
         {0.2, 1.0 / 3.0, 0.3},
         1,
         3},
        /* All chosen: the target's own token. */
        {"token-rest",
         SPEC_SIBLINGS_TOP,
         target,
         row,
         4,
         2,
         2,
         {3, 2},
         2,
         {2, 1},
         {0.2, 0.3},
         1,
         2},
        {"token-rest", SPEC_SIBLINGS_TOP, target, row, 4, 2, 2, {3, 2}, 1, {1}, {0.3}, 0, 1},
    };
    CHECK_ALL(cases);
}

static void naive_tree_corrects_into_any_sibling(void **state)
{
    (void)state;
    const scripted cases[] = {
        {"naive-tree",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         2,
         {1, 0},
         {0.25, 0.4},
         1,
         3},
        {"naive-tree",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         3,
         {0, 0, 1},
         {0.75, 0.75, 0.3},
         1,
         0},
        {"naive-tree",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         2,
         {0, 1},
         {0.75, 0.25},
         0,
         1},
        {"naive-tree",
         SPEC_SIBLINGS_TOP,
         target,
         row,
         4,
         2,
         2,
         {3, 2},
         3,
         {0, 2, 0},
         {0.9, 0.2 / 0.9, 0.4},
         1,
         2},
        {"token",
         SPEC_SIBLINGS_IID,
         target,
         row,
         4,
         2,
         0,
         {3, 0},
         2,
         {0, 0},
         {0.75, 0.75},
         0,
         0}, /* the first child alone */
    };
    CHECK_ALL(cases);
}

/* A rejection that only rounding makes possible leaves no residual: then the draw is from the
 * target itself. */
static void where_rounding_leaves_nothing_the_target_is_drawn_from(void **state)
{
    (void)state;
    static const double almost[3] = {0x1.fffffffffffffp-2, 0.5, 0.0}, even[3] = {0.5, 0.5, 0.0};
    static const double hub[3] = {0.25, 0.25, 0.5}, spent[3] = {1.0, 0.0, 0.0};
    static const double nearly[3] = {0.25, 0.375 - 0x1p-54, 0.375};
    const scripted cases[] = {
        {"rrs", SPEC_SIBLINGS_IID, almost, even, 3, 2, 0, {0, 0}, 2, {0, 1}, {0.0, 0.5}, 0, 1},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         almost,
         even,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 0, 1},
         {0.0, 0.5, 0.5},
         1,
         0},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         almost,
         even,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 1, 1},
         {0.0, 0.5, 0.5},
         1,
         1},
        {"rrsw",
         SPEC_SIBLINGS_WITHOUT,
         nearly,
         spent,
         3,
         2,
         0,
         {0, 1},
         3,
         {0, 0, 2},
         {0.75, 0.0, 0.375},
         0,
         2},
        {"spechub",
         SPEC_SIBLINGS_HUB,
         almost,
         hub,
         3,
         2,
         0,
         {2, 0},
         3,
         {0, 0, 1},
         {0.0, 1.0, 0.5},
         0,
         1},
        {"token-rest",
         SPEC_SIBLINGS_GREEDY,
         almost,
         hub,
         3,
         2,
         1,
         {2, 0},
         2,
         {0, 1},
         {0.0, 0.5},
         0,
         1},
    };
    CHECK_ALL(cases);
}

/* Two children with the same token have a child each; the rule follows the first, whatever is below
 * either. */
static void of_two_children_with_one_token_the_first_is_followed(void **state)
{
    (void)state;
    static const char *const rules[] = {"match", "naive-tree", "rrs", "kseq"};
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        rule_case run;
        rule_case_init(&run, 4);
        for (int i = 0; i <= 4; i++) run.target[i] = row; /* equal rows */
        spec_draft_append(&run.draft, 2, -1, row, true);
        spec_draft_append(&run.draft, 2, -1, row, true);
        spec_draft_append(&run.draft, 1, 0, row, true);
        spec_draft_append(&run.draft, 1, 1, row, true);
        const bool matches = r == 0;
        rule_case_verify(&run, rules[r], matches ? (const int[]){2, 1, 3} : (const int[]){1, 1, 3},
                         3);
        assert_int_equal(run.round.n_accepted, 2);
        assert_int_equal(run.round.n_tested, 2);
        assert_int_equal(run.round.node[0], 0);
        assert_int_equal(run.round.node[1], 2);
        rule_case_free(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rrs_tests_each_sibling_against_what_is_left),
        cmocka_unit_test(rrsw_judges_siblings_by_what_was_left_of_the_row),
        cmocka_unit_test(kseq_tests_all_alike),
        cmocka_unit_test(kseq_finds_rho_in_any_vocabulary),
        cmocka_unit_test(kseq_stays_near_its_rho_where_many_passes_are_needed),
        cmocka_unit_test(spechub_serves_the_spokes_and_then_the_hub),
        cmocka_unit_test(token_rest_judges_the_drawn_one),
        cmocka_unit_test(naive_tree_corrects_into_any_sibling),
        cmocka_unit_test(where_rounding_leaves_nothing_the_target_is_drawn_from),
        cmocka_unit_test(of_two_children_with_one_token_the_first_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
