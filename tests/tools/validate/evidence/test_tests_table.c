/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the table of tests: under the null, p-values are uniform and capitals have mean 1; and
 * each test finds its mistake. */
#include "tests/support/support.h"
#include "tests/tools/validate/evidence_stand.h"

#include "analysis/statistics/goodness.h"

#include <gsl/gsl_sort.h>

static uint64_t seed; /* seed of the whole program */

/* 400 small runs of exact tokens. A mean that is off by a tenth of the standard deviation of a run
 * would show. */
TEST(under_the_null_p_values_are_uniform_and_capitals_have_mean_one, STATISTICS)
{
    enum { RUNS = 400, BATCHES = 4, N = 256 };
    static double p[SPEC_TESTS_MAX][RUNS], e[SPEC_TESTS_MAX][RUNS];
    spec_finding finding[SPEC_TESTS_MAX];
    int n = 0;
    bool uniform[SPEC_TESTS_MAX] = {false};
    for (int r = 0; r < RUNS; r++) {
        OWNED(stand) s;
        open_stand(&s, "plain-4", SPEC_SCOPE_VERIFY);
        for (uint64_t b = 0; b < BATCHES; b++) {
            ask(&s, N, (uint64_t)r * BATCHES + b + seed);
            for (int i = 0; i < N; i++)
                emit(&s, i, at_share(law_of(&s, root(&s, i)), 4, gsl_rng_uniform(s.rng)));
            take(&s, N, b);
        }
        n = spec_evidence_findings(finding, s.evidence);
        for (int k = 0; k < n; k++) {
            p[k][r] = finding[k].p;
            e[k][r] = exp(finding[k].log_e);
            uniform[k] = finding[k].df != 0.0;
        }
    }
    for (int k = 0; k < n; k++) {
        double d, of_d, sum = 0.0, squares = 0.0;
        for (int r = 0; r < RUNS; r++) sum += e[k][r];
        for (int r = 0; r < RUNS; r++) squares += (e[k][r] - sum / RUNS) * (e[k][r] - sum / RUNS);
        const double error = sqrt(squares) / RUNS;
        gsl_sort(p[k], 1, RUNS);
        spec_goodness_ks_uniform(&d, &of_d, p[k], RUNS);
        if (uniform[k] && of_d < SPEC_TEST_P)
            fail_msg("%s: p-values are off by %g", finding[k].name, d);
        if (sum / RUNS > 1.0 + 6.0 * error)
            fail_msg("%s: mean capital %g", finding[k].name, sum / RUNS);
    }
}

TEST(without_tokens_there_is_no_evidence)
{
    spec_finding finding[SPEC_TESTS_MAX];
    OWNED(stand) s;
    open_stand(&s, "plain-4", SPEC_SCOPE_VERIFY);
    const int n = spec_evidence_findings(finding, s.evidence);
    for (int k = 0; k < n; k++)
        if (finding[k].statistic > 0.0 || finding[k].log_e > 1e-9)
            fail_msg("%s: statistic %g, log e %g", finding[k].name, finding[k].statistic,
                     finding[k].log_e);
}

/* ---- the mistake of each test ---------------------------------------------------------------- */

typedef int planted(const stand *s, int i, double share, double u);

static int exact(const stand *s, int i, double u)
{
    return at_share(law_of(s, root(s, i)), s->fixture.vocab, u);
}

static int as_drafted(const stand *s, int i, double share, double u)
{
    return share < 0.2 ? drafted_by(s, i) : exact(s, i, u);
}

static int more_of_the_residual(const stand *s, int i, double share, double u)
{
    const double *draft = s->fixture.draft_law + (size_t)root(s, i) * (size_t)s->fixture.vocab;
    return share < 0.2 ? best_of(s, i, draft) : exact(s, i, u);
}

static int more_of_the_mode(const stand *s, int i, double share, double u)
{
    return share < 0.2 ? best_of(s, i, NULL) : exact(s, i, u);
}

static int wrong_in_one_state(const stand *s, int i, double share, double u)
{
    return root(s, i) == 0 && share < 0.2 ? 0 : exact(s, i, u);
}

static int first_token(const stand *s, int i, double share, double u)
{
    return share < 0.1 ? 0 : exact(s, i, u);
}

static int last_token(const stand *s, int i, double share, double u)
{
    return share < 0.1 ? s->fixture.vocab - 1 : exact(s, i, u);
}

