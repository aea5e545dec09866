#include "experiments/conformance/evidence_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_hard_reasons[] = {
    [SPEC_HARD_NONE] = "",
    [SPEC_HARD_IMPOSSIBLE] = "it emitted a token whose probability is 0",
    [SPEC_HARD_RANGE] = "it emitted a token outside the vocabulary",
    [SPEC_HARD_COUNTS] = "n_emitted is not n_accepted + 1, or outside 1 to n_nodes + 1",
    [SPEC_HARD_PATH] = "the tokens that it says it accepted are no path of the draft",
    [SPEC_HARD_INPUT] = "it modified its input",
    [SPEC_HARD_OVERRUN] = "it wrote past its output",
    [SPEC_HARD_UNTOUCHED] = "it did not fill in its output",
    [SPEC_HARD_REPEAT] = "the same seed and offset gave other tokens, though it says that it is seeded",
    [SPEC_HARD_COUNTERS] = "its own counters are not what came out",
};

/* Pairs of tokens are counted where their cells are few. Events of one kind before their bets become logarithms. */
enum { PAIR_CELLS = 1 << 14, FLUSH = 32 };

/* Fractions of the capital that are bet on an event: small ones for small differences. */
static const double fractions[SPEC_LAMBDAS] = {-0.5, -0.08, -0.015, 0.015, 0.08, 0.5};

/* ---- what a row is ----------------------------------------------------------------------------------------------- */

typedef struct {
    double probability;
    int token;
} ranked;

static int by_probability(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->probability != y->probability) return x->probability > y->probability ? -1 : 1;
    return x->token - y->token;
}

static void fill_cdf(double *cdf, const double *row, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) cdf[i] = sum += row[i];
}

static void fill_state(spec_evidence *e, int state, ranked *order)
{
    const double tail = 0.02;
    const int V = e->fixture->vocab;
    const size_t at = (size_t)state * (size_t)V;
    const double *target = e->fixture->target_law + at, *draft = e->fixture->draft_law + at;
    uint8_t *set = e->set + at;
    double below = 0.0, mass = 0.0;
    int mode = 0;
    fill_cdf(e->target_cdf + at, target, V);
    fill_cdf(e->draft_cdf + at, draft, V);
    for (int i = 0; i < V; i++) {
        order[i] = (ranked){target[i], i};
        if (draft[i] > draft[mode]) mode = i;
        if (draft[i] > target[i]) set[i] |= 1 << SPEC_SET_DRAFT_MORE;
        if (target[i] > draft[i]) set[i] |= 1 << SPEC_SET_TARGET_MORE;
    }
    qsort(order, (size_t)V, sizeof *order, by_probability);
    for (int r = 0; r < V; r++) {
        e->rank_below[at + (size_t)order[r].token] = below;
        below += order[r].probability;
    }
    for (int r = V - 1; r > 0 && mass + order[r].probability <= tail; r--) {
        mass += order[r].probability;
        set[order[r].token] |= 1 << SPEC_SET_TAIL;
    }
    set[order[0].token] |= 1 << SPEC_SET_TARGET_MODE;
    set[mode] |= 1 << SPEC_SET_DRAFT_MODE;
    set[0] |= 1 << SPEC_SET_FIRST;
    set[V - 1] |= 1 << SPEC_SET_LAST;
    for (int s = 0; s < SPEC_SETS; s++)
        for (int i = 0; i < V; i++)
            if (set[i] >> s & 1) e->set_mass[state][s] += target[i];
}

bool spec_evidence_counts_pairs(const spec_fixture *fixture)
{
    const size_t V = (size_t)fixture->vocab;
    return fixture->levels > 1 && (size_t)fixture->n_states * V * V <= PAIR_CELLS;
}

