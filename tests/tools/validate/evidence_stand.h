/* SPDX-License-Identifier: GPL-3.0-or-later */
/* evidence_stand: a fixture in one scope, its evidence, and a batch that the test answers.
 * ask() fills in rounds, emit() answers each with one token, take() counts them. A stand owns all
 * of it. */
#ifndef SPECLAB_TESTS_EVIDENCE_STAND_H
#define SPECLAB_TESTS_EVIDENCE_STAND_H

#include "tools/validate/evidence/evidence_counts.h"

#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { ROUNDS = 1024 };


typedef struct {
    spec_fixture fixture;
    spec_evidence *evidence, *fork;
    spec_round_batch batch;
    void *memory;
    gsl_rng *rng;
} stand;

static inline void open_stand(stand *s, const char *name, uint32_t scope)
{
    const spec_fixture_kind *kind;
    assert_int_equal(spec_fixture_find(&kind, name, NULL), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(&s->fixture, kind, NULL), GSL_SUCCESS);
    assert_int_equal(spec_evidence_init(&s->evidence, &s->fixture, scope, NULL), GSL_SUCCESS);
    const size_t most = (size_t)(ROUNDS * s->fixture.levels);
    assert_int_equal(spec_evidence_fork(&s->fork, s->evidence, most, NULL), GSL_SUCCESS);
    s->memory = calloc(1, spec_round_batch_bytes(ROUNDS, s->fixture.n_nodes, 3));
    spec_round_batch_lay(&s->batch, s->memory, ROUNDS, s->fixture.n_nodes, 3);
    s->batch.coin = NULL;
    s->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(s->rng, 42, 0);
}

static inline void stand_free(stand *s)
{
    spec_evidence_free(s->fork);
    spec_evidence_free(s->evidence);
    spec_fixture_close(&s->fixture);
    gsl_rng_free(s->rng);
    free(s->memory);
}

/* Asks the next batch of a run. */
static inline void ask(stand *s, int n, uint64_t b)
{
    spec_rng_stream(s->rng, 42, b);
    spec_evidence_clear(s->fork);
    spec_evidence_ask(s->evidence, &s->batch, n, b * (uint64_t)n, 42, s->rng);
}

static inline void take(stand *s, int n, uint64_t b)
{
    spec_evidence_add(s->fork, &s->batch, n, b * (uint64_t)n, s->rng);
    spec_evidence_merge(s->evidence, s->fork);
}

static inline int root(const stand *s, int i)
{
    return s->batch.state[(size_t)i * (size_t)(s->batch.nodes + 1)];
}

static inline const double *law_of(const stand *s, int state)
{
    return s->fixture.target_law + (size_t)state * (size_t)s->fixture.vocab;
}

static inline int at_share(const double *law, int V, double u)
{
    int x = 0;
    for (; x < V - 1 && u >= law[x]; x++) u -= law[x];
    while (law[x] == 0.0) x--;
    return x;
}

static inline int drafted_by(const stand *s, int i)
{
    return s->batch.token[(size_t)i * (size_t)s->batch.nodes];
}

/* Round i emits this one token, and accepts none. */
static inline void emit(stand *s, int i, int token)
{
    s->batch.emitted[(size_t)i * (size_t)(s->batch.nodes + 1)] = token;
    s->batch.n_emitted[i] = 1;
    s->batch.n_accepted[i] = 0;
    s->batch.fault[i] = 0;
}

static inline const spec_finding *finding_of(const spec_finding *all, int n, const char *name)
{
    for (int k = 0; k < n; k++)
        if (strcmp(all[k].name, name) == 0) return &all[k];
    fail_msg("the test '%s' does not apply", name);
    return NULL;
}

/* Returns the most probable token at the root, or the one with the largest excess over another
 * row. */
static inline int best_of(const stand *s, int i, const double *less)
{
    const double *law = law_of(s, root(s, i));
    int best = 0;
    for (int x = 1; x < s->fixture.vocab; x++)
        if (law[x] - (less != NULL ? less[x] : 0.0) > law[best] - (less != NULL ? less[best] : 0.0))
            best = x;
    return best;
}

#endif
