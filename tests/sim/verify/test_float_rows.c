#include "sim/verify/float_rows.h"
#include "sim/verify/float_rows_kernels.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { MAX_V = 5000 };

typedef struct {
    float target[MAX_V], draft[MAX_V];
    int vocab;
} pair;

static const int sizes[] = {1, 2, 7, 8, 63, 64, 65, 127, 128, 129, 200, 1000, 4096, 4999};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void fill_row(float *row, int vocab, double concentration, double share_of_zeros, gsl_rng *rng)
{
    double gamma[MAX_V], sum = 0;
    do {
        sum = 0;
        for (int i = 0; i < vocab; i++) {
            gamma[i] = gsl_rng_uniform(rng) < share_of_zeros ? 0 : gsl_ran_gamma(rng, concentration, 1);
            sum += gamma[i];
        }
    } while (!(sum > 0));
    for (int i = 0; i < vocab; i++) row[i] = (float)(gamma[i] / sum);
}

static void fill_one_hot(float *row, int vocab, int token)
{
    memset(row, 0, (size_t)vocab * sizeof *row);
    row[token] = 1;
}

/* Pairs of every kind: dense, sparse, peaked, one-hot on either side, disjoint, equal. */
enum { N_KINDS = 7 };
static void fill_pair(pair *p, int vocab, int kind, gsl_rng *rng)
{
    int token = (int)gsl_rng_uniform_int(rng, (unsigned)vocab);
    p->vocab = vocab;
    fill_row(p->target, vocab, kind == 2 ? 0.05 : 1, kind == 1 ? 0.7 : 0, rng);
    fill_row(p->draft, vocab, kind == 2 ? 0.05 : 0.7, kind == 1 ? 0.7 : 0, rng);
    if (kind == 3) fill_one_hot(p->target, vocab, token);
    if (kind == 4) fill_one_hot(p->draft, vocab, token);
    if (kind == 5) memcpy(p->target, p->draft, (size_t)vocab * sizeof *p->draft);
    if (kind == 6 && vocab > 1)
        for (int i = 0; i < vocab; i++) (i % 2 == 0 ? p->target : p->draft)[i] = 0;
}

static gsl_rng *test_rng(uint64_t stream)
{
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    assert_non_null(rng);
    spec_rng_stream(rng, spec_test_seed(), stream);
    return rng;
}

/* ---- every instruction set does the same ------------------------------------------------------------------------- */

static void assert_kernels_agree(const spec_float_rows_kernels *kernels, const pair *p, gsl_rng *rng)
{
    const spec_float_rows_kernels *ref = &spec_float_rows_kernels_ref;
    for (int residual = 0; residual < 2; residual++) {
        const float *opt_draft = residual ? p->draft : NULL;
        double expected = spec_float_rows_total(ref, p->target, opt_draft, p->vocab);
        double found = spec_float_rows_total(kernels, p->target, opt_draft, p->vocab);
        assert_memory_equal(&found, &expected, sizeof found);
        /* Limits at random; and the sum at the end of each block itself, where any other order of addition would
         * show. */
        for (int i = 0; i < 20; i++) {
            double limit = gsl_rng_uniform(rng) * expected;
            assert_int_equal(spec_float_rows_find(kernels, p->target, opt_draft, p->vocab, limit),
                             spec_float_rows_find(ref, p->target, opt_draft, p->vocab, limit));
        }
        for (int n = 64; n < p->vocab; n += 64) {
            double limit = spec_float_rows_total(ref, p->target, opt_draft, n);
            for (int i = -1; i <= 1; i++) {
                double near = i == 0 ? limit : nextafter(limit, i);
                assert_int_equal(spec_float_rows_find(kernels, p->target, opt_draft, p->vocab, near),
                                 spec_float_rows_find(ref, p->target, opt_draft, p->vocab, near));
            }
        }
    }
}

static void every_instruction_set_sums_in_the_same_order(void **state)
{
    (void)state;
    gsl_rng *rng = test_rng(0);
    static pair p;
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++)
        for (int size = 0; size < N_SIZES; size++)
            for (int kind = 0; kind < N_KINDS; kind++) {
                fill_pair(&p, sizes[size], kind, rng);
                assert_kernels_agree(spec_float_rows_kernels_of(isa), &p, rng);
            }
    gsl_rng_free(rng);
}

