/* SPDX-License-Identifier: GPL-3.0-or-later */
/* montecarlo: parallel batches of rounds, with results that do not depend on the thread count.
 * Batch i draws from stream i on any thread. Batches are merged in index order within a group, and
 * then groups in index order, so groups may come from several machines. Memory does not grow with
 * the number of rounds. The caller owns the sources (sim/sources.h). */
#ifndef SPECLAB_MONTECARLO_H
#define SPECLAB_MONTECARLO_H

#include "base/thread_pool.h"
#include "speclab/round.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Batches in a group, for any number of threads. It limits how many threads are useful, and gives
 * enough batch means for a first standard error. */
enum { SPEC_MONTECARLO_GROUP = 64 };

/* Maximum number of groups if the run is limited only by rounds. From 2^28 rounds on, batches grow
 * instead. */
enum { SPEC_MONTECARLO_GROUPS_MAX = 4096 };

/* A source of rounds. The tally of a _batch may depend only on its arguments and `self`, never on
 * the worker's earlier batches. */
typedef struct {
    const void *self;
    int (*worker_init)(const void *self, void **ret_worker,
                       spec_error *error); /* one per thread; may be NULL */
    void (*worker_free)(void *worker);     /* NULL if worker_init is NULL */
    /* Runs n_rounds rounds from stream `stream` of `seed` and adds them to the (empty) tally. */
    int (*batch)(const void *self, void *worker, uint64_t seed, uint64_t stream, uint64_t n_rounds,
                 spec_tally *tally, spec_error *error);
    uint64_t usual_batch; /* default number of rounds in a batch; 0: 1024 */
    /* rounds are independent and take the same time: standard errors then come from the variance of
     * single rounds, else from batch means */
    bool independent;
} spec_round_source;

/* The run must have a limit of rounds or of the standard error; with both, the first one reached
 * ends it. */
typedef struct {
    uint64_t rounds; /* stop after this number of rounds, in a shorter last batch; 0: no limit */
    /* stop when the standard error of the mean n_emitted is at most this; 0: no such limit */
    double standard_error;
    uint64_t max_rounds; /* with standard_error: give up here; 0: 2^40 */
    uint64_t batch;      /* rounds in a batch; 0: the source's default, or less to fill one group */
    uint64_t seed;
    spec_thread_pool *opt_pool; /* threads above SPEC_MONTECARLO_GROUP stay idle */
} spec_montecarlo_plan;

/* A mean, its standard error, and the degrees of freedom of that error: rounds or batches minus
 * one. NaN if undefined, which is without rounds, or for the standard error with one round or one
 * batch. */
typedef struct {
    double mean, se, df;
} spec_estimate;

/* Mean and spread of a ratio over batches, weighted by the denominator: rounds, or time. */
typedef struct {
    double weight, mean, m2;
    uint64_t n; /* batches of positive weight */
} spec_batch_means;

/* Sums over the rounds of a run or of a group. */
typedef struct {
    spec_tally tally;
    uint64_t batches;
    spec_batch_means emitted; /* n_emitted per round */
    spec_batch_means first;   /* passed[0] / tested[0]: acceptance of the first draft token */
    spec_batch_means rate;    /* n_emitted per unit of virtual time */
    spec_batch_means hit;     /* share of rounds whose chain was drafted ahead */
} spec_montecarlo_sum;

typedef struct {
    spec_round_source source;
    spec_montecarlo_plan plan; /* with batch and max_rounds filled in */
    uint64_t limit;            /* maximum number of rounds */
    spec_montecarlo_sum sum;   /* sum over all groups so far */
    uint64_t groups;           /* groups so far, and the index of the next */
    bool done;
    int threads;
    void **worker;                     /* (threads) */
    struct spec_montecarlo_slot *slot; /* (SPEC_MONTECARLO_GROUP) results of the current group */
} spec_montecarlo;

/* Return the number of rounds in each batch of a run except the last; the number of groups if the
 * run is limited only by rounds; and the number of rounds in one of these groups. */
uint64_t spec_montecarlo_batch(const spec_round_source *source, const spec_montecarlo_plan *plan);
uint64_t spec_montecarlo_groups(const spec_montecarlo *mc);
uint64_t spec_montecarlo_group_rounds(const spec_montecarlo *mc, uint64_t group);

/* Returns GSL_EINVAL for a plan without a limit, or with a negative or NaN limit. */
int spec_montecarlo_init(spec_montecarlo *mc, const spec_round_source *source,
                         const spec_montecarlo_plan *plan, spec_error *error);
void spec_montecarlo_free(spec_montecarlo *mc);

/* Runs the next group of batches; does nothing if mc->done is set. Returns GSL_SUCCESS, with
 * mc->done set after the last group; or the status and message of the failed batch with the lowest
 * index. *opt_stop is read before each batch: if nonzero (ctrl-C) the call fails with GSL_EFAILED,
 * "interrupted". A failed or interrupted group is dropped: mc keeps its earlier batches and may go
 * on. */
int spec_montecarlo_next(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error);

/* The two halves of _next. _group computes any group, not only the next one; it fails as _next
 * does. _add adds the sum of the next group, wherever it was computed. */
int spec_montecarlo_group(spec_montecarlo *mc, spec_montecarlo_sum *ret, uint64_t group,
                          const volatile int *opt_stop, spec_error *error);
void spec_montecarlo_add(spec_montecarlo *mc, const spec_montecarlo_sum *sum);

/* Runs all groups. */
int spec_montecarlo_run(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error);

/* Return the tokens per round; the acceptance rate of the first draft token; the tokens per unit of
 * virtual time; the share of rounds whose chain was drafted ahead. */
spec_estimate spec_montecarlo_emitted(const spec_montecarlo *mc);
spec_estimate spec_montecarlo_first(const spec_montecarlo *mc);
spec_estimate spec_montecarlo_rate(const spec_montecarlo *mc);
spec_estimate spec_montecarlo_hit(const spec_montecarlo *mc);

#endif