static int without_tail(const stand *s, int i, double share, double u)
{
    const uint8_t *set = s->evidence->laws->set + (size_t)root(s, i) * (size_t)s->fixture.vocab;
    const int token = exact(s, i, u);
    return set[token] >> SPEC_SET_TAIL & 1 ? exact(s, i, share) : token;
}

static int lower_id(const stand *s, int i, double share, double u)
{
    const int one = exact(s, i, u), other = exact(s, i, share);
    return share < 0.3 && other < one ? other : one;
}

static int more_probable(const stand *s, int i, double share, double u)
{
    const int one = exact(s, i, u), other = exact(s, i, fmod(share * 16.0, 1.0));
    const double *law = law_of(s, root(s, i));
    return share < 0.3 && law[other] > law[one] ? other : one;
}

static int at_the_opening(const stand *s, int i, double share, double u)
{
    (void)share;
    return i % s->fixture.batch == 0 ? best_of(s, i, NULL) : exact(s, i, u);
}

static int at_the_close(const stand *s, int i, double share, double u)
{
    (void)share;
    return i % s->fixture.batch == s->fixture.batch - 1 ? best_of(s, i, NULL) : exact(s, i, u);
}

static int as_before(const stand *s, int i, double share, double u)
{
    const int before = i > 0 ? s->batch.emitted[(size_t)(i - 1) * (size_t)(s->batch.nodes + 1)] : 0;
    return i > 0 && share < 0.2 ? before : exact(s, i, u);
}

static int as_the_neighbour_drafted(const stand *s, int i, double share, double u)
{
    return i > 0 && share < 0.2 ? drafted_by(s, i - 1) : exact(s, i, u);
}

static int as_the_next_drafted(const stand *s, int i, double share, double u)
{
    return i < ROUNDS - 1 && share < 0.2 ? drafted_by(s, i + 1) : exact(s, i, u);
}

/* Repeats u of the previous round, or of the round sixteen before. */
static double coin_of(const stand *s, int i)
{
    return s->batch.coin != NULL ? s->batch.coin[i] : 0.0;
}

static int same_coin(const stand *s, int i, double share, double u)
{
    (void)share;
    (void)u;
    return exact(s, i, coin_of(s, i - i % 2));
}

static int mirrored_coin(const stand *s, int i, double share, double u)
{
    (void)share;
    (void)u;
    const double coin = coin_of(s, i - i % 2);
    return exact(s, i, i % 2 == 0 ? coin : 1.0 - coin);
}

static int coin_of_the_offset(const stand *s, int i, double share, double u)
{
    (void)share;
    (void)u;
    return exact(s, i, coin_of(s, i % 32 < 16 ? i : i - 16));
}

static int coin_of_the_half_call(const stand *s, int i, double share, double u)
{
    const int half = s->fixture.batch / 2;
    (void)share;
    (void)u;
    return exact(s, i, coin_of(s, i % s->fixture.batch < half ? i : i - half));
}

static int a_few_tokens_more(const stand *s, int i, double share, double u)
{
    const double *law = law_of(s, root(s, i));
    const int wanted = (int)(share * 3000.0) % 100 * 9 % s->fixture.vocab;
    return share < 0.1 && law[wanted] > 0.0 ? wanted : exact(s, i, u);
}

TEST(each_test_finds_what_it_is_made_for, STATISTICS)
{
    static const struct {
        const char *test, *fixture;
        planted *answer;
    } cases[] = {
        {"counts", "plain-4", as_drafted},
        {"state", "plain-4", wrong_in_one_state},
        {"again", "vocab-1000", a_few_tokens_more},
        {"draft-more", "plain-4", as_drafted},
        {"kept", "plain-4", as_drafted},
        {"tilt", "plain-4", as_drafted},
        {"target-more", "plain-4", more_of_the_residual},
        {"target-mode", "plain-4", more_of_the_mode},
        {"draft-mode", "plain-4", as_drafted},
        {"first-token", "zipf-16", first_token},
        {"last-token", "zipf-16", last_token},
        {"tail", "light-tail-32", without_tail},
        {"pit-id", "vocab-1000", lower_id},
        {"pit-rank", "vocab-1000", more_probable},
        {"opener", "batch-3", at_the_opening},
        {"closer", "batch-3", at_the_close},
        {"echo", "plain-4", as_before},
        {"neighbour", "plain-4", as_the_neighbour_drafted},
        {"follower", "plain-4", as_the_next_drafted},
        {"coins", "plain-4", same_coin},
        {"mirror", "plain-4", mirrored_coin},
        {"seeds", "plain-4", coin_of_the_offset},
        {"seeds", "plain-4", coin_of_the_half_call},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        OWNED(stand) s;
        spec_finding finding[SPEC_TESTS_MAX];
        static float coin[ROUNDS];
        open_stand(&s, cases[c].fixture, SPEC_SCOPE_VERIFY);
        for (uint64_t b = 0; b < 24; b++) {
            ask(&s, ROUNDS, b);
            s.batch.coin = coin;
            for (int i = 0; i < ROUNDS; i++) coin[i] = (float)gsl_rng_uniform(s.rng);
            for (int i = 0; i < ROUNDS; i++) {
                const double share = gsl_rng_uniform(s.rng), u = gsl_rng_uniform(s.rng);
                emit(&s, i, cases[c].answer(&s, i, share, u));
            }
            s.batch.coin = NULL;
            take(&s, ROUNDS, b);
        }
        assert_null(spec_evidence_hard(s.evidence));
        const int n = spec_evidence_findings(finding, s.evidence);
        const spec_finding *found = finding_of(finding, n, cases[c].test);
        if (!(found->log_e > log(2e6) && found->p < SPEC_TEST_P))
            fail_msg("%s: log e = %g, p = %g", cases[c].test, found->log_e, found->p);
    }
}

