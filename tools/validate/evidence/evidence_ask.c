/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws the starts, drafts, coins and seeds of rounds. */
#include "tools/validate/evidence/evidence_counts.h"

#include "base/wide_rng.h"

#include <assert.h>
#include <string.h>

/* Coins that reveal a wrong comparison or rounding: zero, the smallest step, the middle, the last
 * one. */
static const float edge[] = {0.0f, 0x1p-24f, 0.5f, 1.0f - 0x1p-24f};
enum { EDGES = sizeof edge / sizeof *edge };

bool spec_evidence_is_edge(const spec_round_batch *batch, int i)
{
    return batch->coin != NULL && i % SPEC_EDGE_ROUNDS == 0;
}

static bool is_taken(const spec_fixture *f, const int32_t *token, int node, int x)
{
    for (int i = 0; i < node; i++)
        if (f->parent[i] == f->parent[node] && token[i] == x) return true;
    return false;
}

/* Draws from the row without the tokens of earlier siblings; if these hold all of its mass, any
 * other token with equal probability. */
static int draw_rest(const spec_fixture *f, const int32_t *token, int node, int state, gsl_rng *rng)
{
    const double *row = f->draft_law + (size_t)state * (size_t)f->vocab;
    double rest = 0.0, u = gsl_rng_uniform(rng);
    int others = 0, last = -1;
    for (int x = 0; x < f->vocab; x++) {
        if (is_taken(f, token, node, x)) continue;
        rest += row[x];
        others++;
    }
    assert(others > 0);
    u *= rest > 0.0 ? rest : others;
    for (int x = 0; x < f->vocab; x++) {
        const double weight = is_taken(f, token, node, x) ? 0.0 : rest > 0.0 ? row[x] : 1.0;
        if (weight == 0.0) continue;
        last = x;
        if (u < weight) break;
        u -= weight;
    }
    return last;
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u; /* SplitMix64's finaliser [Steele14] */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Draws coins, floats of 24 bits. In an edge round each coin is at an edge with probability 1/2. */
static void toss(const spec_round_batch *batch, int i, gsl_rng *rng)
{
    const bool edges = spec_evidence_is_edge(batch, i);
    for (int k = 0; k < batch->n_coins && batch->coin != NULL; k++) {
        const uint64_t word = spec_wide_rng_word(rng);
        float *coin = &batch->coin[(size_t)i * (size_t)batch->n_coins + (size_t)k];
        *coin = (float)(word >> 40) * 0x1p-24f;
        if (edges && (word & 1)) *coin = edge[(word >> 1) % EDGES];
    }
}

/* Usually seeds are hashes, sixteen offsets share a seed, and every round is its own request. With
 * SPEC_SEEDS_HIGH_BITS, two seeds differ only in one of the bits 16 to 52, offsets only above their
 * lowest 8, 16 or 32 bits, and two requests only in bit 32. */
static void number_round(const spec_fixture *f, spec_round_batch *batch, int i, uint64_t index,
                         uint64_t seed)
{
    static const int shifts[] = {8, 16, 32};
    const uint64_t group = index / SPEC_SEED_ROUNDS, twins = group / 2;
    batch->request[i] = index;
    batch->seed[i] = mix(seed ^ mix(group));
    batch->offset[i] = index % SPEC_SEED_ROUNDS;
    if (f->seeds == SPEC_SEEDS_CONSECUTIVE) batch->seed[i] = (mix(seed) >> 16) + group;
    if (f->seeds != SPEC_SEEDS_HIGH_BITS) return;
    batch->request[i] = index / 2 | (index & 1) << 32;
    batch->seed[i] = mix(seed ^ mix(twins)) ^ (group & 1) << (16 + twins % 37);
    batch->offset[i] <<= shifts[twins % 3];
}

static void ask_round(const spec_evidence *e, spec_round_batch *batch, int i, uint64_t index,
                      uint64_t seed, gsl_rng *rng)
{
    const spec_fixture *f = e->fixture;
    const size_t nodes = (size_t)batch->nodes;
    int32_t *token = batch->token + (size_t)i * nodes,
            *state = batch->state + (size_t)i * (nodes + 1);
    const int n =
        f->shorter ? (int)spec_wide_rng_below(rng, (uint64_t)f->n_nodes + 1) : f->n_nodes;
    const bool pads =
        f->shorter && e->scope == SPEC_SCOPE_VERIFY && spec_wide_rng_below(rng, 2) == 0;
    const bool distinct =
        f->drawn == SPEC_DRAWN_WITHOUT || (f->drawn == SPEC_DRAWN_FIXED && !f->chain);
    state[0] = f->levels * (int32_t)spec_wide_rng_below(rng, (uint64_t)f->variants);
    for (int k = 0; k < f->n_nodes; k++) {
        const int from = state[f->parent[k] + 1];
        /* rows behind padding belong to an arbitrary state */
        token[k] = k >= n     ? -1
                   : distinct ? draw_rest(f, token, k, from, rng)
                              : spec_evidence_laws_draw(e->laws, &e->laws->draft, from, rng);
        state[k + 1] = k < n ? spec_fixture_next(f, from, token[k])
                             : (int32_t)spec_wide_rng_below(rng, (uint64_t)f->n_states);
    }
    toss(batch, i, rng);
    batch->n_nodes[i] = pads ? f->n_nodes : n;
    number_round(f, batch, i, index, seed);
}

void spec_evidence_ask(const spec_evidence *e, spec_round_batch *batch, int n, uint64_t first_index,
                       uint64_t seed, gsl_rng *rng)
{
    const size_t nodes = (size_t)batch->nodes;
    for (int i = 0; i < n; i++) {
        const size_t at = (size_t)i, before = at - 1;
        if (!e->fixture->repeats || i % 2 == 0) {
            ask_round(e, batch, i, first_index + at, seed, rng);
            continue;
        }
        memcpy(batch->token + at * nodes, batch->token + before * nodes,
               nodes * sizeof *batch->token);
        memcpy(batch->state + at * (nodes + 1), batch->state + before * (nodes + 1),
               (nodes + 1) * sizeof *batch->state);
        if (batch->coin != NULL)
            memcpy(batch->coin + at * (size_t)batch->n_coins,
                   batch->coin + before * (size_t)batch->n_coins,
                   (size_t)batch->n_coins * sizeof *batch->coin);
        batch->n_nodes[i] = batch->n_nodes[before];
        batch->request[i] = batch->request[before];
        batch->seed[i] = batch->seed[before];
        batch->offset[i] = batch->offset[before];
    }
}
