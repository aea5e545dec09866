/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/counter_limits.h"

#include "analysis/capped_geometric.h"
#include "analysis/serving/saturation.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_sf_gamma.h>

static spec_counted_engine plain_engine(void)
{
    return (spec_counted_engine){.decay = 1.0,
                                 .output = 37.0,
                                 .K = 4,
                                 .batch = 3,
                                 .cost = {.step = 0.01,
                                          .token = 2e-4,
                                          .draft_round = 1e-3,
                                          .draft_pass = 7e-4,
                                          .draft_token = 3e-5}};
}

static spec_counter_limits limits(const spec_counted_engine *engine, double alpha)
{
    spec_counter_limits ret;
    assert_int_equal(spec_counter_limits_of(&ret, engine, (const double[]){1.0}, &alpha, 1),
                     GSL_SUCCESS);
    return ret;
}

TEST(without_mixtures_alpha_is_the_chance_of_a_token)
{
    spec_counted_engine engine = plain_engine();
    engine.output = 1e9;
    const spec_counter_limits l = limits(&engine, 0.73);
    assert_near(l.alpha, 0.73, 1e-14);
    assert_near(l.tokens, spec_capped_geometric_mean(0.73, 4), 1e-7);
    assert_near(l.accepted + 1.0, spec_capped_geometric_mean(0.73, 4), 1e-7);
    assert_same(l.drafted, 4.0);
    assert_near(l.passes[3], 0.73 * 0.73 * 0.73, 1e-14);
    assert_near(l.tests[3], 0.73 * 0.73, 1e-14);
    assert_near(l.step, 0.01 + 2e-4 * 3 * 5 + 1e-3 + 7e-4 * 4 + 3e-5 * 12, 1e-14);
    assert_near(l.tokens_per_s, 3 * l.tokens / l.step, 1e-14);
}

TEST(plain_decoding_emits_one_token_per_round)
{
    spec_counted_engine engine = plain_engine();
    engine.K = 0;
    const spec_counter_limits l = limits(&engine, 0.73);
    assert_near(l.tokens, 1.0, 1e-14);
    assert_near(l.rounds, 37.0, 1e-14);
    assert_same(l.drafted, 0.0);
    assert_nan(l.alpha);
    assert_near(l.step, 0.01 + 2e-4 * 3, 1e-14);
}

TEST(long_requests_give_the_harmonic_mean)
{
    static const double share[] = {0.3, 0.7}, alpha[] = {0.31, 0.86};
    spec_counted_engine engine = plain_engine();
    engine.output = 1e9;
    spec_counter_limits l;
    assert_int_equal(spec_counter_limits_of(&l, &engine, share, alpha, 2), GSL_SUCCESS);
    const double mean[] = {spec_capped_geometric_mean(0.31, 4),
                           spec_capped_geometric_mean(0.86, 4)};
    assert_near(l.tokens, spec_saturation_tokens_per_round(share, mean, 2), 1e-7);
}

/* Long requests are requests with another mean, so every count per request is the weighted mean of
 * both kinds. */
TEST(a_share_of_long_requests_adds_their_counts)
{
    spec_counted_engine engine = plain_engine();
    const spec_counter_limits brief = limits(&engine, 0.73);
    engine.output = 410.0;
    const spec_counter_limits lengthy = limits(&engine, 0.73);
    engine.output = 37.0;
    engine.long_share = 0.3;
    engine.long_output = 410.0;
    const spec_counter_limits l = limits(&engine, 0.73);
    assert_near(l.rounds, 0.7 * brief.rounds + 0.3 * lengthy.rounds, 1e-13);
    assert_near(l.tokens * l.rounds, 0.7 * 37.0 + 0.3 * 410.0, 1e-13);
    assert_near(l.alpha, brief.alpha, 1e-13); /* with one alpha, lengths do not matter */
}

TEST(free_tokens_take_no_time)
{
    spec_counted_engine engine = plain_engine();
    engine.free_tokens = 8;
    assert_near(limits(&engine, 0.73).step,
                0.01 + 2e-4 * (3 * 5 - 8) + 1e-3 + 7e-4 * 4 + 3e-5 * 12, 1e-14);
    engine.K = 0;
    assert_same(limits(&engine, 0.73).step, 0.01);
}

/* Second route: iterates over all rounds and drafts of a request. k is the number of tokens that a
 * draft would have accepted if it had not stopped; `seen` and the length of a stopped draft are
 * enumerated. */
enum { ROUNDS = 4000 };
typedef struct {
    double rounds, emitted, drafts[SPEC_COUNTED_K + 1], tests[SPEC_COUNTED_K + 1],
        passes[SPEC_COUNTED_K + 1];
} sums;

