/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "sim/serving/engine/common_rounds.h"
#include "sim/serving/engine/uniforms.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>

enum { MOST = 70, SIZE = MOST + SPEC_COMMON_ROUNDS_PAD };

typedef struct {
    uint32_t word[SIZE], again[SIZE];
    float alpha[SIZE], last[SIZE];
    int32_t left[SIZE];
    uint64_t past[SIZE];
} requests;

static void draw(requests *r, spec_rng_state *rng)
{
    static const float alphas[] = {0.0f, 1.0f, 0.5f, 0.27f, 0.93f};
    for (int i = 0; i < SIZE; i++) {
        r->word[i] = (uint32_t)spec_rng_next(rng);
        r->again[i] = (uint32_t)spec_rng_next(rng);
        if (i % 7 == 0) r->word[i] = i % 2 == 0 ? 0 : UINT32_MAX;
        r->alpha[i] = i % 3 == 0 ? alphas[i / 3 % 5] : (float)spec_rng_next_double(rng);
        r->last[i] = i % 4 == 0 ? -1.0f : (float)spec_rng_next_double(rng);
        r->left[i] = 1 + (int32_t)(spec_rng_next(rng) % 6);
        r->past[i] = UINT32_MAX - 2 + spec_rng_next(rng) % 5;
    }
}

/* One request at a time. */
static spec_common_rounds_sums by_hand(requests *r, int n, int K, bool correlated, float stay)
{
    spec_common_rounds_sums sums = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        float number = spec_uniforms_of(r->word[i]);
        if (correlated) {
            if (spec_uniforms_of(r->again[i]) < stay && r->last[i] >= 0.0f) number = r->last[i];
            r->last[i] = number;
        }
        int n_accepted = 0;
        for (float tail = r->alpha[i]; n_accepted < K && number < tail; tail *= r->alpha[i])
            n_accepted++;
        const int emitted = n_accepted + 1 < r->left[i] ? n_accepted + 1 : r->left[i];
        r->past[i] += (uint32_t)r->left[i];
        r->left[i] -= emitted;
        sums.accepted += n_accepted;
        sums.emitted += emitted;
        sums.completed += r->left[i] == 0;
    }
    return sums;
}

static void check(spec_isa isa, spec_rng_state *rng)
{
    for (int n = 0; n <= MOST; n++) {
        for (int K = 0; K <= 9; K += 1 + K / 4) {
            requests expected, got;
            memset(&expected, 0, sizeof expected);
            draw(&expected, rng);
            got = expected;
            const bool correlated = (n + K) % 2 == 0;
            const spec_common_rounds rounds = {
                .n = n,
                .K = K,
                .word = got.word,
                .alpha = got.alpha,
                .left = got.left,
                .opt_past = got.past,
                .opt_last = correlated ? got.last : NULL,
                .again = got.again,
                .stay = 0.4f,
            };
            const spec_common_rounds_sums a = by_hand(&expected, n, K, correlated, 0.4f);
            const spec_common_rounds_sums b = spec_common_rounds_kernel_of(isa)(&rounds);
            assert_true(a.accepted == b.accepted && a.emitted == b.emitted);
            assert_true(a.completed == b.completed);
            assert_memory_equal(&expected, &got, sizeof got);
        }
    }
}

TEST(every_instruction_set_equals_the_loop_by_hand)
{
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 0);
    for (int isa = 0; isa <= (int)spec_cpu_best_isa(); isa++) check((spec_isa)isa, &rng);
}