static void steps_are_the_same_on_every_instruction_set(void **state)
{
    (void)state;
    gsl_rng *rng = test_rng(1);
    static pair p;
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
        const spec_float_rows_kernels *kernels = spec_float_rows_kernels_of(isa);
        for (int size = 0; size < N_SIZES; size++)
            for (int kind = 0; kind < N_KINDS; kind++) {
                fill_pair(&p, sizes[size], kind, rng);
                spec_rng_state fast = spec_rng_stream_state(gsl_rng_get(rng), 0), ref = fast;
                for (int i = 0; i < 30; i++) {
                    bool accepted, accepted_ref;
                    const int token = spec_float_rows_step(kernels, p.target, p.draft, p.vocab, &fast, &accepted);
                    assert_int_equal(token, spec_float_rows_step(&spec_float_rows_kernels_ref, p.target, p.draft,
                                                                 p.vocab, &ref, &accepted_ref));
                    assert_int_equal(accepted, accepted_ref);
                    assert_true(fast.state == ref.state);
                }
            }
    }
    gsl_rng_free(rng);
}

/* ---- the scan ---------------------------------------------------------------------------------------------------- */

/* By another route: the plain sum in long double. */
static void the_scan_finds_where_the_cumulative_mass_passes(void **state)
{
    (void)state;
    gsl_rng *rng = test_rng(2);
    static pair p;
    for (int size = 0; size < N_SIZES; size++)
        for (int kind = 0; kind < N_KINDS; kind++) {
            fill_pair(&p, sizes[size], kind, rng);
            double total = spec_float_rows_total(&spec_float_rows_kernels_ref, p.draft, NULL, p.vocab);
            for (int i = 0; total > 0 && i < 30; i++) {
                double u = gsl_rng_uniform(rng) * total;
                int token = spec_float_rows_find(&spec_float_rows_kernels_ref, p.draft, NULL, p.vocab, u);
                long double before = 0;
                for (int j = 0; j < token; j++) before += p.draft[j];
                assert_true(p.draft[token] > 0);
                assert_true(before <= u + 1e-13L);
                assert_true(before + p.draft[token] > u - 1e-13L);
            }
        }
    gsl_rng_free(rng);
}

static int find(const float *row, int n, double limit)
{
    return spec_float_rows_find(spec_float_rows_kernels_of(spec_cpu_isa()), row, NULL, n, limit);
}

static int step(const float *target, const float *draft, int n, spec_rng_state *rng, bool *ret_accepted)
{
    return spec_float_rows_step(spec_float_rows_kernels_of(spec_cpu_isa()), target, draft, n, rng, ret_accepted);
}

static void the_scan_minds_its_edges(void **state)
{
    (void)state;
    float row[200] = {0};
    assert_int_equal(find((float[]){1}, 1, 0), 0);
    assert_int_equal(find((float[]){1}, 1, 0.99), 0);
    assert_int_equal(find((float[]){0.25f, 0.75f}, 2, 0), 0);
    assert_int_equal(find((float[]){0.25f, 0.75f}, 2, 0.24), 0);
    assert_int_equal(find((float[]){0.25f, 0.75f}, 2, 0.25), 1); /* passes, not reaches */
    assert_int_equal(find((float[]){0, 0.27f, 0, 0.73f}, 4, 0), 1);
    assert_int_equal(find((float[]){0, 0.27f, 0}, 3, 0.9), 1); /* a row that sums to less: the last positive token */
    assert_int_equal(find(row, 200, 0.27), -1);

    row[3] = 0.27f;
    row[70] = 0.53f; /* 0.80 in all: what is missing goes to token 70 */
    assert_int_equal(find(row, 200, 0.0), 3);
    assert_int_equal(find(row, 200, 0.3), 70);
    assert_int_equal(find(row, 200, 0.95), 70);
    assert_int_equal(find(row, 128, 0.95), 70);
    row[199] = 1e-30f; /* too small to pass anything, but the last */
    assert_int_equal(find(row, 200, 0.95), 199);
}