int spec_evidence_init(spec_evidence **ret, const spec_fixture *fixture, uint32_t scope, spec_error *error)
{
    const size_t V = (size_t)fixture->vocab, states = (size_t)fixture->n_states, cells = states * V;
    spec_evidence *e = *ret = calloc(1, sizeof *e);
    ranked *order = malloc(V * sizeof *order);
    if (e == NULL || order == NULL) goto failed;
    e->fixture = fixture;
    e->scope = scope;
    e->levels = fixture->levels;
    e->cells = cells;
    e->pairs = spec_evidence_counts_pairs(fixture);
    e->target_cdf = malloc(cells * sizeof *e->target_cdf);
    e->draft_cdf = malloc(cells * sizeof *e->draft_cdf);
    e->rank_below = malloc(cells * sizeof *e->rank_below);
    e->set = calloc(cells, sizeof *e->set);
    e->set_mass = calloc(states, sizeof *e->set_mass);
    e->count = calloc(cells, sizeof *e->count);
    e->visits = calloc(states, sizeof *e->visits);
    e->pair = calloc(e->pairs ? cells * V : 1, sizeof *e->pair);
    e->count_gain = calloc(states, sizeof *e->count_gain);
    if (e->target_cdf == NULL || e->draft_cdf == NULL || e->rank_below == NULL || e->set == NULL ||
        e->set_mass == NULL || e->count == NULL || e->visits == NULL || e->pair == NULL || e->count_gain == NULL)
        goto failed;
    for (int s = 0; s < fixture->n_states; s++) fill_state(e, s, order);
    spec_evidence_clear(e);
    free(order);
    return GSL_SUCCESS;
failed:
    free(order);
    spec_evidence_free(e);
    *ret = NULL;
    return spec_fail(error, GSL_ENOMEM, "out of memory for counts of %zu cells", cells);
}

void spec_evidence_free(spec_evidence *e)
{
    if (e == NULL) return;
    free(e->target_cdf);
    free(e->draft_cdf);
    free(e->rank_below);
    free(e->set);
    free(e->set_mass);
    free(e->count);
    free(e->visits);
    free(e->pair);
    free(e->count_gain);
    free(e);
}

