/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"
#include "sim/acceptance.h"
#include "sim/acceptance_kernels.h"
#include "tests/support/battery.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

static spec_process process_of(const char *spec, double alpha)
{
    spec_process process;
    assert_works(spec_acceptance_process_init(&process, spec, alpha, &error));
    return process;
}

static spec_tally tally_of(const spec_process *process, int K, uint64_t n_rounds, uint64_t seed,
                           uint64_t stream)
{
    spec_tally tally = {0};
    spec_acceptance_rounds(&tally, process, K, n_rounds, seed, stream);
    return tally;
}

/* Checks invariants between the tally's fields, which hold for any draws. */
static void assert_consistent(const spec_tally *tally, int K, uint64_t n_rounds)
{
    uint64_t rounds = 0, accepted = 0, reached = n_rounds;
    for (int k = 0; k <= SPEC_K_MAX; k++) {
        rounds += tally->n_accepted[k];
        accepted += (uint64_t)k * tally->n_accepted[k];
        if (k > K) assert_true(tally->n_accepted[k] == 0);
    }
    for (int i = 0; i < SPEC_K_MAX; i++) {
        assert_true(tally->tested[i] == (i < K ? reached : 0));
        if (i < K) reached -= tally->n_accepted[i];
        assert_true(tally->passed[i] == (i < K ? reached : 0));
    }
    assert_true(tally->rounds == n_rounds && rounds == n_rounds);
    assert_true(tally->accepted == accepted && tally->emitted == accepted + n_rounds);
    assert_true(tally->drafted == n_rounds * (uint64_t)K);
    assert_true(tally->time == 0.0);
}

/* ---- two routes ------------------------------------------------------------------------------ */

static uint64_t words_up_to(double chance)
{
    return (uint64_t)llround(fmin(fmax(chance, 0.0), 1.0) * 4294967296.0);
}

/* Computes the probabilities of processes given by a length or by rates from the law of n_accepted:
 * the tail at i + 1 over the tail at i. */
static void lengths_by_hand(double *ret_chance, const spec_process *process, int K)
{
    double tail = 1.0, alpha = 0.0, bit = 0.5; /* alpha of the largest mean below it */
    for (int b = 0; b < 60 && process->kind == SPEC_PROCESS_GEOMETRIC; b++, bit /= 2.0) {
        double mean = 0.0;
        for (int k = K; k >= 0; k--) mean += pow(alpha + bit, k);
        if (mean <= process->length) alpha += bit;
    }
    for (int i = 0; i < K; i++) {
        double next = tail * alpha;
        if (process->kind == SPEC_PROCESS_MINIMUM_VARIANCE) {
            const double whole = floor(process->length);
            next = i + 2 <= whole ? 1.0 : i + 1 <= whole ? process->length - whole : 0.0;
        }
        if (process->kind == SPEC_PROCESS_ROUNDED_NORMAL)
            next = gsl_cdf_ugaussian_Q(i + 1.5 - process->length);
        if (process->kind == SPEC_PROCESS_RATES)
            next = i < process->n_rates ? process->rate[i] : 0.0;
        ret_chance[i] = tail > 0.0 ? next / tail : 0.0;
        tail = next;
    }
}

/* Follows the contract again, round by round, on the lanes' own array. Block b is rounds 32b ..
 * 32b+31, one per lane. For each position, all lanes take one step (two for markov: state, then
 * test), as long as any round of the block is alive. */
