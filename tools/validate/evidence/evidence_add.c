/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks answered rounds and texts against the hard rules, and counts those that obey them. */
#include "tools/validate/evidence/draft_paths.h"
#include "tools/validate/evidence/evidence_counts.h"

#include "analysis/statistics/evalue.h"
#include "base/wide_rng.h"

#include <math.h>
#include <string.h>

const char *const spec_hard_reasons[] = {
    [SPEC_HARD_NONE] = "",
    [SPEC_HARD_IMPOSSIBLE] = "it emitted a token whose probability is 0",
    [SPEC_HARD_RANGE] = "it emitted a token outside the vocabulary",
    [SPEC_HARD_COUNTS] = "n_emitted is not n_accepted + 1, or outside 1 to n_nodes + 1",
    [SPEC_HARD_PATH] = "the tokens that it says it accepted are not a path of the draft",
    [SPEC_HARD_INPUT] = "it modified its input",
    [SPEC_HARD_OVERRUN] = "it wrote past the end of its output",
    [SPEC_HARD_UNTOUCHED] = "it did not fill in its output",
    [SPEC_HARD_REPEAT] =
        "the same seed and offset gave other tokens, though it says that it is seeded",
    [SPEC_HARD_COUNTERS] = "its own counters contradict its output",
};

const char *const spec_place_names[] = {"first", "later", "text", "correction", "bonus", NULL};

/* How many events of one kind pass before their bets take a logarithm. */
enum { FLUSH = 16 };

const double spec_deviations[SPEC_LAMBDAS] = {-0.2,  -0.06, -0.02, -0.006, -0.002,
                                              0.002, 0.006, 0.02,  0.06,   0.2};

/* ---- hard rules ------------------------------------------------------------------------------ */

static spec_hard what_is_hard(const spec_evidence *e, const spec_round_batch *batch, int i)
{
    const spec_fixture *f = e->fixture;
    const size_t nodes = (size_t)batch->nodes;
    const int32_t *token = batch->token + (size_t)i * nodes,
                  *emitted = batch->emitted + (size_t)i * (nodes + 1);
    int state = batch->state[(size_t)i * (nodes + 1)];
    spec_places places = SPEC_PLACES_ROOT;
    if (batch->fault[i] & SPEC_FAULT_OVERRUN) return SPEC_HARD_OVERRUN;
    if (batch->fault[i] & SPEC_FAULT_INPUT) return SPEC_HARD_INPUT;
    if (batch->fault[i] & SPEC_FAULT_UNTOUCHED) return SPEC_HARD_UNTOUCHED;
    const int n_emitted = batch->n_emitted[i];
    if (n_emitted < 1 || n_emitted > batch->n_nodes[i] + 1 || n_emitted > f->levels ||
        batch->n_accepted[i] != n_emitted - 1)
        return SPEC_HARD_COUNTS;
    for (int k = 0; k < batch->n_nodes[i] && e->scope == SPEC_SCOPE_DRAFT; k++)
        if (token[k] < 0 || token[k] >= f->vocab) return SPEC_HARD_RANGE;
    for (int k = 0; k < n_emitted; k++) {
        if (emitted[k] < 0 || emitted[k] >= f->vocab) return SPEC_HARD_RANGE;
        if (f->target_law[(size_t)state * (size_t)f->vocab + (size_t)emitted[k]] == 0.0)
            return SPEC_HARD_IMPOSSIBLE;
        state = spec_fixture_next(f, state, emitted[k]);
    }
    for (int k = 0; k < n_emitted - 1 && places != 0; k++)
        places = spec_draft_paths_next(f, token, batch->n_nodes[i], places, emitted[k]);
    return places != 0 ? SPEC_HARD_NONE : SPEC_HARD_PATH;
}

void spec_evidence_exhibit(spec_exhibit *ret, const spec_round_batch *batch, int i, uint64_t index)
{
    const size_t nodes = (size_t)batch->nodes, at = (size_t)i;
    *ret = (spec_exhibit){.hard = SPEC_HARD_NONE,
                          .state = batch->state[at * (nodes + 1)],
                          .n_nodes = batch->n_nodes[i],
                          .n_emitted = batch->n_emitted[i],
                          .n_accepted = batch->n_accepted[i],
                          .seed = batch->seed[i],
                          .offset = batch->offset[i],
                          .request = batch->request[i],
                          .index = index};
    memcpy(ret->token, batch->token + at * nodes, nodes * sizeof *ret->token);
    memcpy(ret->node_state, batch->state + at * (nodes + 1), (nodes + 1) * sizeof *ret->node_state);
    memcpy(ret->emitted, batch->emitted + at * (nodes + 1), (nodes + 1) * sizeof *ret->emitted);
}

