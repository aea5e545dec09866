/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks K-SEQ: every branch, forced by a script, and its rho against bisection. */
#include "tests/support/near.h"
#include "tests/support/sibling_case.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

static const double target[4] = {0.4, 0.3, 0.2, 0.1};

TEST(kseq_tests_all_alike)
{
    /* tests/oracle/vectors.py prints the rho of two and three siblings. */
    static const double example_target[3] = {0.5, 0.3, 0.2}, example_row[3] = {0.2, 0.5, 0.3};
    const double two = 1.456776436283, three = 1.792593028269;
    const sibling_case cases[] = {
        {.rule = "kseq", .siblings = SPEC_SIBLINGS_IID, .target = example_target,
         .row = example_row, .vocab = 3, .n = 2, .token = {1, 2}, .n_answers = 2, .answer = {1, 2},
         .asked = {0.6 / two, 0.2}, .accepted = 1, .emitted = 1},
        {.rule = "kseq", .siblings = SPEC_SIBLINGS_IID, .target = example_target,
         .row = example_row, .vocab = 3, .n = 2, .token = {1, 2}, .n_answers = 3,
         .answer = {0, 1, 2}, .asked = {1 - 0.6 / two, 2.0 / 3.0 / two, 0.2}, .accepted = 1,
         .emitted = 2},
        {.rule = "kseq", .siblings = SPEC_SIBLINGS_IID, .target = example_target,
         .row = example_row, .vocab = 3, .n = 2, .token = {1, 1}, .n_answers = 3,
         .answer = {0, 0, 0}, .asked = {1 - 0.6 / two, 1 - 0.6 / two, 1.0}, .accepted = 0,
         .emitted = 0},
        {.rule = "kseq", .siblings = SPEC_SIBLINGS_IID, .target = example_target,
         .row = example_row, .vocab = 3, .n = 3, .token = {2, 2, 0}, .n_answers = 4,
         .answer = {0, 0, 1, 0}, .asked = {1 - 2.0 / 3.0 / three, 1 - 2.0 / 3.0 / three, 1.0, 0.5},
         .accepted = 1, .emitted = 0},
        /* Equal rows: the first is accepted. */
        {.rule = "kseq", .siblings = SPEC_SIBLINGS_IID, .target = target, .row = target, .vocab = 4,
         .n = 2, .token = {2, 1}, .n_answers = 2, .answer = {1, 0}, .asked = {1.0, 0.4},
         .accepted = 1, .emitted = 2},
    };
    sibling_cases_check(cases, sizeof cases / sizeof *cases - 1);

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
    const sibling_case disjoint = {"kseq",    SPEC_SIBLINGS_IID, left, right, 4, 2, 0, {2, 3}, 3,
                               {0, 0, 1}, {1.0, 1.0, 0.73},  0,    1};
    sibling_cases_check(&disjoint, 1);
}

/* Finds the root of 1 - (1 - beta)^n = rho beta in [1,n], by bisection alone. */
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

TEST(kseq_finds_rho_in_any_vocabulary)
{
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
        OWNED(spec_draft) draft;
        spec_script script;
        spec_round round = {.token = token, .node = node};
        const double *rows[] = {both[0], both[0], both[0], both[0], both[0]};
        assert_int_equal(spec_draft_init(&draft, n, vocab, NULL), GSL_SUCCESS);
        for (int i = 0; i < n; i++) spec_draft_append(&draft, least, -1, both[1], true);
        spec_script_init(&script, (const int[]){1}, 1, asked);
        spec_verify_kseq.verify(&round, &spec_verify_kseq, &draft, rows, weight, &script.chance);
        assert_near(asked[0],
                    both[0][least] / both[1][least] / least_rho(both[0], both[1], n, vocab), 1e-9);
    }
}

/* The rows agree except for a long tail, in which the guesses climb for more passes than are
 * allowed. Any rho >= 1 accepts at least the ratio of the head, and n would accept 1/32 of it. */
TEST(kseq_stays_near_its_rho_where_many_passes_are_needed)
{
    enum { V = 17, N = 32 };
    double both[2][V], weight[V], asked[1], tail[2] = {0.0, 0.0};
    int token[2], node[1];
    for (int x = 1; x < V; x++) {
        tail[1] += both[1][x] = ldexp(pow(7.0 / 16.0, x), -21);
        tail[0] += both[0][x] = 27.0 / 32.0 * pow(17.0 / 16.0, x) * both[1][x];
    }
    for (int i = 0; i < 2; i++) both[i][0] = 1.0 - tail[i];
    OWNED(spec_draft) draft;
    spec_script script;
    spec_round round = {.token = token, .node = node};
    const double *rows[N + 1];
    assert_int_equal(spec_draft_init(&draft, N, V, NULL), GSL_SUCCESS);
    for (int i = 0; i <= N; i++) rows[i] = both[0];
    for (int i = 0; i < N; i++) spec_draft_append(&draft, 0, -1, both[1], true);
    spec_script_init(&script, (const int[]){1}, 1, asked);
    spec_verify_kseq.verify(&round, &spec_verify_kseq, &draft, rows, weight, &script.chance);
    assert_in_range((int)(100.0 * asked[0]), 25, 100);
}
