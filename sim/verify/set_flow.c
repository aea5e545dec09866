/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verify/set_flow.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* The level of a token is the number of exchanges that make room for one more unit. At level 0 it
 * has demand left. At level k, a set that sends to it can send to a token of level k - 1
 * instead. */
typedef struct {
    uint64_t *flow, *demand;
    const uint32_t *set;
    int n_sets, vocab;
    uint32_t level[SPEC_SET_FLOW_VOCAB + 1]; /* the tokens of each level; empty from n_levels on */
    int n_levels;
    int next[SPEC_SET_FLOW_VOCAB]; /* the first set whose exchanges from a token may be possible */
} network;

/* Fills the levels breadth first, from the tokens with demand. */
static void fill_levels(network *w)
{
    uint32_t seen = 0;
    memset(w->level, 0, sizeof w->level);
    memset(w->next, 0, sizeof w->next);
    for (int x = 0; x < w->vocab; x++)
        if (w->demand[x] > 0) w->level[0] |= UINT32_C(1) << x;
    for (w->n_levels = 0; w->level[w->n_levels] != 0; w->n_levels++) {
        const uint32_t last = w->level[w->n_levels];
        seen |= last;
        for (int i = 0; i < w->n_sets; i++) {
            if ((w->set[i] & last) == 0) continue;
            const uint64_t *const flow = w->flow + (size_t)i * (size_t)w->vocab;
            for (int x = 0; x < w->vocab; x++)
                if (flow[x] > 0) w->level[w->n_levels + 1] |= (UINT32_C(1) << x) & ~seen;
        }
    }
}

/* Makes room for up to `most` units at a token of this level; returns how many. */
static uint64_t send(network *w, int token, int level, uint64_t most)
{
    uint64_t sent = 0;
    if (level == 0) {
        sent = w->demand[token] < most ? w->demand[token] : most;
        w->demand[token] -= sent;
        return sent;
    }
    for (; w->next[token] < w->n_sets; w->next[token]++) {
        const int i = w->next[token];
        uint64_t *const flow = w->flow + (size_t)i * (size_t)w->vocab;
        const uint32_t below = w->set[i] & w->level[level - 1];
        for (int x = 0; x < w->vocab; x++) {
            if (!(below >> x & 1) || flow[token] == 0) continue;
            const uint64_t rest = most - sent;
            const uint64_t moved = send(w, x, level - 1, flow[token] < rest ? flow[token] : rest);
            flow[token] -= moved;
            flow[x] += moved;
            sent += moved;
            if (sent == most) return sent;
        }
    }
    return sent;
}

/* Sends what the i-th set can send along its shortest paths; returns how much. */
static uint64_t send_supply(network *w, int i, uint64_t supply)
{
    uint64_t *const flow = w->flow + (size_t)i * (size_t)w->vocab;
    uint64_t sent = 0;
    int level = 0;
    while (level < w->n_levels && (w->set[i] & w->level[level]) == 0) level++;
    const uint32_t nearest = w->set[i] & w->level[level];
    for (int x = 0; x < w->vocab && sent < supply; x++) {
        if (!(nearest >> x & 1)) continue;
        const uint64_t moved = send(w, x, level, supply - sent);
        flow[x] += moved;
        sent += moved;
    }
    return sent;
}

void spec_set_flow_maximise(uint64_t *ret_flow, uint64_t *supply, uint64_t *demand,
                            const uint32_t *set, int n_sets, int vocab)
{
    assert(n_sets >= 0 && vocab >= 1 && vocab <= SPEC_SET_FLOW_VOCAB);
    network w = {.flow = ret_flow, .demand = demand, .set = set, .n_sets = n_sets, .vocab = vocab};
    uint64_t sent;
    memset(ret_flow, 0, (size_t)n_sets * (size_t)vocab * sizeof *ret_flow);
    do {
        fill_levels(&w);
        sent = 0;
        for (int i = 0; i < n_sets; i++) {
            const uint64_t moved = send_supply(&w, i, supply[i]);
            supply[i] -= moved;
            sent += moved;
        }
    } while (sent > 0);
}
