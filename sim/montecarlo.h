/* montecarlo: an iterator over batches of rounds, in parallel, whose result does not depend on the number of threads.
 * Batch i draws from stream i on whichever thread it runs; results are merged in index order, and the decision to stop is taken only
 * after whole groups of batches. Memory is flat in the number of rounds. Each thread has its own worker; the plan is the caller's. */
#ifndef SPECLAB_MONTECARLO_H
#define SPECLAB_MONTECARLO_H

#include "sim/acceptance.h"
#include "sim/decode.h"
#include "speclab/round.h"

/* Where rounds come from. */
typedef struct {
    const void *self;
    int (*worker_init)(const void *self, void **ret_worker, spec_error *error); /* one for each thread; may be NULL */
    void (*worker_free)(void *worker);
    /* Run n_rounds rounds from stream `stream` of `seed` and add them to the (empty) tally. */
    int (*batch)(const void *self, void *worker, uint64_t seed, uint64_t stream, uint64_t n_rounds, spec_tally *tally,
                 spec_error *error);
    bool independent; /* rounds are independent: the standard error comes from their own variance, else from batch means */
} spec_round_source;

typedef struct {
    uint64_t rounds;         /* stop after this many rounds (the last batch is shortened); 0: no such limit */
    double standard_error;   /* stop when the standard error of the mean n_emitted is at most this; 0: no such limit */
    uint64_t max_rounds;     /* with standard_error: give up here; 0: 2^40 */
    uint64_t batch;          /* rounds in a batch; 0: the source's usual */
    uint64_t seed;
    int threads;             /* 0: all */
} spec_montecarlo_plan;

/* A mean with its standard error (0 batches or rounds: NaN). */
typedef struct {
    double mean, se;
} spec_estimate;

typedef struct {
    spec_round_source source;
    spec_montecarlo_plan plan;
    uint64_t next_batch;
    spec_tally tally;      /* everything so far */
    uint64_t batches;
    double mean[3], m2[3]; /* Welford over batches: tokens per round, passed/tested at the first position, tokens per time */
    bool done;
    void **worker;
    int n_workers;
} spec_montecarlo;

int spec_montecarlo_init(spec_montecarlo *mc, const spec_round_source *source, const spec_montecarlo_plan *plan,
                         spec_error *error);
void spec_montecarlo_free(spec_montecarlo *mc);

/* Run the next group of batches; GSL_SUCCESS, with mc->done set after the last, or the source's failure. `stop` (opt) is looked at
 * between groups: when it becomes true (ctrl-C) the call returns GSL_ESTOP-like GSL_EFAILED with "interrupted". */
int spec_montecarlo_next(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error);

/* All of it. */
int spec_montecarlo_run(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error);

/* Tokens per round; tokens per unit of virtual time. */
spec_estimate spec_montecarlo_emitted(const spec_montecarlo *mc);
spec_estimate spec_montecarlo_rate(const spec_montecarlo *mc);

/* Sources: acceptance processes, and decoding loops over models. The configs must outlive the run. */
typedef struct {
    spec_process process;
    int K;
    spec_costs costs;
} spec_acceptance_config;
spec_round_source spec_acceptance_source(const spec_acceptance_config *config);

/* Batch i begins a new text with the target's prompt number i (or the empty context), drops its first `burn_in` rounds, and counts
 * `rounds in a batch` rounds. After an end of text a new prompt begins. */
typedef struct {
    spec_decoder_config decoder;
    uint64_t burn_in;
} spec_decoding_config;
spec_round_source spec_decoding_source(const spec_decoding_config *config);

#endif
