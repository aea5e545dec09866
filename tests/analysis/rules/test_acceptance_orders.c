/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The proofs of docs/formulas/acceptance.md#orders, step by step: each inequality between two rules
 * is checked with the quantities that its proof uses, on rows with zeros, ties, peaks and disjoint
 * supports. */
#include "analysis/rules/multi_draft.h"
#include "analysis/rules/optimal.h"
#include "analysis/rules/rrsw.h"
#include "tests/support/order_value.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <string.h>

enum { V_MAX = TUPLES_V, N_MAX = 8 };

/* Rounding error of sums of numbers that are at most 1. */
#define SLACK 1e-14

/* Residual sums below this are not divided by, because their rounding error is 1e-16. */
#define FAINT 1e-5

typedef struct {
    int V, n;
    double target[V_MAX], draft[V_MAX];
} pair;

/* Draws every kind of row against every kind; one pair in 23 has equal rows, and one in 29 disjoint
 * ones. */
static pair random_pair(uint64_t i, gsl_rng *rng)
{
    pair p = {.V = 1 + (int)(i % V_MAX), .n = 1 + (int)(i / 5 % N_MAX)};
    tuples_row(p.target, p.V, (int)(i / 40 % 4), rng);
    tuples_row(p.draft, p.V, (int)(i / 160 % 4), rng);
    if (i % 23 == 0) memcpy(p.draft, p.target, sizeof p.draft);
    if (i % 29 == 0 && p.V > 1) {
        p.draft[0] = 1;
        p.target[0] = 0;
        for (int x = 1; x < p.V; x++) {
            p.draft[x] = 0;
            p.target[x] = 1.0 / (p.V - 1);
        }
    }
    return p;
}

static double residual_sum(const pair *p, double c)
{
    double sum = 0;
    for (int x = 0; x < p->V; x++) sum += fmax(0, p->target[x] - c * p->draft[x]);
    return sum;
}

static double of(acceptance *function, const pair *p)
{
    return value(function, p->target, p->draft, p->V, p->n);
}

/* ---- match <= naive-tree --------------------------------------------------------------------- */

TEST(naive_tree_misses_no_token_more_often_than_match, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (uint64_t i = 0; i < spec_test_samples(4000); i++) {
        const pair p = random_pair(i, rng);
        double match = 0, naive = 0;
        for (int x = 0; x < p.V; x++) {
            const double t = p.target[x], d = p.draft[x];
            const double missed[2] = {t * pow(1 - d, p.n), fmax(0, t - d) * pow(1 - d, p.n - 1)};
            assert_true(missed[1] <= missed[0] + 1e-16);
            match += missed[0];
            naive += missed[1];
        }
        assert_within(of(spec_multi_draft_match, &p), 1 - match, SLACK);
        assert_within(of(spec_multi_draft_naive_tree, &p), 1 - naive, SLACK);
    }
}

/* ---- rrs <= kseq ----------------------------------------------------------------------------- */

TEST(the_residuals_of_rrs_are_log_convex_and_fall_no_faster_than_their_ratio, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    int strict = 0, equal = 0;
    for (uint64_t i = 0; i < spec_test_samples(8000); i++) {
        const pair p = random_pair(i, rng);
        double w[N_MAX + 1] = {0}, c = 0, later = 0, earlier = 0;
        double balance = 0, before = 1, power = 1;
        bool rose = false;
        for (int k = 0; k <= p.n; k++) {
            w[k] = k == 0 ? 1 : residual_sum(&p, c);
            if (k > 0) later += w[k];
            if (k < p.n) earlier += w[k];
            if (k < p.n) c += w[k];
        }
        for (int k = 1; k < p.n; k++)
            assert_true(w[k] * w[k] <= w[k - 1] * w[k + 1] + SLACK * w[k - 1]);
        assert_true(w[p.n] >= pow(w[1], p.n) - SLACK);
        const double r = later / earlier;
        assert_true(r >= 0 && r <= 1 + SLACK);
        for (int k = 1; w[p.n] > FAINT && k <= p.n; k++) { /* v_k = w_k / r^k */
            power *= r;
            const double v = w[k] / power;
            balance += power * (v - before);
            /* Decreases, then increases, and never decreases again. */
            assert_true(!rose || v >= before * (1 - 1e-9));
            rose = rose || v > before * (1 + 1e-9);
            before = v;
        }
        assert_within(balance, 0, 1e-9);
        assert_true(w[p.n] >= pow(r, p.n) - SLACK);

        const double rrs = of(spec_multi_draft_rrs, &p), kseq = of(spec_multi_draft_kseq, &p);
        assert_within(rrs, 1 - w[p.n], SLACK);
        /* Returns the probability that kseq accepts by its tests at rho = c. */
        assert_within(1 - pow(1 - (1 - w[p.n]) / c, p.n), 1 - pow(r, p.n), SLACK);
        if (w[p.n] < 1 - 1e-9) assert_true(c <= of(spec_multi_draft_kseq_rho, &p) * (1 + 1e-12));
        assert_true(rrs <= kseq + SLACK);
        if (p.n == 1) assert_within(rrs, kseq, SLACK);
        *(kseq > rrs + 1e-6 ? &strict : &equal) += 1;
    }
    assert_true(strict > 1000 && equal > 1000);
}

