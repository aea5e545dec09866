/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selected tokens have the required law, tuple by tuple in small vocabularies and by sampling in
 * large ones, and that law attains the optimum. */
#include "sim/verify/transport.h"

#include "sim/chance/rng.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

/* Draws a row of V tokens: sharp, smooth, with many zeros, or with levels that give ties. */
static void fill_row(double *row, int V, int kind, uint64_t *noise)
{
    double sum = 0.0;
    while (sum <= 0.0)
        for (int i = 0; i < V; i++) {
            const double u = table_uniform(noise);
            row[i] = kind == 0   ? pow(u, 9.0)
                     : kind == 1 ? -log(u)
                     : kind == 2 ? (u < 0.4 ? u : 0.0)
                                 : ceil(3.0 * u);
            sum += row[i];
        }
    for (int i = 0; i < V; i++) row[i] /= sum;
}

/* Adds to ret_law[place] the law of the selection over every way to draw `left` more tokens. */
static void enumerate(double *ret_law, const spec_transport *transport, const int *token, int n,
                      int left, double chance)
{
    if (left > 0) {
        int longer[8];
        memcpy(longer, token, (size_t)n * sizeof *token);
        for (int k = 0; k < transport->n_drafted; k++) {
            longer[n] = transport->token[k];
            enumerate(ret_law, transport, longer, n + 1, left - 1, chance * transport->draft[k]);
        }
        return;
    }
    OWNED(spec_enumeration) walk;
    assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
    do {
        int again[8];
        double weight[8];
        memcpy(again, token, (size_t)n * sizeof *token);
        const int selected = spec_transport_select(transport, again, n, weight, &walk.chance);
        ret_law[transport->place[selected]] += chance * spec_enumeration_probability(&walk);
    } while (spec_enumeration_next(&walk));
}

TEST(what_is_selected_has_its_law)
{
    enum { V_MAX = 40 };
    uint64_t noise = spec_test_seed();
    double worst = 0.0;
    for (int c = 0; c < 64; c++) {
        const int n = 2 + c % 3, V = n == 2 ? V_MAX : n == 3 ? 14 : 8;
        double target[V_MAX], row[V_MAX], law[V_MAX] = {0.0};
        OWNED(spec_transport) transport;
        assert_int_equal(spec_transport_init(&transport, V, NULL), GSL_SUCCESS);
        fill_row(target, V, c % 4, &noise);
        fill_row(row, V, c / 4 % 4, &noise);
        for (int i = 0; i < V && c >= 48; i++)
            target[i] = c < 56 ? row[i] : 0.3 * target[i] + 0.7 * row[i];
        spec_transport_sort(&transport, target, row);
        spec_transport_solve(&transport, n);
        enumerate(law, &transport, (const int[8]){0}, 0, n, 1.0);
        for (int k = 0; k < transport.n_drafted; k++)
            worst = fmax(worst, fabs(law[k] - transport.law[k]));
    }
    print_message("off by at most %.1e\n", worst);
    assert_true(worst < 1e-13);
}

static void mix(double *target, const double *row, int V, double share)
{
    for (int i = 0; i < V; i++) target[i] = share * target[i] + (1.0 - share) * row[i];
}

/* The law sums to one and attains the optimum. */
TEST(large_vocabularies_lose_nothing)
{
    enum { V = 32000 };
    uint64_t noise = spec_test_seed();
    double *const row = malloc(V * sizeof *row), *const target = malloc(V * sizeof *target);
    spec_transport t;
    assert_int_equal(spec_transport_init(&t, V, NULL), GSL_SUCCESS);
    for (int c = 0; c < 32; c++) {
        const int n = 2 + c % 7;
        fill_row(target, V, c % 4, &noise);
        fill_row(row, V, c / 4 % 4, &noise);
        if (c >= 16) mix(target, row, V, 0.3);
        spec_transport_sort(&t, target, row);
        spec_transport_solve(&t, n);
        double total = 0.0, accepted = 0.0, least = 0.0;
        for (int k = 0; k < t.n_drafted; k++) {
            total += t.law[k];
            accepted += fmin(t.target[k], t.law[k]);
            least = fmin(least, t.target_below[k + 1] - pow(t.draft_below[k + 1], n));
        }
        assert_within(total, 1.0, 1e-12);
        assert_within(accepted, 1.0 + least, 1e-12);
    }
    spec_transport_free(&t);
    free(row);
    free(target);
}

