/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/synthetic/perturb.h"

#include "tests/models/open_model.h"
#include "tests/support/support.h"

/* Second route to the overlap: adds it up in long double, term by term. */
static long double overlap_of(const double *a, const double *b, int n)
{
    long double sum = 0.0L;
    for (int i = 0; i < n; i++) sum += a[i] < b[i] ? a[i] : b[i];
    return sum;
}

/* The overlap is alpha to 1e-12 after `context`, for every attainable alpha; other alphas are
 * refused, and the error gives the smallest attainable one. */
static void assert_overlaps(opened *target, const char *keys, const int *context, size_t n)
{
    static const double alphas[] = {1.0,  1.0 - 1e-13, 0.999, 0.8,  0.651, 0.5,
                                    0.27, 0.1,         0.013, 1e-3, 1e-9,  1e-15};
    const int vocab = target->model->vocab;
    const double *target_row = row_after(target, context, n);
    const double least = target_row[spec_row_argmin(target_row, vocab)];
    for (size_t i = 0; i < sizeof alphas / sizeof alphas[0]; i++) {
        char spec[128];
        spec_error error = {""};
        snprintf(spec, sizeof spec, "perturb?of=target&alpha=%.17g%s", alphas[i], keys);
        OWNED(opened) draft = open_model(spec, target->model);
        const double *row = spec_session_row(&draft.session, context, n, draft.scratch, &error);
        if (alphas[i] < least - 1e-13) {
            assert_null(row);
            assert_non_null(strstr(error.text, "the least possible is "));
            assert_true(fabs(strtod(strstr(error.text, "least possible is ") + 18, NULL) - least) <=
                        1e-8 * least);
        } else {
            assert_non_null(row);
            assert_normalised(row, vocab);
            const long double miss = overlap_of(target_row, row, vocab) - (long double)alphas[i];
            if (fabsl(miss) > 1e-12L)
                fail_msg("%s against %s: off by %Lg", spec, target->model->spec, miss);
            if (alphas[i] == 1.0)
                assert_memory_equal(row, target_row, (size_t)vocab * sizeof row[0]);
        }
    }
}

TEST(the_overlap_is_alpha_for_all_kinds_of_targets)
{
    static const char *const targets[] = {
        "probs:1",
        "probs:1,0",
        "probs:0.5,0.5",
        "probs:0.73,0.27",
        "probs:0,0,1,0",
        "probs:0.2,0,0.5,0,0.3",
        "probs:0.999999999,0.000000001",
        "uniform?V=10",
        "uniform?V=1000",
        "zipf?V=50&s=1.1",
        "zipf?V=3000&s=2.385",
        "zipf?V=40&s=30",
        "dirichlet?V=7&concentration=0.05",
        "dirichlet?V=16&concentration=1000",
        "dirichlet?V=9&levels=3&zeros=0.5",
        "markov?V=4&order=2",
        "zipf?V=20&temperature=0",
        "zipf?V=300&top_k=7",
        NULL,
    };
    static const char *const keys[] = {"",           "&seed=27",  "&noise=0", "&noise=0.05",
                                       "&noise=6.5", "&noise=50", NULL};
    for (int t = 0; targets[t] != NULL; t++) {
        OWNED(opened) target = open_model(targets[t], NULL);
        for (int k = 0; keys[k] != NULL; k++) {
            for (int c = 0; c < 3; c++) {
                const int context[3] = {c % target.model->vocab, 0, 0};
                assert_overlaps(&target, keys[k], context, (size_t)c);
            }
        }
    }
}

TEST(the_overlap_is_alpha_at_vocabulary_32000)
{
    OWNED(opened) target = open_model("zipf?V=32000&s=1.05", NULL);
    assert_overlaps(&target, "", NULL, 0);
    assert_overlaps(&target, "&noise=3", NULL, 0);
}

/* min_i target_i is the smallest overlap: at that alpha the draft is the one-hot row, and just
 * below it alpha is refused. */