/* A block may pass the limit by its own sum and not token by token: then it is that block's last positive token, not a
 * zero after it nor a token of a later block. */
static void rounding_within_a_block_ends_at_its_last_positive_token(void **state)
{
    (void)state;
    gsl_rng *rng = test_rng(8);
    int at_the_end = 0;
    for (int i = 0; i < 300; i++) {
        float row[200], nothing[200] = {0};
        for (int j = 0; j < 200; j++)
            row[j] = (float)ldexp(1 + gsl_rng_uniform(rng), -(int)gsl_rng_uniform_int(rng, 40));
        for (int j = 55; j < 64; j++) row[j] = 0;
        double limit = nextafter(spec_float_rows_total(&spec_float_rows_kernels_ref, row, NULL, 64), 0), sum = 0;
        for (int j = 0; j < 64; j++) sum += row[j];
        if (sum > limit) continue;
        at_the_end++;
        assert_int_equal(find(row, 200, limit), 54);
        assert_int_equal(spec_float_rows_find(&spec_float_rows_kernels_ref, row, nothing, 200, limit), 54);
    }
    assert_true(at_the_end > 20);
    gsl_rng_free(rng);
}

static void totals_may_exceed_one(void **state)
{
    (void)state;
    assert_true(spec_float_rows_total(&spec_float_rows_kernels_ref, (float[]){0.75f, 1}, NULL, 2) == 1.75);
    float row[130];
    for (int i = 0; i < 130; i++) row[i] = 0.25f;
    assert_true(spec_float_rows_total(&spec_float_rows_kernels_ref, row, NULL, 130) == 32.5);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

/* Replay a step from its uniforms, in the obvious way. */
static void a_step_takes_its_uniforms_in_turn(void **state)
{
    (void)state;
    gsl_rng *rng = test_rng(3);
    const spec_float_rows_kernels *ref = &spec_float_rows_kernels_ref;
    static pair p;
    int kinds[3] = {0};
    for (int i = 0; i < 3000; i++) {
        fill_pair(&p, 100, i % 6, rng);
        spec_rng_state state_of_step = spec_rng_stream_state(gsl_rng_get(rng), 0), replay = state_of_step;
        bool accepted, expected_accepted = true;
        int token = step(p.target, p.draft, p.vocab, &state_of_step, &accepted), uniforms = 1;
        int expected = spec_float_rows_find(ref, p.draft, NULL, p.vocab, spec_rng_next_double(&replay));
        double t = p.target[expected], d = p.draft[expected];
        if (t < d) {
            uniforms++;
            expected_accepted = spec_rng_next_double(&replay) * d < t;
        }
        if (!expected_accepted) {
            uniforms++;
            double total = spec_float_rows_total(ref, p.target, p.draft, p.vocab);
            expected = spec_float_rows_find(ref, p.target, p.draft, p.vocab, spec_rng_next_double(&replay) * total);
        }
        assert_int_equal(token, expected);
        assert_int_equal(accepted, expected_accepted);
        assert_true(state_of_step.state == replay.state);
        kinds[uniforms - 1]++;
    }
    for (int i = 0; i < 3; i++) assert_true(kinds[i] > 100);
    gsl_rng_free(rng);
}

static void impossible_tokens_are_not_emitted(void **state)
{
    (void)state;
    gsl_rng *rng = test_rng(4);
    spec_rng_state steps = spec_rng_stream_state(7, 0);
    static pair p;
    for (int i = 0; i < 20000; i++) {
        do fill_pair(&p, 70, 1 + i % 6, rng);
        while (find(p.draft, 70, 0) < 0 || find(p.target, 70, 0) < 0);
        bool accepted;
        int token = step(p.target, p.draft, 70, &steps, &accepted);
        assert_in_range(token, 0, 69);
        assert_true(p.target[token] > 0);
        if (accepted) assert_true(p.draft[token] > 0);
        else assert_true(p.target[token] > p.draft[token]);
        if (1 + i % 6 == 5) assert_true(accepted); /* equal rows */
        if (1 + i % 6 == 6) assert_false(accepted); /* disjoint ones */
    }
    gsl_rng_free(rng);
}

/* Uniforms of exactly 0, for token and test: the generator's output is 0 where the high half of its state is. */
static void a_uniform_of_zero_accepts_nothing_impossible(void **state)
{
    (void)state;
    const spec_u128 multiplier = 0xda942042e4dd58b5u, first = 2, second = 1;
    spec_rng_state rng;
    bool accepted;
    spec_rng_set_raw(&rng, first, second - first * multiplier);
    assert_int_equal(step((float[]){0, 0, 1}, (float[]){0, 1, 0}, 3, &rng, &accepted), 2);
    assert_false(accepted);
}

/* A target below the draft everywhere, as rounding can leave it, has no residual: the correction is the target's. */
static void without_a_residual_the_target_is_sampled(void **state)
{
    (void)state;
    const float draft[] = {0.27f, 0, 0.4f, 0.33f}, target[] = {0.1f, 0, 0.2f, 0};
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 5);
    int corrected[4] = {0};
    for (int i = 0; i < 1000; i++) {
        bool accepted;
        int token = step(target, draft, 4, &rng, &accepted);
        assert_true(target[token] > 0);
        corrected[token] += !accepted;
    }
    assert_true(corrected[0] > 20 && corrected[2] > 200); /* uniforms from 0.1 up go to token 2 */
}