/* 3000 selections among 1000 tokens are counted in 20 cells of the order. Always selecting the
 * highest token, or any of them uniformly, would put some hundreds more or fewer into the last
 * cell. */
TEST(selections_follow_their_law, STATISTICS)
{
    enum { V = 1000, CELLS = 20, DRAWS = 3000 };
    const uint64_t draws = spec_test_samples(DRAWS);
    uint64_t noise = spec_test_seed();
    static double row[V], target[V];
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, noise, 0);
    spec_chance chance = spec_chance_sampled(rng);
    OWNED(spec_transport) t;
    assert_int_equal(spec_transport_init(&t, V, NULL), GSL_SUCCESS);
    for (int c = 0; c < 6; c++) {
        const int n = 2 + c % 3;
        fill_row(target, V, c % 2, &noise);
        fill_row(row, V, 1 - c / 3, &noise);
        mix(target, row, V, 0.4);
        spec_transport_sort(&t, target, row);
        spec_transport_solve(&t, n);
        uint64_t count[CELLS] = {0};
        double share[CELLS] = {0.0};
        for (int k = 0; k < t.n_drafted; k++)
            share[(int)(CELLS * 0.999999 * t.draft_below[k])] += t.law[k];
        for (uint64_t i = 0; i < draws; i++) {
            int token[4];
            double weight[4];
            for (int j = 0; j < n; j++) token[j] = spec_chance_pick(&chance, row, V);
            const int selected = spec_transport_select(&t, token, n, weight, &chance);
            count[(int)(CELLS * 0.999999 * t.draft_below[t.place[selected]])]++;
        }
        const double p = spec_battery_chi_square(count, share, CELLS);
        print_message("n %d: p %.3f\n", n, p);
        assert_false(spec_battery_rejects(p));
    }
}

/* A draft as small as doubles are, and tokens that only one of the rows has: the law is finite, and
 * sums to one. */
TEST(extreme_rows_have_a_law)
{
    static const double rows[][4] = {
        {0.25, 0.25, 0.25, 0.25}, {1.0, 0.0, 0.0, 0.0},     {1e-320, 1.0, 0.0, 0.0},
        {0.0, 1e-320, 0.0, 1.0},  {0.5, 0.5, 1e-300, 0.0},  {0.0, 0.0, 1e-17, 1.0},
        {0.0, 0.0, 0.3, 0.7},     {1e-18, 1e-18, 0.5, 0.5},
    };
    enum { N = sizeof rows / sizeof rows[0] };
    OWNED(spec_transport) t;
    assert_int_equal(spec_transport_init(&t, 4, NULL), GSL_SUCCESS);
    for (int i = 0; i < N * N; i++)
        for (int n = 1; n <= 4; n++) {
            double total = 0.0, accepted = 0.0, least = 0.0;
            spec_transport_sort(&t, rows[i / N], rows[i % N]);
            spec_transport_solve(&t, n);
            for (int x = 0; x < 4; x++) {
                total += spec_transport_law(&t, x);
                accepted += fmin(rows[i / N][x], spec_transport_law(&t, x));
            }
            for (int set = 0; set < 16; set++) {
                double excess = 0.0, mass = 0.0;
                for (int x = 0; x < 4; x++) {
                    excess += set >> x & 1 ? rows[i / N][x] : 0.0;
                    mass += set >> x & 1 ? rows[i % N][x] : 0.0;
                }
                least = fmin(least, excess - pow(fmin(1.0, mass), n));
            }
            assert_within(total, 1.0, 1e-14);
            assert_within(accepted, 1.0 + least, 1e-14);
        }
}