/* Uses one u for two places, or for a third place one that is a combination of the two before it
 * and independent of each of them. */
TEST(dependence_between_places_is_found, STATISTICS)
{
    for (int kind = 0; kind < 2; kind++) {
        OWNED(stand) s;
        spec_finding finding[SPEC_TESTS_MAX];
        open_stand(&s, "plain-4", SPEC_SCOPE_STREAM);
        for (int t = 0; t < 200; t++) {
            int32_t text[64];
            int at = 0;
            double u = 0.0, v = 0.0;
            for (int k = 0; k < 64; k++) {
                if (kind == 0 && k % 2 == 0) u = gsl_rng_uniform(s.rng);
                if (kind == 1)
                    u = k % 4 == 2 ? fmod(u + v, 1.0)
                                   : gsl_rng_uniform(s.rng); /* pairwise independent */
                if (kind == 1 && k % 4 == 0) v = u;
                text[k] = at_share(law_of(&s, at), 4, u);
                at = spec_fixture_next(&s.fixture, at, text[k]);
            }
            spec_evidence_clear(s.fork);
            spec_evidence_add_text(s.fork, 0, text, 64, s.rng);
            spec_evidence_merge(s.evidence, s.fork);
        }
        const int n = spec_evidence_findings(finding, s.evidence);
        const spec_finding *pairs = finding_of(finding, n, "pairs"),
                           *blocks = finding_of(finding, n, "blocks");
        assert_true(blocks->log_e > log(2e6) && blocks->p < SPEC_TEST_P);
        if (kind == 1) assert_true(blocks->log_e > pairs->log_e);
        if (kind == 0) assert_true(pairs->log_e > log(2e6) && pairs->p < SPEC_TEST_P);
        if (kind == 0) assert_true(finding_of(finding, n, "positions")->log_e > log(2e6));
    }
}

/* Texts are iid from the target. In scope DV the number that draws a text may also draw the draft
 * of the previous or of the next round: no test may fail. */
TEST(drafts_of_the_sampler_may_share_numbers_with_other_texts, STATISTICS)
{
    for (int ahead = 0; ahead < 2; ahead++) {
        OWNED(stand) s;
        spec_finding finding[SPEC_TESTS_MAX];
        static double u[ROUNDS + 1];
        open_stand(&s, "blind-3", SPEC_SCOPE_DRAFT);
        for (uint64_t b = 0; b < 24; b++) {
            ask(&s, ROUNDS, b);
            for (int i = 0; i <= ROUNDS; i++) u[i] = gsl_rng_uniform(s.rng);
            for (int i = 0; i < ROUNDS; i++) {
                const double *draft = s.fixture.draft_law + (size_t)root(&s, i) * 3;
                emit(&s, i, exact(&s, i, u[i + !ahead]));
                s.batch.token[i] = at_share(draft, 3, u[i + ahead]);
            }
            take(&s, ROUNDS, b);
        }
        const int n = spec_evidence_findings(finding, s.evidence);
        for (int k = 0; k < n; k++)
            if (finding[k].log_e > log(1e3) || finding[k].p < SPEC_TEST_P)
                fail_msg("%s: log e = %g, p = %g", finding[k].name, finding[k].log_e, finding[k].p);
    }
}

static int set_up(void **state)
{
    (void)state;
    seed = spec_test_seed();
    return 0;
}

SUITE(.setup = set_up);