static spec_tally tally_by_hand(const spec_process *process, int K, uint64_t n_rounds,
                                uint64_t seed, uint64_t stream)
{
    spec_tally tally = {0};
    spec_lanes lanes;
    spec_lanes_init(&lanes, seed, stream);
    for (uint64_t first = 0; first < n_rounds; first += SPEC_LANES) {
        const uint64_t size = n_rounds - first < SPEC_LANES ? n_rounds - first : SPEC_LANES;
        int n_accepted[SPEC_LANES] = {0}, n_alive = (int)size;
        bool dead[SPEC_LANES] = {0}, high[SPEC_LANES];
        for (int l = 0; l < SPEC_LANES; l++) high[l] = true;
        double decayed = process->alpha, own[SPEC_K_MAX];
        lengths_by_hand(own, process, K);
        for (int i = 0; i < K && n_alive > 0; i++) {
            uint32_t u[SPEC_LANES];
            double chance[SPEC_LANES];
            if (process->kind == SPEC_PROCESS_MARKOV) {
                spec_lanes_fill_ref(&lanes, u, 1);
                const uint64_t flip = words_up_to(i == 0 ? 0.5 : (1.0 - process->rho) / 2.0);
                for (int l = 0; l < SPEC_LANES; l++) {
                    if (u[l] < flip) high[l] = !high[l];
                    chance[l] = process->alpha + (high[l] ? process->spread : -process->spread);
                }
            } else {
                if (!spec_acceptance_reads_alpha(process)) decayed = own[i];
                for (int l = 0; l < SPEC_LANES; l++) chance[l] = decayed;
                /* no token can be accepted: no draw is made */
                if (words_up_to(decayed) == 0) break;
                if (process->kind == SPEC_PROCESS_DECAY) decayed *= process->decay;
            }
            spec_lanes_fill_ref(&lanes, u, 1);
            for (uint64_t l = 0; l < size; l++) {
                if (dead[l]) continue;
                if (u[l] < words_up_to(chance[l])) {
                    n_accepted[l]++;
                } else {
                    dead[l] = true;
                    n_alive--;
                }
            }
        }
        for (uint64_t l = 0; l < size; l++) {
            const int n = n_accepted[l];
            tally.rounds++;
            tally.drafted += (uint64_t)K;
            tally.accepted += (uint64_t)n;
            tally.emitted += (uint64_t)n + 1;
            tally.n_accepted[n]++;
            for (int i = 0; i < K && i <= n; i++) tally.tested[i]++;
            for (int i = 0; i < n; i++) tally.passed[i]++;
        }
    }
    return tally;
}

static const char *const some_spec[] = {"iid",
                                        "decay?rate=0.93",
                                        "decay?rate=0",
                                        "markov?rho=0.27&spread=0.11",
                                        "markov?rho=-1&spread=0.05",
                                        "markov?rho=1&spread=0.2",
                                        "minimum-variance?length=3.27",
                                        "minimum-variance?length=1",
                                        "geometric?length=2.385",
                                        "rounded-normal?length=3.1",
                                        "rounded-normal?length=1",
                                        "rates?of=0.83/0.62/0.49/0.32/0.21",
                                        "rates?of=1/1/0.5/0/0/0/0/0"};
static const double some_alpha[] = {0.0, 1e-9, 0.05, 0.2, 0.27, 0.5, 0.8, 0.997, 1.0};
static const int some_K[] = {0, 1, 2, 5, 8, 31, 256};
static const uint64_t some_rounds[] = {0, 1, 2, 31, 32, 33, 63, 64, 100, 2385};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Every instruction set, the reference and the second route above give the same integers. */
TEST(every_route_gives_the_same_tally)
{
    uint64_t stream = 0;
    for (size_t s = 0; s < LENGTH(some_spec); s++) {
        for (size_t a = 0; a < LENGTH(some_alpha); a++) {
            spec_process process;
            if (spec_acceptance_process_init(&process, some_spec[s], some_alpha[a], NULL) !=
                GSL_SUCCESS)
                continue;
            for (size_t k = 0; k < LENGTH(some_K); k++) {
                for (size_t n = 0; n < LENGTH(some_rounds); n++, stream++) {
                    const int K = some_K[k];
                    const uint64_t N = some_rounds[n];
                    if (spec_acceptance_process_check(&process, K, NULL) != GSL_SUCCESS) continue;
                    const spec_tally wanted = tally_by_hand(&process, K, N, 27, stream);
                    assert_consistent(&wanted, K, N);
                    spec_tally tally = {0};
                    spec_acceptance_rounds_ref(&tally, &process, K, N, 27, stream);
                    assert_memory_equal(&tally, &wanted, sizeof tally);
                    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++) {
                        assert_int_equal(spec_cpu_limit(spec_cpu_isa_name(isa), NULL), GSL_SUCCESS);
                        tally = tally_of(&process, K, N, 27, stream);
                        assert_memory_equal(&tally, &wanted, sizeof tally);
                    }
                }
            }
        }
    }
    spec_cpu_limit(NULL, NULL);
    printf("%llu configurations\n", (unsigned long long)stream);
}

