/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the certificates with all drafts of a grid that has the best one. */
#include "analysis/rules/certificate.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

/* Targets are in sixths. The best drafts have targets and means of up to four of them, so they are
 * in 72nds. */
enum { V = 4, PARTS = 6, FINE = 72 };

static double divergence(const int *target, const int *draft)
{
    double sum = 0.0;
    for (int x = 0; x < V; x++) {
        if (target[x] == 0) continue;
        if (draft[x] == 0) return INFINITY;
        const double t = target[x] / (double)PARTS;
        sum += t * log(t * FINE / draft[x]);
    }
    return sum;
}

static int first_of(const int *target)
{
    int first = 0;
    for (int x = 1; x < V; x++)
        if (target[x] > target[first]) first = x;
    return first;
}

/* Lowers what is least over the drafts in which each token is the most probable one, and over those
 * in which m + 1 tokens are at least as probable as the target's argmax, for m = 0, 1, 2. */
static void visit(double *token, double *top, const int *target, const int *draft)
{
    const double here = divergence(target, draft);
    const int first = first_of(target);
    int others = 0;
    for (int y = 0; y < V; y++) {
        bool most = true;
        for (int x = 0; x < V; x++) most = most && draft[x] <= draft[y];
        if (most) token[y] = fmin(token[y], here);
        if (y != first && draft[y] >= draft[first]) {
            top[others] = fmin(top[others], here);
            others++;
        }
    }
}

TEST(no_draft_is_rejected_closer_than_its_certificate)
{
    for (int a = 0; a <= PARTS; a++)
        for (int b = 0; a + b <= PARTS; b++)
            for (int c = 0; a + b + c <= PARTS; c++) {
                const int target[V] = {a, b, c, PARTS - a - b - c};
                double row[V], token[V], top[V];
                for (int x = 0; x < V; x++) {
                    row[x] = target[x] / (double)PARTS;
                    token[x] = top[x] = INFINITY;
                }
                for (int i = 0; i <= FINE; i++)
                    for (int j = 0; i + j <= FINE; j++)
                        for (int k = 0; i + j + k <= FINE; k++)
                            visit(token, top, target, (const int[V]){i, j, k, FINE - i - j - k});
                for (size_t x = 0; x < V; x++)
                    assert_within(spec_certificate_token(row, V, x), token[x], 1e-14);
                for (size_t m = 1; m < V; m++)
                    assert_within(spec_certificate_top(row, V, m), top[m - 1], 1e-14);
                assert_same(spec_certificate_top(row, V, V), INFINITY);
            }
}

/* On a grid of targets with each margin, and at the target that attains it. */
TEST(the_margin_alone_gives_the_least_certificate)
{
    enum { N = 40 };
    for (size_t m = 1; m < V; m++)
        for (int gap = 0; gap <= N; gap += 4) {
            const double margin = gap / (double)N, bound = spec_certificate_margin(margin, m);
            for (int a = gap; a <= N; a++)
                for (int c = 0; c <= a - gap; c++) {
                    const int left = N - 2 * a + gap - c;
                    if (left < 0 || left > c) continue;
                    const double row[V] = {a / (double)N, (a - gap) / (double)N, c / (double)N,
                                           left / (double)N};
                    assert_true(spec_certificate_top(row, V, m) >= bound - 1e-15);
                    assert_true(spec_certificate_token(row, V, 1) >=
                                spec_certificate_margin(margin, 1) - 1e-15);
                }
            double row[V] = {(1.0 + (double)m * margin) / ((double)m + 1.0)};
            for (size_t x = 1; x <= m; x++) row[x] = (1.0 - margin) / ((double)m + 1.0);
            assert_within(spec_certificate_top(row, V, m), bound, 1e-15);
        }
}

/* On all targets in fortieths, and near the least one for a small margin: the tokens between are
 * as probable as the first and the last on average. */
TEST(the_margin_beyond_the_drafts_bounds_the_certificate)
{
    enum { N = 40 };
    for (size_t m = 1; m < V; m++) {
        for (int a = 0; a <= N; a++)
            for (int b = 0; b <= a && a + b <= N; b++)
                for (int c = 0; c <= b && a + b + c <= N; c++) {
                    const double row[V] = {a / (double)N, b / (double)N, c / (double)N,
                                           (N - a - b - c) / (double)N};
                    if (row[3] > row[2]) continue;
                    const double margins = spec_certificate_margins(row, V, m);
                    assert_true(spec_certificate_top(row, V, m) >= margins - 1e-15);
                    assert_same(margins, fmax(spec_certificate_margin(row[0] - row[1], m),
                                              spec_certificate_margin_beyond(row[0] - row[m], m)));
                }
        const double margin = 0.02, mean = 1.0 / ((double)m + 1.0);
        double row[V] = {mean + 0.5 * margin, mean, mean, 0.0};
        row[m] = mean - 0.5 * margin;
        for (size_t x = m + 1; x < V; x++) row[x] = 0.0;
        const double least = spec_certificate_top(row, V, m);
        assert_near(least, 0.25 * ((double)m + 1.0) * margin * margin, 1e-3);
        assert_near(spec_certificate_margin_beyond(margin, m), least, 0.03);
    }
    assert_within(spec_certificate_margin_beyond(1.0, 3), log(2.0), 1e-15);
    assert_same(spec_certificate_margin_beyond(0.0, 2), 0.0);
    assert_nan(spec_certificate_margin_beyond(-0.1, 2));
    assert_nan(spec_certificate_margin_beyond(1.1, 2));
}

TEST(edges_and_outside)
{
    static const double sure[V] = {1.0, 0.0, 0.0, 0.0}, even[V] = {0.25, 0.25, 0.25, 0.25};
    for (size_t m = 1; m < V; m++) {
        assert_within(spec_certificate_top(sure, V, m), log((double)m + 1.0), 1e-15);
        assert_within(spec_certificate_margin(1.0, m), log((double)m + 1.0), 1e-15);
        assert_same(spec_certificate_top(even, V, m), 0.0);
        assert_near(spec_certificate_margin(1e-3, m), 0.5e-6 * (double)m, 3e-3);
    }
    assert_same(spec_certificate_margins(even, V, V), INFINITY);
    static const double broken[V] = {0.5, NAN, 0.25, 0.25};
    assert_nan(spec_certificate_top(broken, V, 2));
    assert_nan(spec_certificate_margins(broken, V, 2));
    assert_nan(spec_certificate_token(broken, V, 3));
    assert_same(spec_certificate_margin(0.0, 1), 0.0);
    assert_nan(spec_certificate_margin(-0.1, 1));
    assert_nan(spec_certificate_margin(1.1, 1));
    assert_nan(spec_certificate_margin(NAN, 1));
    assert_nan(spec_certificate_margin(0.5, 0));
}