static void add_round(sums *s, double *goes_on, const spec_counted_engine *e, int k, double chance)
{
    *goes_on = 0.0;
    s->rounds += chance;
    for (int seen = 0; seen <= 1; seen++)
        for (int cut = 1; cut <= e->K; cut++) {
            const double stops = pow(1.0 - e->stop, cut - 1) * (cut < e->K ? e->stop : 1.0);
            const double part = chance * stops * (seen ? e->sees : 1.0 - e->sees);
            int K = cut;
            if (seen && k < e->K && K > (k > 1 ? k : 1)) K = k > 1 ? k : 1;
            const int n = k < K ? k : K;
            for (int j = 1; j <= K; j++) s->drafts[j] += part;
            for (int j = 1; j <= (n + 1 < K ? n + 1 : K); j++) s->tests[j] += part;
            for (int j = 1; j <= n; j++) s->passes[j] += part;
            for (int t = 0; t <= n; t++) s->emitted += part * pow(1.0 - 1.0 / e->output, t);
            *goes_on +=
                stops * (seen ? e->sees : 1.0 - e->sees) * pow(1.0 - 1.0 / e->output, n + 1);
        }
}

static sums iterate(const spec_counted_engine *e, const double *law)
{
    sums s = {0};
    double chance[SPEC_COUNTED_K + 1];
    for (int k = 0; k <= e->K; k++) chance[k] = law[k];
    for (int round = 0; round < ROUNDS; round++) {
        double next[SPEC_COUNTED_K + 1] = {0}, alive = 0.0;
        for (int k = 0; k <= e->K; k++) {
            double goes_on;
            add_round(&s, &goes_on, e, k, chance[k]);
            next[k] += chance[k] * goes_on * e->stay;
            alive += chance[k] * goes_on * (1.0 - e->stay);
        }
        for (int k = 0; k <= e->K; k++) chance[k] = next[k] + alive * law[k];
    }
    return s;
}

/* E[alpha^j] of Beta(a, c - a) is B(a + j, c - a) / B(a, c - a). */
static void law_of(double *law, const spec_counted_engine *e, double alpha)
{
    const double c = e->over_rounds, a = alpha * c;
    double survival[SPEC_COUNTED_K + 2] = {1.0}, decay = 1.0;
    for (int j = 1; j <= e->K; j++) {
        decay *= pow(e->decay, j - 1);
        survival[j] =
            decay * (c > 0.0 ? gsl_sf_beta(a + j, c - a) / gsl_sf_beta(a, c - a) : pow(alpha, j));
    }
    for (int k = 0; k <= e->K; k++) law[k] = survival[k] - survival[k + 1];
}

TEST(all_limits_are_those_of_the_iteration_over_rounds)
{
    for (int setting = 0; setting < 64; setting++) {
        spec_counted_engine e = plain_engine();
        if (setting & 1) e.over_rounds = 2.7;
        if (setting & 2) e.decay = 0.83;
        if (setting & 4) e.stay = 0.6;
        if (setting & 8) e.stop = 0.23;
        if (setting & 16) e.sees = 0.7;
        if (setting & 32) e.K = 1;
        double law[SPEC_COUNTED_K + 1];
        law_of(law, &e, 0.67);
        const sums s = iterate(&e, law);
        const spec_counter_limits l = limits(&e, 0.67);
        double tested = 0.0, accepted = 0.0, drafted = 0.0;
        assert_near(s.emitted, e.output, 1e-10);
        assert_near(l.rounds, s.rounds, 1e-10);
        assert_near(l.tokens, e.output / s.rounds, 1e-10);
        for (int j = 1; j <= e.K; j++) {
            assert_near(l.drafts[j], s.drafts[j] / s.rounds, 1e-10);
            assert_near(l.tests[j], s.tests[j] / s.rounds, 1e-10);
            assert_near(l.passes[j], s.passes[j] / s.rounds, 1e-10);
            drafted += s.drafts[j] / s.rounds;
            tested += s.tests[j];
            accepted += s.passes[j];
        }
        assert_near(l.drafted, drafted, 1e-10);
        assert_near(l.alpha, accepted / tested, 1e-10);
    }
}

TEST(requests_count_by_their_rounds)
{
    static const double share[] = {0.3, 0.7}, alpha[] = {0.31, 0.86};
    spec_counted_engine engine = plain_engine();
    spec_counter_limits both;
    assert_int_equal(spec_counter_limits_of(&both, &engine, share, alpha, 2), GSL_SUCCESS);
    const spec_counter_limits low = limits(&engine, 0.31), high = limits(&engine, 0.86);
    assert_near(both.rounds, 0.3 * low.rounds + 0.7 * high.rounds, 1e-13);
    const double weight = 0.3 * low.rounds / both.rounds;
    assert_near(both.passes[3], weight * low.passes[3] + (1.0 - weight) * high.passes[3], 1e-13);
}

/* There are two slots, whose drafts have 1 token with probability stop and else 2; so the longest
 * draft has 1 token with probability stop^2. */