/* ---- rrs <= rrsw ----------------------------------------------------------------------------- */

typedef struct {
    const pair *p;
    const double *c_iid; /* (n+1): c_k of iid siblings */
    int drawn[N_MAX];
    double weight, missed; /* sums over tuples of the weights; of weights times residual_sum(c_n) */
    bool faint;
} walk;

static bool is_drawn(const walk *w, int k, int x)
{
    for (int j = 0; j < k; j++)
        if (w->drawn[j] == x) return true;
    return false;
}

/* All k tokens drawn so far were rejected, which has probability weighed * residual_sum(c_k). */
static void walk_from(walk *w, int k, double c, double weighed)
{
    const pair *p = w->p;
    double rest = 0;
    for (int x = 0; x < p->V; x++) rest += is_drawn(w, k, x) ? 0 : p->draft[x];
    const double next = c + residual_sum(p, c) / rest; /* c_{k+1} */
    assert_true(next >= w->c_iid[k + 1] * (1 - 1e-12));
    if (k == p->n - 1) {
        w->weight += weighed;
        w->missed += weighed * residual_sum(p, next);
        return;
    }
    w->faint = w->faint || residual_sum(p, next) < FAINT;
    for (int x = 0; x < p->V && !w->faint; x++) {
        const double law = is_drawn(w, k, x) ? 0 : p->draft[x] / rest,
                     rejected = fmax(0, law - fmax(0, p->target[x] - c * p->draft[x]) /
                                                  residual_sum(p, c));
        if (rejected == 0) continue;
        w->drawn[k] = x;
        walk_from(w, k + 1, next, weighed * rejected * residual_sum(p, c) / residual_sum(p, next));
    }
}

/* This holds if the draft has more tokens than there are siblings; otherwise all of its tokens are
 * drawn, and one is accepted. */
TEST(siblings_without_replacement_leave_less_on_every_path_than_iid_ones, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    int walked = 0, exhausted = 0, strict = 0;
    for (uint64_t i = 0; i < spec_test_samples(8000); i++) {
        const pair p = random_pair(i, rng);
        double c[N_MAX + 1] = {0}, covered = 0;
        int drafted = 0;
        for (int k = 0; k < p.n; k++) c[k + 1] = c[k] + residual_sum(&p, c[k]);
        for (int x = 0; x < p.V; x++) {
            drafted += p.draft[x] > 0;
            covered += p.draft[x] > 0 ? p.target[x] : 0;
        }
        const double rrs = of(spec_multi_draft_rrs, &p), rrsw = of(spec_rrsw_acceptance, &p);
        assert_true(rrs <= rrsw + SLACK);
        strict += rrsw > rrs + 1e-6;
        if (p.n >= drafted) {
            assert_true(rrs <= covered + SLACK && covered <= rrsw + SLACK);
            exhausted++;
        } else {
            walk w = {.p = &p, .c_iid = c};
            walk_from(&w, 0, 0, 1);
            if (w.faint) continue;
            assert_within(w.weight, 1, 1e-9);
            assert_within(w.missed, 1 - rrsw, 1e-9);
            assert_true(w.missed <= residual_sum(&p, c[p.n]) + 1e-9);
            walked++;
        }
    }
    if (walked < 1000 || exhausted < 1000 || strict < 1000)
        fail_msg("%d %d %d", walked, exhausted, strict);
}

/* ---- optimal iid <= optimal without replacement ---------------------------------------------- */

static double all_inside(const tuples *all, int set)
{
    double sum = 0;
    for (int i = 0; i < all->size; i++) {
        bool inside = true;
        for (int k = 0; k < all->n; k++) inside = inside && (set >> all->token[i][k] & 1) == 1;
        if (inside) sum += all->chance[i];
    }
    return sum;
}

TEST(drafts_without_replacement_are_in_a_set_together_less_often_than_iid_ones, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static tuples without;
    for (uint64_t i = 0; i < spec_test_samples(1600); i++) {
        pair p = random_pair(i, rng);
        p.n = 1 + (p.n - 1) % 4;
        tuples_without_replacement(&without, p.draft, p.V, p.n);
        for (int set = 0; set < 1 << p.V; set++) {
            double mass = 0;
            for (int x = 0; x < p.V; x++) mass += (set >> x & 1) == 1 ? p.draft[x] : 0;
            assert_true(all_inside(&without, set) <= pow(mass, p.n) + SLACK);
        }
        assert_true(of(spec_optimal_iid, &p) <= of(spec_optimal_without_replacement, &p) + 1e-13);
    }
}