/* 150,000 steps each. Corrections drawn from the target would leave a law at distance sum (difference^2 / target) of
 * 0.02 or more, a statistic above 3,000; one scan that stops a token late, far more. */
static void steps_emit_the_target_and_accept_alpha(void **state)
{
    (void)state;
    gsl_rng *rng = test_rng(6);
    spec_rng_state steps = spec_rng_stream_state(spec_test_seed(), 7);
    static pair p;
    for (int size = 0; size < 2; size++) {
        int vocab = size == 0 ? 50 : 300;
        uint64_t samples = spec_test_samples(150000), count[300] = {0}, accepted = 0;
        fill_pair(&p, vocab, 0, rng);
        for (uint64_t i = 0; i < samples; i++) {
            bool accept;
            count[step(p.target, p.draft, vocab, &steps, &accept)]++;
            accepted += accept;
        }
        double statistic = 0, alpha = 0, n = (double)samples, pooled_expected = 0, pooled_count = 0;
        int cells = 0;
        for (int i = 0; i < vocab; i++) {
            double expected = n * p.target[i];
            alpha += fmin(p.target[i], p.draft[i]);
            if (expected < 5) {
                pooled_expected += expected;
                pooled_count += (double)count[i];
                continue;
            }
            statistic += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
            cells++;
        }
        if (pooled_expected > 0) {
            statistic += (pooled_count - pooled_expected) * (pooled_count - pooled_expected) / pooled_expected;
            cells++;
        }
        assert_true(gsl_cdf_chisq_Q(statistic, cells - 1) > SPEC_TEST_P);
        double z = ((double)accepted - n * alpha) / sqrt(n * alpha * (1 - alpha));
        assert_true(2 * gsl_cdf_ugaussian_Q(fabs(z)) > SPEC_TEST_P);
    }
    gsl_rng_free(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_set_sums_in_the_same_order),
        cmocka_unit_test(steps_are_the_same_on_every_instruction_set),
        cmocka_unit_test(the_scan_finds_where_the_cumulative_mass_passes),
        cmocka_unit_test(the_scan_minds_its_edges),
        cmocka_unit_test(rounding_within_a_block_ends_at_its_last_positive_token),
        cmocka_unit_test(totals_may_exceed_one),
        cmocka_unit_test(a_step_takes_its_uniforms_in_turn),
        cmocka_unit_test(impossible_tokens_are_not_emitted),
        cmocka_unit_test(a_uniform_of_zero_accepts_nothing_impossible),
        cmocka_unit_test(without_a_residual_the_target_is_sampled),
        cmocka_unit_test(steps_emit_the_target_and_accept_alpha),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