TEST(tallies_add_up)
{
    const spec_process process = process_of("iid", 0.8);
    spec_tally both = {.time = 0.27}, sum = {.time = 0.27};
    spec_acceptance_rounds(&both, &process, 5, 1000, 1, 0);
    spec_acceptance_rounds(&both, &process, 3, 77, 1, 1);
    const spec_tally a = tally_of(&process, 5, 1000, 1, 0), b = tally_of(&process, 3, 77, 1, 1);
    spec_tally_merge(&sum, &a);
    spec_tally_merge(&sum, &b);
    assert_memory_equal(&both, &sum, sizeof sum);
}

/* u of lane 0 in its first step is compared with alpha 2^32: an alpha of u + 1 units accepts, and
 * of u units does not. A probability below half a unit never accepts. */
TEST(the_threshold_is_exact)
{
    for (uint64_t stream = 0; stream < 50; stream++) {
        spec_lanes lanes;
        uint32_t u[SPEC_LANES];
        spec_lanes_init(&lanes, 27, stream);
        spec_lanes_fill_ref(&lanes, u, 1);
        spec_process process = process_of("iid", ((double)u[0] + 1.0) * 0x1p-32);
        assert_true(tally_of(&process, 1, 1, 27, stream).accepted == 1);
        process = process_of("iid", (double)u[0] * 0x1p-32);
        assert_true(tally_of(&process, 1, 1, 27, stream).accepted == 0);
        process =
            process_of("iid", ((double)u[0] + 0.5) * 0x1p-32); /* rounds to the nearer, a half up */
        assert_true(tally_of(&process, 1, 1, 27, stream).accepted == 1);
        process = process_of("iid", ((double)u[0] + 0.4999) * 0x1p-32);
        assert_true(tally_of(&process, 1, 1, 27, stream).accepted == 0);
    }
}

typedef struct {
    spec_isa isa;
    spec_acceptance_positional *positional;
    spec_acceptance_markov *markov;
} kernel_pair;

static const kernel_pair kernel[] = {
    {SPEC_ISA_PORTABLE, spec_acceptance_positional_ref, spec_acceptance_markov_ref},
#if defined(__x86_64__)
    {SPEC_ISA_AVX2, spec_acceptance_positional_avx2, spec_acceptance_markov_avx2},
    {SPEC_ISA_AVX512, spec_acceptance_positional_avx512, spec_acceptance_markov_avx512},
#elif defined(__aarch64__)
    {SPEC_ISA_NEON, spec_acceptance_positional_neon, spec_acceptance_markov_neon},
#endif
};

/* Finds lanes whose draws number `skip` and `skip` + 1 are 0: states 0 and 1 draw 0, and a step
 * leads from state 0 to the increment, 1. */
static spec_lanes lanes_that_draw_zero(int skip)
{
    uint64_t x = 0, inverse = 1;
    for (int i = 0; i < 6; i++) inverse *= 2 - SPEC_LANES_MULTIPLIER * inverse;
    for (int i = 0; i < skip; i++) x = (x - 1) * inverse;
    spec_lanes lanes;
    for (int l = 0; l < SPEC_LANES; l++) lanes.state[l] = x, lanes.increment[l] = 1;
    return lanes;
}

/* The smallest uniform number, u = 0, against a limit of 0: the event happens unless it is marked
 * as impossible. */
