/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"
#include "sim/verify/residual.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 3 * SPEC_RESIDUAL_BLOCK + 77 };

/* Two laws with zeros and, in the third block, a residual of 0. */
static void rows(double *target, double *row, uint64_t *noise)
{
    double sum[2] = {0.0, 0.0};
    for (int i = 0; i < V; i++) {
        target[i] = i % 7 == 3 ? 0.0 : -log(table_uniform(noise));
        row[i] = i % 5 == 1 ? 0.0 : -log(table_uniform(noise));
        if (i / SPEC_RESIDUAL_BLOCK == 2) row[i] = 2.0 * target[i];
        sum[0] += target[i];
        sum[1] += row[i];
    }
    for (int i = 0; i < V; i++) {
        target[i] /= sum[0];
        row[i] /= sum[1];
    }
}

static double left_of(const spec_residual *e, int i)
{
    if (i == e->but) return 0.0;
    return fmax(e->target[i] - e->taken * e->row[i], e->kept * e->target[i]);
}

TEST(sums_are_those_token_by_token)
{
    static double target[V], row[V], block[V];
    uint64_t noise = spec_test_seed();
    for (int i = 0; i < 60; i++) {
        rows(target, row, &noise);
        const int vocab = i < 40 ? 1 + i * V / 40 : V;
        const spec_residual e = {.target = target,
                                 .row = row,
                                 .taken = 2.0 * table_uniform(&noise),
                                 .kept = i % 2 == 0 ? 0.0 : 0.27,
                                 .but = i % 3 == 0 ? i * (vocab - 1) / 60 : -1,
                                 .vocab = vocab};
        double all = 0.0, below = 0.0, above = 0.0, row_over = 0.0, rest_over = 0.0, got[4];
        assert_true(spec_residual_sum(block, &e) >= 0.0);
        for (int b = 0; b * SPEC_RESIDUAL_BLOCK < vocab; b++) {
            double sum = 0.0;
            for (int x = b * SPEC_RESIDUAL_BLOCK; x < (b + 1) * SPEC_RESIDUAL_BLOCK && x < vocab;
                 x++)
                sum += left_of(&e, x);
            assert_within(block[b], sum, 1e-15);
            all += sum;
        }
        assert_within(spec_residual_sum(block, &e), all, 1e-14);
        for (int x = 0; x < vocab; x++) {
            const double rest = 0.6 * row[x] + 1e-4;
            below += target[x] < 1.3 * row[x] ? target[x] : 0.0;
            above += target[x] < 1.3 * row[x] ? 0.0 : row[x];
            row_over += fmax(row[x] - target[x], 0.0);
            rest_over += fmax(rest - fmax(target[x] - row[x], 0.0), 0.0);
        }
        spec_residual_split(&got[0], &got[1], target, row, 1.3, vocab);
        spec_residual_pair(&got[2], &got[3], target, row, 0.6, 1e-4, vocab);
        const double expected[4] = {below, above, row_over, rest_over};
        for (int k = 0; k < 4; k++) assert_within(got[k], expected[k], 1e-14);
    }
}

TEST(kernels_give_the_same_bytes)
{
#if !defined(__x86_64__)
    print_message("skipped: the portable kernels are the only ones here\n");
    skip();
#else
    if (spec_cpu_best_isa() < SPEC_ISA_AVX2) {
        print_message("skipped: no AVX2\n");
        skip();
    }
    static double target[V], row[V], block[2][V];
    const spec_residual_kernels *const kernels[2] = {&spec_residual_kernels_ref,
                                                     &spec_residual_kernels_avx2};
    uint64_t noise = spec_test_seed();
    rows(target, row, &noise);
    for (int vocab = 0; vocab <= V; vocab += vocab < 40 ? 1 : 37) {
        const spec_residual e = {
            .target = target, .row = row, .taken = 0.83, .kept = 0.12, .but = -1, .vocab = vocab};
        double split[2][2], pair[2][2];
        memset(block, 0, sizeof block);
        for (int k = 0; k < 2; k++) {
            kernels[k]->blocks(block[k], &e);
            kernels[k]->split(split[k], target, row, 1.1, vocab);
            kernels[k]->pair(pair[k], target, row, 0.4, 1e-5, vocab);
        }
        assert_memory_equal(block[0], block[1], sizeof *block);
        assert_memory_equal(split[0], split[1], sizeof *split);
        assert_memory_equal(pair[0], pair[1], sizeof *pair);
    }
#endif
}

/* Computes the law by enumeration of both decisions, block and token. */
TEST(a_token_is_drawn_with_what_is_left_of_it)
{
    static double target[V], row[V], block[V], law[V];
    uint64_t noise = spec_test_seed();
    rows(target, row, &noise);
    const int vocabs[3] = {9, SPEC_RESIDUAL_BLOCK, V};
    for (int k = 0; k < 3; k++) {
        const spec_residual e = {
            .target = target, .row = row, .taken = 1.0, .but = vocabs[k] / 2, .vocab = vocabs[k]};
        const double all = spec_residual_sum(block, &e);
        OWNED(spec_enumeration) walk;
        assert_int_equal(spec_enumeration_init(&walk, 0), GSL_SUCCESS);
        memset(law, 0, sizeof law);
        do {
            const int token = spec_residual_sample(block, &e, &walk.chance);
            law[token] += spec_enumeration_probability(&walk);
        } while (spec_enumeration_next(&walk));
        for (int x = 0; x < vocabs[k]; x++) assert_within(law[x], left_of(&e, x) / all, 1e-15);
    }
}
