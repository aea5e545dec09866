/* montecarlo: an iterator over batches of rounds, in parallel, whose result does not depend on the number of threads.
 * Batch i draws from stream i on whichever thread it runs; batches are merged in index order, and a run stops only
 * after whole groups of them. Memory is flat in the number of rounds. Sources (sim/sources.h) are the caller's. */
#ifndef SPECLAB_MONTECARLO_H
#define SPECLAB_MONTECARLO_H

#include "speclab/round.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Batches in a group, whatever the number of threads: also the most threads of any use, and enough batch means for a
 * first standard error. */
enum { SPEC_MONTECARLO_GROUP = 64 };

/* Where rounds come from. What _batch adds to the tally may depend on its arguments and `self` alone, never on what the
 * worker did before. */
typedef struct {
    const void *self;
    int (*worker_init)(const void *self, void **ret_worker, spec_error *error); /* one for each thread; may be NULL */
    void (*worker_free)(void *worker);                                          /* may be NULL with it */
    /* Run n_rounds rounds from stream `stream` of `seed` and add them to the (empty) tally. */
    int (*batch)(const void *self, void *worker, uint64_t seed, uint64_t stream, uint64_t n_rounds, spec_tally *tally,
                 spec_error *error);
    uint64_t usual_batch; /* rounds in a batch where the plan does not say; 0: 1024 */
    bool independent;     /* rounds are independent and take the same time each: standard errors come from the rounds'
                             own variance, else from batch means */
} spec_round_source;

/* A round or a standard error must limit the run; with both, what comes first. */
typedef struct {
    uint64_t rounds;       /* stop after this many rounds (the last batch is shortened); 0: no such limit */
    double standard_error; /* stop when the standard error of the mean n_emitted is at most this; 0: no such limit */
    uint64_t max_rounds;   /* with standard_error: give up here; 0: 2^40 */
    uint64_t batch;        /* rounds in a batch; 0: the source's usual, or less where that made no whole group */
    uint64_t seed;
    int threads;           /* 0: all that OpenMP has; those above SPEC_MONTECARLO_GROUP stay idle */
} spec_montecarlo_plan;

/* A mean with its standard error. NaN where there is none: no rounds, or a standard error of one round or one batch. */
typedef struct {
    double mean, se;
} spec_estimate;

/* Mean and spread of a ratio over batches, weighted by the ratio's denominator: rounds, or time. */
typedef struct {
    double weight, mean, m2;
    uint64_t n; /* batches of positive weight */
} spec_batch_means;

typedef struct {
    spec_round_source source;
    spec_montecarlo_plan plan; /* with batch, max_rounds and threads filled in */
    uint64_t limit;            /* most rounds */
    spec_tally tally;          /* everything so far */
    uint64_t batches;          /* everything so far; the next batch's number, too */
    spec_batch_means emitted;  /* n_emitted a round */
    spec_batch_means first;    /* passed[0] / tested[0]: acceptance of the first draft token */
    spec_batch_means rate;     /* n_emitted per unit of virtual time */
    spec_batch_means hit;      /* rounds whose chain was there, drafted ahead */
    bool done;
    void **worker;                      /* (plan.threads) */
    struct spec_montecarlo_slot *slot;  /* (SPEC_MONTECARLO_GROUP) results of the group at work */
} spec_montecarlo;

/* Rounds in a batch of a run, but for the last. */
uint64_t spec_montecarlo_batch(const spec_round_source *source, const spec_montecarlo_plan *plan);

/* GSL_EINVAL for a plan without a limit, with a negative one or a NaN, or with a negative number of threads. */
int spec_montecarlo_init(spec_montecarlo *mc, const spec_round_source *source, const spec_montecarlo_plan *plan,
                         spec_error *error);
void spec_montecarlo_free(spec_montecarlo *mc);

/* Run the next group of batches; nothing where mc->done is set. GSL_SUCCESS, with mc->done set after the last group; or
 * the status and line of the first batch, by number, that failed. *opt_stop is looked at before each batch: when it is
 * not 0 (ctrl-C) the call fails with GSL_EFAILED and "interrupted". A group that fails or is interrupted counts for
 * nothing: mc keeps what it had and may go on. */
int spec_montecarlo_next(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error);

/* All of it. */
int spec_montecarlo_run(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error);

/* Tokens per round; acceptance rate of the first draft token; tokens per unit of virtual time; share of rounds whose
 * chain was there, drafted ahead. */
spec_estimate spec_montecarlo_emitted(const spec_montecarlo *mc);
spec_estimate spec_montecarlo_first(const spec_montecarlo *mc);
spec_estimate spec_montecarlo_rate(const spec_montecarlo *mc);
spec_estimate spec_montecarlo_hit(const spec_montecarlo *mc);

#endif