TEST(the_least_overlap_is_had_and_no_less)
{
    const double target[] = {0.3, 0.27, 0.43};
    double draft[3], reference[3];
    assert_works(spec_perturb_row(draft, target, 3, 0.27, 1.0, 5, reference, &error));
    assert_true(draft[0] == 0.0 && draft[1] == 1.0 && draft[2] == 0.0);
    assert_fails_with(spec_perturb_row(draft, target, 3, 0.27 - 1e-11, 1.0, 5, reference, &error),
                      GSL_EDOM, "0.27");
}

/* Tokens of probability 0 keep it, except the least probable token, at which the path ends. */
TEST(the_draft_is_zero_where_the_target_is)
{
    OWNED(opened) target = open_model("probs:0.4,0,0.35,0,0.25", NULL);
    for (int i = 1; i <= 9; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "perturb?alpha=0.%d&noise=0.7", i);
        OWNED(opened) draft = open_model(spec, target.model);
        const double *row = row_after(&draft, NULL, 0);
        assert_true(row[3] == 0.0);
        if (i == 9) assert_true(row[1] == 0.0);
        if (i == 1) assert_true(row[1] > 0.0);
    }
}

TEST(rows_depend_on_the_context_and_the_seed_alone)
{
    OWNED(opened) target = open_model("dirichlet?V=12&order=2", NULL);
    opened a = open_model("perturb?alpha=0.651&seed=9", target.model),
           b = open_model("perturb?alpha=0.651&seed=9", target.model);
    OWNED(opened) other = open_model("perturb?alpha=0.651&seed=10", target.model);
    assert_int_equal(a.model->order, 2);
    double kept[5][12];
    int context[6] = {3, 1, 4, 1, 5, 9};
    for (size_t n = 2; n <= 6; n++) memcpy(kept[n - 2], row_after(&a, context, n), sizeof kept[0]);
    for (size_t n = 6; n >= 2; n--) {
        assert_memory_equal(kept[n - 2], row_after(&b, context, n), sizeof kept[0]);
        assert_memory_equal(kept[n - 2], row_after(&a, context + n - 2, 2), sizeof kept[0]);
        assert_memory_not_equal(kept[n - 2], row_after(&other, context, n), sizeof kept[0]);
        if (n > 2) assert_memory_not_equal(kept[n - 2], kept[n - 3], sizeof kept[0]);
    }
    opened_free(&a);
    opened_free(&b);
}

/* The draws differ from those of a target with the same seed: the normals must not correlate with
 * the gammas. */
TEST(the_seed_of_the_target_may_be_the_same)
{
    OWNED(opened) target = open_model("dirichlet?V=500&concentration=1&seed=1&order=0", NULL);
    OWNED(opened) draft = open_model("perturb?alpha=0.8&seed=1", target.model);
    const double *t = row_after(&target, NULL, 0), *d = row_after(&draft, NULL, 0);
    double sum_t = 0.0, sum_d = 0.0, sum_tt = 0.0, sum_dd = 0.0, sum_td = 0.0;
    for (int i = 0; i < 500; i++) {
        const double x = log(t[i]), y = log(d[i] / t[i]);
        sum_t += x, sum_d += y, sum_tt += x * x, sum_dd += y * y, sum_td += x * y;
    }
    const double n = 500.0, covariance = sum_td - sum_t * sum_d / n;
    const double r = covariance / sqrt((sum_tt - sum_t * sum_t / n) * (sum_dd - sum_d * sum_d / n));
    assert_true(fabs(r) * sqrt(n) <
                4.9); /* about standard normal, p > 1e-6; shared draws give |r| > 0.3, 6.7 */
}

/* The reference is target * exp(noise * z): the logarithms of reference / target have variance
 * noise^2, which 4000 normals estimate to 2.2 % (one sd); 4.9 sd reject noise off by 6 %. And the
 * draft is on the line between the two. */
