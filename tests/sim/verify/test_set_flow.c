/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that the largest flows from sets equal the smallest cut over all subsets, unit by unit. */
#include "sim/verify/set_flow.h"

#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <string.h>

enum { V_MAX = 8, SETS_MAX = 24 };

typedef struct {
    int vocab, n_sets;
    uint32_t set[SETS_MAX];
    uint64_t supply[SETS_MAX], demand[V_MAX];
} problem;

/* Returns the smallest cut: the demand of the tokens in H is cut, and so is each set that has a
 token outside H. */
static uint64_t smallest_cut(const problem *p)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t in = 0; in < 1u << p->vocab; in++) {
        uint64_t cut = 0;
        for (int x = 0; x < p->vocab; x++) cut += in >> x & 1 ? p->demand[x] : 0;
        for (int i = 0; i < p->n_sets; i++) cut += (p->set[i] & ~in) == 0 ? 0 : p->supply[i];
        if (cut < least) least = cut;
    }
    return least;
}

/* kind 0: 0..3 units, so that ties are common; 1: up to 2^56; 2: powers of two. */
static uint64_t amount(int kind, const gsl_rng *rng)
{
    if (kind == 0) return gsl_rng_uniform_int(rng, 4);
    if (kind == 1) return (uint64_t)(gsl_rng_uniform(rng) * 0x1p56);
    return UINT64_C(1) << gsl_rng_uniform_int(rng, 57);
}

static void randomise(problem *p, uint64_t c, const gsl_rng *rng)
{
    p->vocab = 1 + (int)(c % V_MAX);
    p->n_sets = (int)gsl_rng_uniform_int(rng, SETS_MAX + 1);
    for (int x = 0; x < p->vocab; x++) p->demand[x] = amount((int)(c / V_MAX % 3), rng);
    for (int i = 0; i < p->n_sets; i++) {
        p->set[i] = (uint32_t)gsl_rng_uniform_int(rng, UINT64_C(1) << p->vocab);
        p->supply[i] = amount((int)(c / V_MAX / 3 % 3), rng);
    }
}

/* Asserts that each unit that left a supply reached a token of its set; returns their number. */
static uint64_t sent(const problem *before, const problem *after, const uint64_t *flow)
{
    uint64_t received[V_MAX] = {0}, total = 0;
    for (int i = 0; i < before->n_sets; i++) {
        uint64_t left = 0;
        for (int x = 0; x < before->vocab; x++) {
            const uint64_t units = flow[i * before->vocab + x];
            assert_true(units == 0 || before->set[i] >> x & 1);
            left += units;
            received[x] += units;
        }
        assert_true(before->supply[i] >= left && after->supply[i] == before->supply[i] - left);
        total += left;
    }
    for (int x = 0; x < before->vocab; x++)
        assert_true(before->demand[x] >= received[x] &&
                    after->demand[x] == before->demand[x] - received[x]);
    return total;
}

TEST(the_flow_is_as_large_as_the_smallest_cut, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (uint64_t c = 0; c < spec_test_samples(5000); c++) {
        uint64_t flow[SETS_MAX * V_MAX];
        problem before, after;
        memset(flow, 255, sizeof flow);
        randomise(&before, c, rng);
        after = before;
        spec_set_flow_maximise(flow, after.supply, after.demand, after.set, after.n_sets,
                               after.vocab);
        assert_true(sent(&before, &after, flow) == smallest_cut(&before));
    }
}

/* Set i has tokens i and i + 1 and fills token i. The last set has only token 0, and all sets must
 * exchange tokens to make way for it. */
TEST(an_exchange_can_take_all_tokens)
{
    enum { V = SPEC_SET_FLOW_VOCAB };
    const uint64_t most = UINT64_C(1) << 58; /* 32 such supplies stay below 2^64 */
    uint64_t flow[V * V], supply[V], demand[V];
    uint32_t set[V];
    for (int i = 0; i < V; i++) {
        set[i] = i < V - 1 ? UINT32_C(3) << i : 1;
        supply[i] = demand[i] = most;
    }
    spec_set_flow_maximise(flow, supply, demand, set, V, V);
    for (int i = 0; i < V; i++) {
        assert_true(supply[i] == 0 && demand[i] == 0);
        assert_true(flow[i * V + (i + 1) % V] == most);
    }
}
