/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance: Monte Carlo rounds of accept/reject only, without tokens or models.
 * Each draft token draws a 32-bit uniform (sim/chance/lanes.h) and compares it with its acceptance
 * probability, rounded to a multiple of 2^-32. It never samples from a closed form. The process is
 * iid, decays with the position, is Markov-modulated, has a given length or given rates, or depends
 * on the context. */
#ifndef SPECLAB_ACCEPTANCE_H
#define SPECLAB_ACCEPTANCE_H

#include "base/context_steps.h"
#include "speclab/round.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SPEC_RATES_MAX = 64 };

/* The acceptance process: the chance that draft token i of a round is accepted if it is tested.
 *   iid        alpha at every position
 *   decay      alpha * decay^i at position i = 0, 1, ...
 *   markov     alpha + spread in the high state, alpha - spread in the low one. The hidden state is
 *              high or low with probability 1/2 at the start of a round, and stays with probability
 *              (1+rho)/2 from one token to the next: rho is the correlation of neighbours
 * Processes of a given length emit `length` tokens per round on average, the bonus included:
 *   minimum-variance  floor(length) or one more: 1 at the first positions, then the rest, then 0
 *   geometric         iid, with the alpha of that mean
 *   rounded-normal    round(clamp(N(length, 1), 1, K+1)) tokens; the clamp moves the mean
 * Two more processes are `rates`, the chances of at least 1, 2, ... accepted tokens, and `context`,
 * an alpha that depends on the length of the context. */
typedef struct {
    enum {
        SPEC_PROCESS_IID,
        SPEC_PROCESS_DECAY,
        SPEC_PROCESS_MARKOV,
        SPEC_PROCESS_MINIMUM_VARIANCE, /* this one and the next two take a length instead of
                                        * alpha */
        SPEC_PROCESS_GEOMETRIC,
        SPEC_PROCESS_ROUNDED_NORMAL,
        SPEC_PROCESS_RATES,  /* needs neither alpha nor length */
        SPEC_PROCESS_CONTEXT /* the same; only for requests, whose context grows: see _check */
    } kind;
    double alpha;  /* in [0,1] */
    double decay;  /* in [0,1] */
    double rho;    /* in [-1,1] */
    double spread; /* >= 0, with alpha +- spread in [0,1] */
    double length; /* tokens per round, at least 1 */
    int n_rates;
    double rate[SPEC_RATES_MAX]; /* in [0,1], not increasing */
    /* alpha as a function of the context length when the round begins */
    spec_context_steps context;
} spec_process;

/* Parses "iid", "decay?rate=0.95" or "markov?rho=0.5&spread=0.2" at the given alpha. Processes that
 * take a length, such as "geometric?length=2.5", and "rates?of=0.8/0.5" ignore alpha. */
int spec_acceptance_process_init(spec_process *process, const char *spec, double alpha,
                                 spec_error *error);
bool spec_acceptance_reads_alpha(const spec_process *process);

/* Returns GSL_EDOM if rounds of K draft tokens cannot have the process's length, if it has fewer
 * than K rates, or if its alpha depends on the context, because a single round has no context. */
int spec_acceptance_process_check(const spec_process *process, int K, spec_error *error);
extern const char *const spec_process_usages[]; /* NULL-terminated lines "usage\tsummary" */

/* Simulates n_rounds rounds of K draft tokens on stream `stream` of `seed` and adds them to `tally`
 * (rounds, drafted, accepted, emitted, n_accepted, tested, passed; not time). Every instruction set
 * gives the same result. K is 0..SPEC_K_MAX. */
void spec_acceptance_rounds(spec_tally *tally, const spec_process *process, int K,
                            uint64_t n_rounds, uint64_t seed, uint64_t stream);

/* Does the same with the reference kernel, for tests. */
void spec_acceptance_rounds_ref(spec_tally *tally, const spec_process *process, int K,
                                uint64_t n_rounds, uint64_t seed, uint64_t stream);

#endif