TEST(the_reference_is_lognormal_about_the_target)
{
    enum { V = 4000 };
    static double target[V], draft[V], reference[V];
    for (int i = 0; i < V; i++) target[i] = pow(i + 1.0, -0.27);
    spec_row_normalise(target, V);
    assert_int_equal(spec_perturb_row(draft, target, V, 0.8, 0.651, 99, reference, NULL),
                     GSL_SUCCESS);
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < V; i++) {
        const double x = log(reference[i] / target[i]);
        sum += x;
        square += x * x;
    }
    const double variance = square / V - sum / V * (sum / V);
    assert_true(fabs(variance / (0.651 * 0.651) - 1.0) < 4.9 * sqrt(2.0 / V));

    const double w = (draft[0] - target[0]) / (reference[0] - target[0]);
    assert_true(w > 0.0 && w < 1.0);
    for (int i = 0; i < V; i++)
        assert_true(fabs(draft[i] - (target[i] + w * (reference[i] - target[i]))) < 1e-15);
}

TEST(only_a_perfect_draft_of_a_greedy_target_is_one_hot)
{
    opened target = open_model("zipf?V=9&temperature=0", NULL), warm = open_model("zipf?V=9", NULL);
    opened perfect = open_model("perturb?alpha=1", target.model),
           partial = open_model("perturb?alpha=0.8", target.model);
    opened soft = open_model("perturb?alpha=1", warm.model);
    assert_true(perfect.model->one_hot);
    assert_false(partial.model->one_hot);
    assert_false(soft.model->one_hot);
    opened_free(&perfect);
    opened_free(&partial);
    opened_free(&soft);
    opened_free(&target);
    opened_free(&warm);
}

TEST(scoring_a_tree_gives_the_rows_of_its_paths)
{
    OWNED(opened) target = open_model("dirichlet?V=6&order=8&concentration=0.651", NULL);
    OWNED(opened) draft = open_model("perturb?alpha=0.385&noise=2", target.model);
    const int context[] = {5, 4}, token[] = {1, 2, 3, 0, 5}, parent[] = {-1, 0, 0, 2, -1};
    const int path[][5] = {{5, 4},       {5, 4, 1},       {5, 4, 1, 2},
                           {5, 4, 1, 3}, {5, 4, 1, 3, 0}, {5, 4, 5}};
    const size_t length[] = {2, 3, 4, 4, 5, 3};
    double scratch[6 * 6];
    const double *row[6];
    assert_int_equal(spec_session_score(&draft.session,
                                        &(spec_score_request){.context = context,
                                                              .n_context = 2,
                                                              .token = token,
                                                              .opt_parent = parent,
                                                              .n_nodes = 5,
                                                              .ret_row = row,
                                                              .scratch = scratch},
                                        NULL),
                     GSL_SUCCESS);
    for (int i = 0; i < 6; i++)
        assert_memory_equal(row[i], row_after(&draft, path[i], length[i]), 6 * sizeof(double));
}

TEST(hostile_specs_are_refused)
{
    OWNED(opened) target = open_model("uniform?V=5", NULL);
    assert_refused("perturb?alpha=0.8", NULL, "built from a target");
    assert_refused("perturb?alpha=0", target.model, "above 0");
    assert_refused("perturb?alpha=1.0001", target.model, "between 0 and 1");
    assert_refused("perturb?alpha=-0.1", target.model, "between 0 and 1");
    assert_refused("perturb?alpha=nan", target.model, "finite");
    assert_refused("perturb?of=zipf", target.model, "of=zipf is not one of target");
    assert_refused("perturb?noise=51", target.model, "between 0 and 50");
    assert_refused("perturb?alhpa=0.8", target.model, "did you mean 'alpha'");
    assert_refused("perturb:target", target.model, "takes no ':target'");

    /* A chain without rows fails with the error line. */
    OWNED(opened) draft = open_model("perturb?alpha=0.1", target.model);
    spec_error error = {""};
    const int token[] = {1, 2};
    const double *row[3];
    double scratch[15];
    assert_int_not_equal(
        spec_session_score(
            &draft.session,
            &(spec_score_request){.token = token, .n_nodes = 2, .ret_row = row, .scratch = scratch},
            &error),
        GSL_SUCCESS);
    assert_string_equal(
        error.text,
        "perturb: no row overlaps the target's by alpha=0.1 here: the least possible is 0.2");
}