TEST(a_zero_passes_a_limit_of_zero_unless_it_is_impossible)
{
    const spec_event always = {UINT32_MAX, UINT32_MAX}, zero[2] = {{0, 0}, {0, UINT32_MAX}};
    for (size_t j = 0; j < LENGTH(kernel); j++) {
        if (kernel[j].isa > spec_cpu_best_isa()) continue;
        for (int bits = 0; bits < 8; bits++) {
            const bool flips = bits & 1, low_can = bits & 2, high_can = bits & 4;
            spec_acceptance_hidden hidden = {
                .begin = zero[flips], .flip = always, .pass = {zero[low_can], zero[high_can]}};
            spec_lanes lanes = lanes_that_draw_zero(0);
            uint64_t tail[2] = {0};
            kernel[j].markov(tail, &lanes, &hidden, 1, 27);
            assert_int_equal(tail[0], (flips ? low_can : high_can) ? 27 : 0);

            /* The draws for the second token are the zeros: all rounds are in the high state, pass,
             * flip or not, and are tested again. */
            hidden = (spec_acceptance_hidden){
                .begin = {0, 0}, .flip = zero[flips], .pass = {zero[low_can], always}};
            lanes = lanes_that_draw_zero(2);
            memset(tail, 0, sizeof tail);
            kernel[j].markov(tail, &lanes, &hidden, 2, 27);
            assert_int_equal(tail[0], 27);
            assert_int_equal(tail[1], !flips || low_can ? 27 : 0);
        }
        const uint32_t limit[1] = {0};
        spec_lanes lanes = lanes_that_draw_zero(0);
        uint64_t tail[1] = {0};
        kernel[j].positional(tail, &lanes, limit, 1, 59);
        assert_int_equal(tail[0], 59); /* the second block draws 0 too */
        kernel[j].positional(tail, &lanes, limit, 1, 59);
        assert_int_equal(tail[0], 59);
    }
}

TEST(edges_are_values)
{
    static const char *const spec[] = {"iid", "decay?rate=1", "markov?spread=0&rho=0.5"};
    for (size_t s = 0; s < LENGTH(spec); s++) {
        for (size_t k = 0; k < LENGTH(some_K); k++) {
            const int K = some_K[k];
            spec_process process = process_of(spec[s], 1.0);
            spec_tally tally = tally_of(&process, K, 2385, 42, 0);
            assert_true(tally.n_accepted[K] == 2385 && tally.emitted == 2385 * (uint64_t)(K + 1));
            process = process_of(spec[s], 0.0);
            tally = tally_of(&process, K, 2385, 42, 0);
            assert_true(tally.n_accepted[0] == 2385 && tally.emitted == 2385);
        }
    }
    /* decay 0: only the first token can pass. rho = -1 and alpha = spread = 1/2: the states
     * alternate, so no round passes twice. */
    spec_process process = process_of("decay?rate=0", 1.0);
    assert_true(tally_of(&process, 5, 2385, 42, 0).n_accepted[1] == 2385);
    process = process_of("markov?rho=-1&spread=0.5", 0.5);
    spec_tally tally = tally_of(&process, 5, 2385, 42, 0);
    assert_true(tally.n_accepted[0] + tally.n_accepted[1] == 2385 && tally.n_accepted[0] > 1000 &&
                tally.n_accepted[1] > 1000);
    /* rho = 1: the first state decides all. */
    process = process_of("markov?rho=1&spread=0.5", 0.5);
    tally = tally_of(&process, 5, 2385, 42, 0);
    assert_true(tally.n_accepted[0] + tally.n_accepted[5] == 2385 && tally.n_accepted[0] > 1000 &&
                tally.n_accepted[5] > 1000);
}

/* ---- laws ------------------------------------------------------------------------------------ */

/* Computes the exact law of n_accepted: a sum over all paths of states, written out (2^K of them
 * for markov). */
static void exact_law(double *law, const spec_process *process, int K)
{
    const int paths = process->kind == SPEC_PROCESS_MARKOV ? 1 << K : 1;
    double own[SPEC_K_MAX];
    lengths_by_hand(own, process, K);
    for (int k = 0; k <= K; k++) law[k] = 0.0;
    for (int path = 0; path < paths; path++) {
        double weight = 1.0, alive = 1.0;
        for (int i = 0; i < K && paths > 1; i++) {
            const bool same = i > 0 && (path >> i & 1) == (path >> (i - 1) & 1);
            weight *= i == 0 ? 0.5 : same ? (1.0 + process->rho) / 2.0 : (1.0 - process->rho) / 2.0;
        }
        for (int i = 0; i < K; i++) {
            const double side = path >> i & 1 ? process->spread : -process->spread;
            const double chance = !spec_acceptance_reads_alpha(process) ? own[i]
                                  : process->kind == SPEC_PROCESS_DECAY
                                      ? process->alpha * pow(process->decay, i)
                                      : process->alpha + side;
            law[i] += weight * alive * (1.0 - chance);
            alive *= chance;
        }
        law[K] += weight * alive;
    }
}

