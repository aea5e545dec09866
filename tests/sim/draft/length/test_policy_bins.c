/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/length/row_score.h"
#include "tests/sim/draft/length/policy_case.h"
#include "tests/support/support.h"

enum { K = 5, ROUNDS = 600 };

TEST(scores_are_log_odds_within_their_limits)
{
    int token;
    assert_near(spec_row_score(&token, (const double[]){0.2, 0.7, 0.1}, 3), log(0.7 / 0.3), 1e-14);
    assert_int_equal(token, 1);
    assert_same(spec_row_score(&token, NULL, 3), 40.0);
    assert_int_equal(token, -1);
    assert_same(spec_row_score_of(1.0), 40.0);
    assert_same(spec_row_score_of(0.0), -40.0);
    assert_same(spec_row_score_of(0.5), 0.0);
}

/* All labels so far with their ages, counted again each time. */
typedef struct {
    double score[ROUNDS * (K + 1)];
    bool accepted[ROUNDS * (K + 1)];
    int round[ROUNDS * (K + 1)], n;
} labels;

typedef struct {
    double confidence, width, decay, least, burn;
} law;

/* Returns the tested and accepted counts of the bin with this index, before round `now`. */
static void counts(double ret[2], const labels *all, const law *by, int index, int now)
{
    ret[0] = ret[1] = 0.0;
    for (int i = 0; i < all->n; i++) {
        if ((int)floor(all->score[i] / by->width) != index) continue;
        const double weight = pow(by->decay, now - all->round[i]);
        ret[0] += weight;
        if (all->accepted[i]) ret[1] += weight;
    }
}

static double total(const labels *all, const law *by, int now)
{
    double sum = 0.0;
    for (int i = 0; i < all->n; i++) sum += pow(by->decay, now - all->round[i]);
    return sum;
}

static double edge_of(const labels *all, const law *by, int now)
{
    bool any = false;
    double edge = INFINITY;
    if (total(all, by, now) < by->burn) return -INFINITY;
    for (int index = 100; index >= -100; index--) {
        double n[2];
        counts(n, all, by, index, now);
        if (n[0] < by->least) continue;
        any = true;
        if (n[1] / n[0] < by->confidence) break;
        edge = index * by->width;
    }
    return any ? edge : -INFINITY;
}

static double estimate_of(const labels *all, const law *by, double score, int now)
{
    const int at = (int)floor(score / by->width);
    if (total(all, by, now) < by->burn) return 1.0;
    for (int step = 0; step <= 400; step++) { /* at, below, then above */
        const int index = step <= 200 ? at - step : at + step - 200;
        double n[2];
        counts(n, all, by, index, now);
        if (n[0] >= by->least) return n[1] / n[0];
    }
    return 1.0;
}

/* Returns how many tokens the naive counts would draft. */
static int naive_length(const labels *all, const law *by, const policy_case *c, bool product,
                        int now)
{
    double reach = 1.0;
    const double edge = edge_of(all, by, now);
    for (int i = 0; i < K; i++) {
        const double score = spec_row_score(NULL, c->row[i], CASE_VOCAB);
        if (!product && score < edge) return i;
        reach *= product ? estimate_of(all, by, score, now) : 1.0;
        if (product && reach < by->confidence) return i + 1;
    }
    return K;
}

static void add_label(labels *all, double score, bool accepted, int now)
{
    all->score[all->n] = score;
    all->accepted[all->n] = accepted;
    all->round[all->n++] = now;
}

/* Checks lengths by all labels so far. The token after a fully accepted draft labels the first
 * position that was cut. */
static void lengths_follow_a_recount(const char *spec, const law *by, bool product)
{
    static labels all;
    policy_case c = case_of(spec, K);
    int short_drafts = 0;
    all.n = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t key = spec_noise_mix(7919 * 42 + (uint64_t)round);
        int token[K + 1], n = 0;
        case_rows(&c, token, key, K + 1);
        const int length = case_draft(&c, token);
        assert_int_equal(length, naive_length(&all, by, &c, product, round));
        short_drafts += length < K;
        while (n < length && case_uniform(key, 50 + (uint64_t)n) < 0.1 + 0.85 * c.row[n][token[n]])
            n++;
        const int last =
            n < length ? (token[n] + 1) % CASE_VOCAB : (int)(CASE_VOCAB * case_uniform(key, 99));
        for (int i = 0; i <= n && i < K; i++) {
            int peak;
            const double score = spec_row_score(&peak, c.row[i], CASE_VOCAB);
            if (i < length || (i == length && !product))
                add_label(&all, score, i < n || (i == length && peak == last), round);
        }
        case_see(&c, n, last);
    }
    assert_true(short_drafts > ROUNDS / 20 && short_drafts < ROUNDS);
    case_free(&c);
}

TEST(lengths_follow_a_recount_of_all_labels)
{
    lengths_follow_a_recount("bins", &(law){0.4, 1.0, 0.995, 8.0, 64.0}, false);
    lengths_follow_a_recount("bins?cut=product", &(law){0.4, 1.0, 0.995, 8.0, 64.0}, true);
    lengths_follow_a_recount("bins?confidence=0.6&width=0.4&decay=0.9&least=2&burn=5",
                             &(law){0.6, 0.4, 0.9, 2.0, 5.0}, false);
    lengths_follow_a_recount("bins?confidence=0.3&width=2&decay=1&least=1&burn=0&cut=product",
                             &(law){0.3, 2.0, 1.0, 1.0, 0.0}, true);
}

TEST(a_new_text_begins_with_whole_drafts)
{
    policy_case c = case_of("bins?confidence=0.9&burn=4&least=1", 2);
    static const int token[] = {0, 0};
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < CASE_VOCAB; x++) c.row[i][x] = x == 0 ? 0.4 : 0.2;
    for (int round = 0; round < 8; round++) {
        assert_int_equal(case_draft(&c, token), round < 5 ? 2 : 0);
        case_see(&c, 0, 1);
    }
    spec_policy_reset(&c.policy);
    assert_int_equal(case_draft(&c, token), 2);
    case_free(&c);
}