static bool same_answer(const spec_round_batch *batch, int i, int j)
{
    const size_t places = (size_t)batch->nodes + 1;
    return batch->n_emitted[i] == batch->n_emitted[j] &&
           memcmp(batch->emitted + (size_t)i * places, batch->emitted + (size_t)j * places,
                  (size_t)batch->n_emitted[i] * sizeof *batch->emitted) == 0;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Sets the stakes of bets on an event: no bet may risk more than nine tenths of its capital. */
static void size_bets(double lambda[SPEC_LAMBDAS], double chance, double variance)
{
    const double unit = 1.0 / sqrt(variance), least = -0.9 / (1.0 - chance), most = 0.9 / chance;
    for (int j = 0; j < SPEC_LAMBDAS; j++) {
        const double wanted = spec_deviations[j] * unit;
        lambda[j] = wanted < least ? least : wanted > most ? most : wanted;
    }
}

void spec_evidence_counts_events(spec_event_count *event, uint64_t hits, uint64_t n, double chance)
{
    const double variance = chance * (1.0 - chance), all = (double)n;
    double lambda[SPEC_LAMBDAS];
    if (!(variance > 0.0) || n == 0) return;
    size_bets(lambda, chance, variance);
    event->n += n;
    event->hits += hits;
    event->expected += all * chance;
    event->variance += all * variance;
    event->third += all * variance * (1.0 - 2.0 * chance);
    for (int j = 0; j < SPEC_LAMBDAS; j++)
        event->gain[j] += spec_evalue_event(hits, n, chance, lambda[j]);
}

/* The same for one event, with one logarithm per FLUSH events. */
void spec_evidence_counts_event(spec_event_count *event, bool hit, double chance)
{
    const double variance = chance * (1.0 - chance), score = (hit ? 1.0 : 0.0) - chance;
    double lambda[SPEC_LAMBDAS];
    if (!(variance > 0.0)) return;
    size_bets(lambda, chance, variance);
    event->n++;
    event->hits += hit;
    event->expected += chance;
    event->variance += variance;
    event->third += variance * (1.0 - 2.0 * chance);
    for (int j = 0; j < SPEC_LAMBDAS; j++) event->factor[j] *= 1.0 + lambda[j] * score;
    if (event->n % FLUSH != 0) return;
    for (int j = 0; j < SPEC_LAMBDAS; j++) {
        event->gain[j] += log(event->factor[j]);
        event->factor[j] = 1.0;
    }
}

static void count_near(spec_evidence *e, int kind, double u, double v)
{
    const double distance = fabs(u - v);
    e->near[kind][distance < 0.125 || distance > 0.875]++;
}

static void count_pit(spec_evidence *e, int kind, double u)
{
    const int cell = (int)(u * SPEC_PIT_CELLS);
    e->pit[kind][cell < SPEC_PIT_CELLS ? cell : SPEC_PIT_CELLS - 1]++;
}

/* Counts a token of the sampler; returns its PIT. */
static double count_token(spec_evidence *e, const spec_came_token *came, gsl_rng *rng)
{
    const size_t at = (size_t)came->state * (size_t)e->fixture->vocab + (size_t)came->token;
    const double chance = e->fixture->target_law[at], share = gsl_rng_uniform(rng) * chance;
    const double u = e->laws->target.cdf[at] - chance + share;
    spec_evidence_came(e, came);
    count_pit(e, SPEC_PIT_ID, u);
    count_pit(e, SPEC_PIT_RANK, e->laws->rank_below[at] + share);
    return u;
}

static bool has_child(const spec_fixture *f, const int32_t *token, int n_nodes, int node)
{
    for (int i = node + 1; i < n_nodes; i++)
        if (f->parent[i] == node && token[i] >= 0) return true;
    return false;
}

unsigned spec_evidence_places(const spec_fixture *f, const spec_round_batch *batch, int i, int k)
{
    const size_t nodes = (size_t)batch->nodes;
    const int32_t *token = batch->token + (size_t)i * nodes,
                  *emitted = batch->emitted + (size_t)i * (nodes + 1);
    const unsigned place = 1u << (k == 0 ? SPEC_PLACE_FIRST : SPEC_PLACE_LATER);
    const int n = batch->n_nodes[i];
    uint64_t reached = 1; /* bit 0: the root; bit j + 1: node j */
    bool inner = false, leaf = false;
    if (k < batch->n_accepted[i]) return place;
    for (int depth = 0; depth < k; depth++) {
        uint64_t next = 0;
        for (int j = 0; j < n; j++)
            if (reached >> (f->parent[j] + 1) & 1 && token[j] == emitted[depth])
                next |= (uint64_t)2 << j;
        reached = next;
    }
    for (int j = -1; j < n; j++)
        if (reached >> (j + 1) & 1) *(has_child(f, token, n, j) ? &inner : &leaf) = true;
    return place | (inner && !leaf   ? 1u << SPEC_PLACE_CORRECTION
                    : leaf && !inner ? 1u << SPEC_PLACE_BONUS
                                     : 0);
}

/* Counts the text of a round and, for blocks, completes it with draws up to the last level. Returns
 * the PIT of the first token. */
static double count_text(spec_evidence *e, const spec_round_batch *batch, int i, gsl_rng *rng)
{
    const spec_fixture *f = e->fixture;
    const size_t places = (size_t)batch->nodes + 1;
    const int32_t *emitted = batch->emitted + (size_t)i * places;
    const int n_emitted = batch->n_emitted[i];
    int state = batch->state[(size_t)i * places];
    double first = 0.0, before = 0.0;
    for (int k = 0; k < n_emitted; k++) {
        const unsigned at = spec_evidence_places(f, batch, i, k);
        const double pit =
            count_token(e, &(spec_came_token){state, emitted[k], k == 0, (uint8_t)at}, rng);
        if (k == 0) first = pit;
        else count_near(e, SPEC_NEAR_PLACES, pit, before);
        before = pit;
        state = spec_fixture_next(f, state, emitted[k]);
    }
    for (int k = n_emitted; k < e->laws->block; k++) {
        const int token = spec_evidence_laws_draw(e->laws, &e->laws->target, state, rng);
        spec_evidence_came(e, &(spec_came_token){.state = state, .token = token});
        state = spec_fixture_next(f, state, token);
    }
    return first;
}

/* In scope V, the first child of the root is drawn from the root's draft row, independently of the
 * sampler. */
static void count_kept(spec_evidence *e, const spec_round_batch *batch, int i)
{
    const size_t nodes = (size_t)batch->nodes,
                 state = (size_t)batch->state[(size_t)i * (nodes + 1)];
    const uint8_t *set = e->laws->set + state * (size_t)e->fixture->vocab,
                  more = 1 << SPEC_SET_DRAFT_MORE;
    if (batch->n_nodes[i] < 1 || batch->token[(size_t)i * nodes] < 0) return;
    const bool drafted = set[batch->token[(size_t)i * nodes]] & more;
    const bool came = set[batch->emitted[(size_t)i * (nodes + 1)]] & more;
    e->kept[state][drafted][came]++;
}

/* Counts coincidences between a round and an earlier one of the batch. */
static void count_neighbours(spec_evidence *e, const spec_round_batch *batch, size_t here,
                             size_t there)
{
    const size_t nodes = (size_t)batch->nodes, places = nodes + 1, V = (size_t)e->fixture->vocab;
    const double *law = e->fixture->target_law + (size_t)batch->state[here * places] * V;
    const double *law_there = e->fixture->target_law + (size_t)batch->state[there * places] * V;
    const int first = batch->emitted[here * places], echo = batch->emitted[there * places];
    spec_evidence_counts_event(&e->event[SPEC_EVENT_ECHO], first == echo, law[echo]);
    if (nodes == 0 || e->scope != SPEC_SCOPE_VERIFY) return;
    const int drafted = batch->token[there * nodes], drafting = batch->token[here * nodes];
    if (drafted >= 0)
        spec_evidence_counts_event(&e->event[SPEC_EVENT_NEIGHBOUR], first == drafted, law[drafted]);
    if (drafting >= 0)
        spec_evidence_counts_event(&e->event[SPEC_EVENT_FOLLOWER], echo == drafting,
                                   law_there[drafting]);
}

static spec_hard judge_round(const spec_evidence *e, const spec_round_batch *batch, int i,
                             bool repeated)
{
    const spec_hard hard = what_is_hard(e, batch, i);
    return hard != SPEC_HARD_NONE || !repeated || same_answer(batch, i - 1, i) ? hard
                                                                               : SPEC_HARD_REPEAT;
}

/* Chooses the one round of a call that counts, if its rounds may depend on each other. It does so
 * after the sampler has answered, so that no answer can depend on the choice. */
static int choose(const spec_fixture *f, int begin, int n, gsl_rng *rng)
{
    const int rounds = n - begin < f->batch ? n - begin : f->batch;
    return begin + (int)spec_wide_rng_below(rng, (uint64_t)rounds);
}

enum { DISTANCES = 6, LATEST = SPEC_SEED_ROUNDS << (DISTANCES - 1) };

/* Returns how many rounds lie between round i and the earlier one that it is compared with, which
 * has another seed but the same offset. Related seeds are next to each other. Other seeds are also
 * compared 32, 64, ... 512 rounds apart within a call, to catch a generator that counts requests in
 * too few bits. */
static int seeds_apart(const spec_fixture *f, int i)
{
    const int far = SPEC_SEED_ROUNDS << i / SPEC_SEED_ROUNDS % DISTANCES;
    return f->seeds == SPEC_SEEDS_HASHED && i % f->batch >= far ? far : SPEC_SEED_ROUNDS;
}

void spec_evidence_add(spec_evidence *e, const spec_round_batch *batch, int n, uint64_t first_index,
                       gsl_rng *rng)
{
    const spec_fixture *f = e->fixture;
    double pit_of[LATEST]; /* PIT of the latest rounds; -1: none */
    double pit_last = 0.0;
    int last = -1, chosen = -1; /* last: the latest counted round */
    for (int k = 0; k < LATEST; k++) pit_of[k] = -1.0;
    e->salt += spec_wide_rng_word(rng);
    for (int i = 0; i < n; i++) {
        const uint64_t index = first_index + (uint64_t)i;
        /* If the rounds of a call depend on each other, the same seed need not give the same
         * round. */
        const bool repeated = f->repeats && i % 2 == 1 && !f->dependent;
        const spec_hard hard = judge_round(e, batch, i, repeated);
        const int earlier = i - seeds_apart(f, i);
        double *slot = &pit_of[i % LATEST],
               seed_before = earlier < 0 ? -1.0 : pit_of[earlier % LATEST];
        *slot = -1.0;
        if (f->dependent && i % f->batch == 0) chosen = choose(f, i, n, rng);
        e->rounds++;
        if (hard != SPEC_HARD_NONE) { /* its tokens are not counted */
            if (e->hard.hard == SPEC_HARD_NONE) {
                spec_evidence_exhibit(&e->hard, batch, i, index);
                e->hard.hard = hard;
            }
            continue;
        }
        e->accepted += (uint64_t)batch->n_accepted[i];
        e->emitted += (uint64_t)batch->n_emitted[i];
        if (repeated || spec_evidence_is_edge(batch, i) || (f->dependent && i != chosen)) continue;
        const int there = last;
        const double before = pit_last;
        last = i;
        const double pit = *slot = pit_last = count_text(e, batch, i, rng);
        if (e->scope == SPEC_SCOPE_VERIFY) count_kept(e, batch, i);
        count_pit(e, SPEC_PIT_FIRST, pit);
        if (i % f->batch == 0) count_pit(e, SPEC_PIT_OPENER, pit);
        if (i % f->batch == f->batch - 1 || i == n - 1) count_pit(e, SPEC_PIT_CLOSER, pit);
        if (f->repeats) continue;
        if (there >= 0 && (f->dependent || there == i - 1)) {
            count_neighbours(e, batch, (size_t)i, (size_t)there);
            count_near(e, SPEC_NEAR_COINS, pit, before);
            count_near(e, SPEC_NEAR_MIRROR, pit, 1.0 - before);
        }
        if (seed_before >= 0.0) count_near(e, SPEC_NEAR_SEEDS, pit, seed_before);
    }
}

void spec_evidence_add_text(spec_evidence *e, int start, const int32_t *token, int64_t n,
                            gsl_rng *rng)
{
    const spec_fixture *f = e->fixture;
    int state = start;
    double before = 0.0;
    const double text_before = e->text_pit;
    e->salt += spec_wide_rng_word(rng);
    e->text_pit = -1.0;
    for (int64_t t = 0; t < n; t++) {
        spec_hard hard = SPEC_HARD_NONE;
        if (token[t] < 0 || token[t] >= f->vocab) hard = SPEC_HARD_RANGE;
        else if (f->target_law[(size_t)state * (size_t)f->vocab + (size_t)token[t]] == 0.0)
            hard = SPEC_HARD_IMPOSSIBLE;
        if (hard != SPEC_HARD_NONE) {
            if (e->hard.hard == SPEC_HARD_NONE)
                e->hard = (spec_exhibit){.hard = hard,
                                         .state = state,
                                         .n_emitted = 1,
                                         .emitted = {token[t]},
                                         .index = (uint64_t)t};
            return;
        }
        const double pit =
            count_token(e, &(spec_came_token){state, token[t], t == 0, 1u << SPEC_PLACE_TEXT}, rng);
        if (t > 0) count_near(e, SPEC_NEAR_PLACES, pit, before);
        if (t == 0) {
            count_pit(e, SPEC_PIT_FIRST, pit);
            if (text_before >= 0.0 && !f->dependent)
                count_near(e, SPEC_NEAR_SEEDS, pit, text_before);
            e->text_pit = pit;
        }
        before = pit;
        state = spec_fixture_next(f, state, token[t]);
    }
}
