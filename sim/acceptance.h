/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance: Monte Carlo rounds of accept/reject alone, without tokens or models.
 * Each draft token has its own 32-bit uniform (sim/chance/lanes.h), compared with its acceptance
 * probability, which is rounded to a multiple of 2^-32. No closed form is sampled. Processes: iid,
 * positional decay, Markov-modulated, and those of a given length or of given rates. */
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
 *              (1+rho)/2 from one token to the next: rho is the correlation of neighbouring
 * states.
 * Processes of a given length emit `length` tokens per round in the mean, the bonus included:
 *   minimum-variance  floor(length) or one more: 1 at the first positions, then the rest, then 0
 *   geometric         iid, with the alpha of that mean
 *   rounded-normal    round(clamp(N(length, 1), 1, K+1)) tokens, of which the clamp moves the mean
 * Further ones: rates, the chances of at least 1, 2, ... accepted tokens; and context, an alpha
 * that depends on the length of the context.
 */
typedef struct {
    enum {
        SPEC_PROCESS_IID,
        SPEC_PROCESS_DECAY,
        SPEC_PROCESS_MARKOV,
        SPEC_PROCESS_MINIMUM_VARIANCE, /* this one and the next have a length, and no alpha */
        SPEC_PROCESS_GEOMETRIC,
        SPEC_PROCESS_ROUNDED_NORMAL,
        SPEC_PROCESS_RATES,  /* no alpha and no length */
        SPEC_PROCESS_CONTEXT /* the same; of rounds of a request, whose context grows: see _check */
    } kind;
    double alpha;  /* in [0,1] */
    double decay;  /* in [0,1] */
    double rho;    /* in [-1,1] */
    double spread; /* >= 0, with alpha +- spread in [0,1] */
    double length; /* tokens per round, at least 1 */
    int n_rates;
    double rate[SPEC_RATES_MAX]; /* in [0,1], none above the one before */
    spec_context_steps context;  /* alpha by tokens of the context at the begin of a round */
} spec_process;

/* "iid", "decay?rate=0.95", "markov?rho=0.5&spread=0.2", at the given alpha, which processes of a
 * length such as "geometric?length=2.5", and "rates?of=0.8/0.5", do not read. */
int spec_acceptance_process_init(spec_process *process, const char *spec, double alpha,
                                 spec_error *error);
bool spec_acceptance_reads_alpha(const spec_process *process);

/* GSL_EDOM if rounds of K draft tokens cannot have the process's length, or if it has fewer rates;
 * for a process by context, as rounds alone have none. */
int spec_acceptance_process_check(const spec_process *process, int K, spec_error *error);
extern const char *const spec_process_usages[]; /* NULL-terminated lines "usage\tsummary" */

/* Simulate n_rounds rounds of K draft tokens on stream `stream` of `seed` and add them to `tally`
 * (rounds, drafted, accepted, emitted, n_accepted, tested, passed; not time). Every instruction set
 * gives the same result. K is 0..SPEC_K_MAX. */
void spec_acceptance_rounds(spec_tally *tally, const spec_process *process, int K,
                            uint64_t n_rounds, uint64_t seed, uint64_t stream);

/* The same through the reference kernel, for tests. */
void spec_acceptance_rounds_ref(spec_tally *tally, const spec_process *process, int K,
                                uint64_t n_rounds, uint64_t seed, uint64_t stream);

#endif