static double law_p(const spec_process *process, const spec_process *drawn, int K,
                    uint64_t n_rounds, uint64_t seed, uint64_t stream)
{
    double law[SPEC_K_MAX + 1];
    uint64_t counts[SPEC_K_MAX + 1];
    size_t n = 0; /* how many numbers have positive probability */
    exact_law(law, process, K);
    const spec_tally tally = tally_of(drawn, K, n_rounds, seed, stream);
    for (int k = 0; k <= K; k++) {
        if (!(law[k] > 0.0)) assert_int_equal(tally.n_accepted[k], 0);
        if (!(law[k] > 0.0)) continue;
        law[n] = law[k];
        counts[n++] = tally.n_accepted[k];
    }
    return spec_battery_chi_square(counts, law, n);
}

/* The sample of 2^21 rounds is large enough to reject the neighbouring law that is listed with each
 * process. */
TEST(n_accepted_follows_the_exact_law, STATISTICS)
{
    static const struct {
        const char *spec, *near;
        double alpha, near_alpha;
    } row[] = {
        {"iid", "iid", 0.8, 0.803},
        {"iid", "iid", 0.27, 0.273},
        {"iid", "iid", 0.997, 0.9973},
        {"decay?rate=0.93", "decay?rate=0.934", 0.8, 0.8},
        {"markov?rho=0.5&spread=0.2", "markov?rho=0.52&spread=0.2", 0.75, 0.75},
        {"markov?rho=-0.4&spread=0.11", "markov?rho=-0.4&spread=0.13", 0.62, 0.62},
        {"minimum-variance?length=1.27", "minimum-variance?length=1.274", 0.0, 0.0},
        {"geometric?length=1.27", "geometric?length=1.274", 0.0, 0.0},
        {"rounded-normal?length=2.6", "rounded-normal?length=2.607", 0.0, 0.0},
        {"rates?of=0.8/0.5/0.29/0.2/0.1/0.1/0.05/0", "rates?of=0.8/0.504/0.29/0.2/0.1/0.1/0.05/0",
         0.0, 0.0},
    };
    const uint64_t seed = spec_test_seed();
    const uint64_t n = spec_test_samples(1 << 21);
    for (size_t r = 0; r < LENGTH(row); r++) {
        const spec_process process = process_of(row[r].spec, row[r].alpha),
                           near = process_of(row[r].near, row[r].near_alpha);
        const int K[] = {1, 5, 8};
        for (size_t k = 0; k < LENGTH(K); k++) {
            const double p = law_p(&process, &process, K[k], n, seed, r);
            if (spec_battery_rejects(p))
                fail_msg("%s, alpha %g, K %d: p = %g", row[r].spec, row[r].alpha, K[k], p);
            if (K[k] > 1) assert_true(law_p(&near, &process, K[k], n, seed, r) < SPEC_TEST_P);
        }
    }
}

/* Compares the mean n_emitted, by its standard error, with values from another source. */
static void assert_mean(const spec_process *process, int K, double mean, uint64_t seed)
{
    const uint64_t n = spec_test_samples(1 << 22);
    const spec_tally tally = tally_of(process, K, n, seed, 5);
    const double got = (double)tally.emitted / (double)n;
    double m2 = 0.0;
    for (int k = 0; k <= K; k++) m2 += (double)tally.n_accepted[k] * (k + 1 - got) * (k + 1 - got);
    const double z = (got - mean) / sqrt(m2 / (double)n / (double)(n - 1));
    if (spec_battery_rejects(gsl_cdf_ugaussian_Q(z)))
        fail_msg("K %d: %.6f instead of %.6f, z = %.2f", K, got, mean, z);
}

/* Means at which other routes arrived:
 *   iid      (1 - .8^6)/(1 - .8) = 3.68928
 *   decay    1 + .8 + .8^2 .9 + .8^3 .9^3 = 2.749248
 *   markov   rho 0, .5, .9 with alpha .75, spread .25, K = 7: the recursion of
 * docs/formulas/acceptance.md#modulated, by
 * python3 -c " for r in (0,.5,.9): h,l,m=.5,.5,1 for k in range(7):
 *                    h,l=h*1.,l*.5; m+=h+l; h,l=h*(1+r)/2+l*(1-r)/2,h*(1-r)/2+l*(1+r)/2
 *                print(m)" */