TEST(the_longest_draft_of_a_batch_takes_the_passes)
{
    spec_counted_engine engine = plain_engine();
    engine.K = 2;
    engine.batch = 2;
    engine.stop = 0.4;
    engine.cost = (spec_affine_step){.step = 1.0, .draft_pass = 1.0};
    assert_near(limits(&engine, 0.6).step, 1.0 + 1.0 + (1.0 - 0.4 * 0.4), 1e-14);
}

/* The tokens per round at K_other lie between the ends that the counters at K give, for requests of
 * several alphas. */
static void check_shorter(const double *share, const double *alpha, int n, double *ret_bias)
{
    spec_counted_engine engine = plain_engine();
    spec_counter_limits at[8];
    engine.output = 1e8;
    for (int K = 0; K < 8; K++) {
        engine.K = K;
        assert_int_equal(spec_counter_limits_of(&at[K], &engine, share, alpha, n), GSL_SUCCESS);
    }
    for (int K = 1; K < 8; K++)
        for (int other = 0; other < K; other++) {
            double cut = 1.0, low, high;
            for (int j = 1; j <= other; j++) cut += at[K].passes[j];
            spec_counter_limits_shorter(&low, &high, at[K].accepted + 1.0, cut, other);
            assert_true(low <= at[other].tokens + 1e-6);
            assert_true(at[other].tokens <= high + 1e-6);
            if (K == 6 && other == 3) *ret_bias = at[other].tokens / cut - 1.0;
        }
}

TEST(shorter_lengths_are_within_the_ends_of_a_run)
{
    double bias;
    for (int i = 0; i < 200; i++) {
        const double a = fmod(0.618034 * i, 1.0), b = fmod(0.754878 * i, 1.0),
                     c = fmod(0.56984 * i, 1.0), s = fmod(0.3819 * i, 1.0);
        check_shorter((const double[]){0.5 * s, 0.5 - 0.5 * s, 0.5}, (const double[]){a, b, c}, 3,
                      &bias);
    }
    /* both ends are attained */
    check_shorter((const double[]){1.0}, (const double[]){0.71}, 1, &bias);
    assert_within(bias, 0.0, 1e-6);
    spec_counted_engine engine = plain_engine();
    spec_counter_limits six, three;
    static const double share[] = {0.37, 0.63}, alpha[] = {0.0, 1.0};
    double low, high;
    engine.output = 1e8;
    engine.K = 6;
    assert_int_equal(spec_counter_limits_of(&six, &engine, share, alpha, 2), GSL_SUCCESS);
    engine.K = 3;
    assert_int_equal(spec_counter_limits_of(&three, &engine, share, alpha, 2), GSL_SUCCESS);
    spec_counter_limits_shorter(&low, &high, six.accepted + 1.0, 1.0 + 3.0 * six.passes[1], 3);
    assert_near(high, three.tokens, 1e-6);
}

/* A Beta law with standard deviation sqrt(.21/1e9): the second moment differs from alpha^2 by
 * 2.1e-10. */
TEST(a_narrow_law_over_rounds_is_nearly_one_alpha)
{
    spec_counted_engine e = plain_engine();
    const spec_counter_limits one = limits(&e, 0.7);
    e.over_rounds = 1e9;
    const spec_counter_limits narrow = limits(&e, 0.7);
    assert_near(narrow.passes[2], one.passes[2] * (1.0 + 2.1e-10 / 0.49), 1e-13);
    assert_near(narrow.tokens, one.tokens, 1e-9);
}

TEST(edges_are_limits)
{
    spec_counted_engine engine = plain_engine();
    engine.over_rounds = 3.0;
    assert_same(limits(&engine, 0.0).alpha, 0.0);
    assert_near(limits(&engine, 0.0).tokens, 1.0, 1e-14);
    assert_same(limits(&engine, 1.0).alpha, 1.0);
    engine.output = 1.0;
    assert_near(limits(&engine, 0.5).rounds, 1.0, 1e-15);
}

TEST(nothing_is_known_outside_the_domain)
{
    spec_counted_engine engine = plain_engine();
    spec_counter_limits l;
    const double one = 1.0, half = 0.5, above = 1.5;
    assert_int_equal(spec_counter_limits_of(&l, &engine, &one, &above, 1), GSL_EDOM);
    assert_nan(l.tokens);
    assert_nan(l.passes[1]);
    assert_int_equal(spec_counter_limits_of(&l, &engine, &half, &half, 1), GSL_EDOM);
    assert_int_equal(spec_counter_limits_of(&l, &engine, &one, &half, 0), GSL_EDOM);
    engine.decay = NAN;
    assert_int_equal(spec_counter_limits_of(&l, &engine, &one, &half, 1), GSL_EDOM);
    engine = plain_engine();
    engine.K = SPEC_COUNTED_K + 1;
    assert_int_equal(spec_counter_limits_of(&l, &engine, &one, &half, 1), GSL_EDOM);
}