void spec_evidence_clear(spec_evidence *e)
{
    const size_t V = (size_t)e->fixture->vocab;
    e->rounds = e->tokens = e->accepted = e->drafted = e->emitted = 0;
    memset(e->count, 0, e->cells * sizeof *e->count);
    memset(e->visits, 0, (size_t)e->fixture->n_states * sizeof *e->visits);
    if (e->pairs) memset(e->pair, 0, e->cells * V * sizeof *e->pair);
    memset(e->pit, 0, sizeof e->pit);
    memset(e->event, 0, sizeof e->event);
    for (int k = 0; k < SPEC_EVENTS; k++)
        for (int j = 0; j < SPEC_LAMBDAS; j++) e->event[k].factor[j] = 1.0;
    e->hard = (spec_exhibit){.hard = SPEC_HARD_NONE};
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static void count_event(spec_evidence *e, int kind, bool hit, double chance)
{
    spec_event_count *event = &e->event[kind];
    if (!(chance > 0.0 && chance < 1.0)) return;
    event->n++;
    event->hits += hit;
    event->expected += chance;
    event->variance += chance * (1.0 - chance);
    for (int j = 0; j < SPEC_LAMBDAS; j++) event->factor[j] *= 1.0 + fractions[j] * ((hit ? 1.0 : 0.0) - chance);
    if (event->n % FLUSH != 0) return;
    for (int j = 0; j < SPEC_LAMBDAS; j++) {
        event->gain[j] += log(event->factor[j]);
        event->factor[j] = 1.0;
    }
}

static bool close_on_circle(double u, double v)
{
    const double distance = fabs(u - v);
    return distance < 0.125 || distance > 0.875;
}

static void count_pit(spec_evidence *e, int kind, double u)
{
    const int cell = (int)(u * SPEC_PIT_CELLS);
    e->pit[kind][cell < SPEC_PIT_CELLS ? cell : SPEC_PIT_CELLS - 1]++;
}

/* Count a token after a state; returns its place in the cumulative law. */
static double count_token(spec_evidence *e, int state, int token, gsl_rng *rng)
{
    const size_t at = (size_t)state * (size_t)e->fixture->vocab + (size_t)token;
    const double chance = e->fixture->target_law[at], share = gsl_rng_uniform(rng) * chance;
    const double u = e->target_cdf[at] - chance + share;
    e->count[at]++;
    e->visits[state]++;
    e->tokens++;
    count_pit(e, SPEC_PIT_ID, u);
    count_pit(e, SPEC_PIT_RANK, e->rank_below[at] + share);
    return u;
}

static void count_pair(spec_evidence *e, int state, int token, int next)
{
    const size_t V = (size_t)e->fixture->vocab;
    if (e->pairs) e->pair[((size_t)state * V + (size_t)token) * V + (size_t)next]++;
}

static spec_hard what_is_hard(const spec_evidence *e, const spec_batch *batch, int i)
{
    const spec_fixture *f = e->fixture;
    const size_t nodes = (size_t)batch->nodes;
    const int32_t *token = batch->token + (size_t)i * nodes, *emitted = batch->emitted + (size_t)i * (nodes + 1);
    int state = batch->state[(size_t)i * (nodes + 1)], node = -1;
    if (batch->fault[i] & SPEC_FAULT_OVERRUN) return SPEC_HARD_OVERRUN;
    if (batch->fault[i] & SPEC_FAULT_INPUT) return SPEC_HARD_INPUT;
    if (batch->fault[i] & SPEC_FAULT_UNTOUCHED) return SPEC_HARD_UNTOUCHED;
    for (int k = 0; k < batch->n_nodes[i] && e->scope == SPEC_SCOPE_DRAFT; k++)
        if (token[k] < 0 || token[k] >= f->vocab) return SPEC_HARD_RANGE; /* drafted by the sampler */
    const int n_emitted = batch->n_emitted[i];
    if (n_emitted < 1 || n_emitted > batch->n_nodes[i] + 1 || n_emitted > f->levels ||
        batch->n_accepted[i] != n_emitted - 1)
        return SPEC_HARD_COUNTS;
    for (int k = 0; k < n_emitted; k++) {
        if (emitted[k] < 0 || emitted[k] >= f->vocab) return SPEC_HARD_RANGE;
        if (f->target_law[(size_t)state * (size_t)f->vocab + (size_t)emitted[k]] == 0.0) return SPEC_HARD_IMPOSSIBLE;
        state = spec_fixture_next(f, state, emitted[k]);
    }
    for (int k = 0; k < n_emitted - 1; k++) {
        int child = node + 1;
        while (child < batch->n_nodes[i] && (f->parent[child] != node || token[child] != emitted[k])) child++;
        if (child >= batch->n_nodes[i]) return SPEC_HARD_PATH;
        node = child;
    }
    return SPEC_HARD_NONE;
}

static void keep_exhibit(spec_exhibit *ret, const spec_batch *batch, int i, spec_hard hard, uint64_t index)
{
    const size_t nodes = (size_t)batch->nodes, at = (size_t)i;
    *ret = (spec_exhibit){.hard = hard,
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

static bool same_answer(const spec_batch *batch, int i, int j)
{
    const size_t places = (size_t)batch->nodes + 1;
    return batch->n_emitted[i] == batch->n_emitted[j] &&
           memcmp(batch->emitted + (size_t)i * places, batch->emitted + (size_t)j * places,
                  (size_t)batch->n_emitted[i] * sizeof *batch->emitted) == 0;
}

/* The text of a round: what it emitted, and then draws of ours, to the last level. Returns the first token's PIT. */
static double count_text(spec_evidence *e, const spec_batch *batch, int i, gsl_rng *rng)
{
    const spec_fixture *f = e->fixture;
    const size_t places = (size_t)batch->nodes + 1;
    const int32_t *emitted = batch->emitted + (size_t)i * places;
    int state = batch->state[(size_t)i * places], last_state = -1, last = -1;
    double first_pit = 0.0;
    for (int k = 0; k < f->levels; k++) {
        const int token = k < batch->n_emitted[i]
                              ? emitted[k]
                              : spec_evidence_draw(e->target_cdf + (size_t)state * (size_t)f->vocab, f->vocab, rng);
        const double pit = count_token(e, state, token, rng);
        if (k == 0) first_pit = pit;
        if (k == 1) count_event(e, SPEC_EVENT_PLACES, close_on_circle(first_pit, pit), 0.25);
        if (k > 0) count_pair(e, last_state, last, token);
        last_state = state;
        last = token;
        state = spec_fixture_next(f, state, token);
    }
    return first_pit;
}

void spec_evidence_add(spec_evidence *e, const spec_batch *batch, int n, uint64_t first_index, gsl_rng *rng)
{
    const spec_fixture *f = e->fixture;
    const size_t places = (size_t)batch->nodes + 1, V = (size_t)f->vocab;
    double pit_before = -1.0;
    for (int i = 0; i < n; i++) {
        const uint64_t index = first_index + (uint64_t)i;
        const bool repeated = f->repeats && i % 2 == 1;
        spec_hard hard = what_is_hard(e, batch, i);
        if (hard == SPEC_HARD_NONE && repeated && !same_answer(batch, i - 1, i)) hard = SPEC_HARD_REPEAT;
        if (hard != SPEC_HARD_NONE && e->hard.hard == SPEC_HARD_NONE) keep_exhibit(&e->hard, batch, i, hard, index);
        e->rounds++;
        if (hard != SPEC_HARD_NONE) { /* what came is no text */
            pit_before = -1.0;
            continue;
        }
        e->accepted += (uint64_t)batch->n_accepted[i];
        e->emitted += (uint64_t)batch->n_emitted[i];
        e->drafted += (uint64_t)batch->n_nodes[i];
        if (repeated) continue;
        const double pit = count_text(e, batch, i, rng);
        if (i % f->batch == 0) count_pit(e, SPEC_PIT_OPENER, pit);
        if (i % f->batch == f->batch - 1 || i == n - 1) count_pit(e, SPEC_PIT_CLOSER, pit);
        if (pit_before >= 0.0 && !f->repeats) {
            const double *law = f->target_law + (size_t)batch->state[(size_t)i * places] * V;
            const int first = batch->emitted[(size_t)i * places], echo = batch->emitted[(size_t)(i - 1) * places];
            count_event(e, SPEC_EVENT_ECHO, first == echo, law[echo]);
            if (batch->nodes > 0 && batch->token[(size_t)(i - 1) * (places - 1)] >= 0) {
                const int drafted = batch->token[(size_t)(i - 1) * (places - 1)];
                count_event(e, SPEC_EVENT_NEIGHBOUR, first == drafted, law[drafted]);
            }
            count_event(e, SPEC_EVENT_COINS, close_on_circle(pit, pit_before), 0.25);
            count_event(e, SPEC_EVENT_MIRROR, close_on_circle(pit, 1.0 - pit_before), 0.25);
        }
        pit_before = pit;
    }
}

void spec_evidence_add_text(spec_evidence *e, int start, const int32_t *token, int64_t n, gsl_rng *rng)
{
    const spec_fixture *f = e->fixture;
    int state = start, last_state = -1;
    double pit_before = 0.0;
    for (int64_t t = 0; t < n; t++) {
        spec_hard hard = SPEC_HARD_NONE;
        if (token[t] < 0 || token[t] >= f->vocab) hard = SPEC_HARD_RANGE;
        else if (f->target_law[(size_t)state * (size_t)f->vocab + (size_t)token[t]] == 0.0)
            hard = SPEC_HARD_IMPOSSIBLE;
        if (hard != SPEC_HARD_NONE) {
            if (e->hard.hard == SPEC_HARD_NONE)
                e->hard = (spec_exhibit){.hard = hard, .state = state, .n_emitted = 1, .emitted = {token[t]},
                                         .index = (uint64_t)t};
            return;
        }
        const double pit = count_token(e, state, token[t], rng);
        if (t > 0) {
            count_pair(e, last_state, token[t - 1], token[t]);
            count_event(e, SPEC_EVENT_PLACES, close_on_circle(pit, pit_before), 0.25);
        }
        last_state = state;
        pit_before = pit;
        state = spec_fixture_next(f, state, token[t]);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

uint64_t spec_evidence_tokens(const spec_evidence *e)
{
    return e->tokens;
}

uint64_t spec_evidence_rounds(const spec_evidence *e)
{
    return e->rounds;
}

const spec_exhibit *spec_evidence_hard(const spec_evidence *e)
{
    return e->hard.hard != SPEC_HARD_NONE ? &e->hard : NULL;
}

uint64_t spec_evidence_count(const spec_evidence *e, int state, int token)
{
    return e->count[(size_t)state * (size_t)e->fixture->vocab + (size_t)token];
}

uint64_t spec_evidence_visits(const spec_evidence *e, int state)
{
    return e->visits[state];
}

double spec_evidence_accepted(const spec_evidence *e)
{
    return (double)e->accepted / (double)e->rounds;
}