TEST(means_are_those_of_the_closed_forms, STATISTICS)
{
    const uint64_t seed = spec_test_seed();
    spec_process process = process_of("iid", 0.8);
    assert_mean(&process, 5, 3.68928, seed);
    process = process_of("decay?rate=0.9", 0.8);
    assert_mean(&process, 3, 2.749248, seed);
    process = process_of("markov?rho=0&spread=0.25", 0.75);
    assert_mean(&process, 7, 3.59954833984375, seed);
    process = process_of("markov?rho=0.5&spread=0.25", 0.75);
    assert_mean(&process, 7, 4.016100883483887, seed);
    process = process_of("markov?rho=0.9&spread=0.25", 0.75);
    assert_mean(&process, 7, 4.723946831237793, seed);
}

/* The wrong version uses one uniform number for all tokens of a round, which gives the law of a
 * single test, all or nothing. */
TEST(the_law_rejects_a_shared_uniform, STATISTICS)
{
    const spec_process process = process_of("iid", 0.8);
    double law[6];
    uint64_t counts[6] = {0};
    exact_law(law, &process, 5);
    spec_lanes lanes;
    uint32_t u[SPEC_LANES];
    spec_lanes_init(&lanes, 27, 0);
    for (int block = 0; block < 1000; block++) {
        spec_lanes_fill(&lanes, u, 1);
        for (int l = 0; l < SPEC_LANES; l++) counts[u[l] < words_up_to(0.8) ? 5 : 0]++;
    }
    assert_true(spec_battery_chi_square(counts, law, 6) < SPEC_TEST_P);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Returns z of the correlation of n_accepted's batch means between streams i and j(i), over 4096
 * batches of 320 rounds. */
static double batch_correlation_z(uint64_t seed, uint64_t step, uint64_t other_seed)
{
    enum { BATCHES = 4096, ROUNDS = 320 };
    const spec_process process = process_of("iid", 0.8);
    const double mean = 0.8 * (1.0 - pow(0.8, 5)) / 0.2;
    double xy = 0.0, xx = 0.0, yy = 0.0;
    for (uint64_t i = 0; i < BATCHES; i++) {
        const double x = (double)tally_of(&process, 5, ROUNDS, seed, i).accepted / ROUNDS - mean;
        const double y =
            (double)tally_of(&process, 5, ROUNDS, other_seed, i + step).accepted / ROUNDS - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return xy / sqrt(xx * yy) * sqrt(BATCHES);
}

TEST(batches_on_different_streams_do_not_correlate)
{
    const uint64_t seed = spec_test_seed();
    assert_false(spec_battery_rejects(gsl_cdf_ugaussian_Q(batch_correlation_z(seed, 1, seed))));
    assert_false(spec_battery_rejects(gsl_cdf_ugaussian_Q(batch_correlation_z(seed, 0, seed + 1))));
    /* The same stream twice. */
    assert_true(spec_battery_rejects(gsl_cdf_ugaussian_Q(batch_correlation_z(seed, 0, seed))));
}

/* Batch means vary as those of independent rounds: their variance is that of a round over 320. If
 * lanes shared uniform numbers they would vary more: two equal lanes of 32 add 1/16 to the
 * variance, z = 2.8 here; a stream used twice gives z = 45. */
TEST(rounds_are_independent)
{
    enum { BATCHES = 4096, ROUNDS = 320 };
    const spec_process process = process_of("iid", 0.8);
    double law[6], mean = 0.0, variance = 0.0, sum = 0.0;
    exact_law(law, &process, 5);
    for (int k = 0; k <= 5; k++) mean += k * law[k];
    for (int k = 0; k <= 5; k++) variance += (k - mean) * (k - mean) * law[k];
    const uint64_t seed = spec_test_seed();
    for (uint64_t i = 0; i < BATCHES; i++) {
        const double x = (double)tally_of(&process, 5, ROUNDS, seed, i).accepted / ROUNDS - mean;
        sum += x * x / (variance / ROUNDS);
    }
    assert_false(spec_battery_rejects(gsl_cdf_chisq_Q(sum, BATCHES)));
}
