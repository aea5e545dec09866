/* acceptance: rounds of accept/reject alone, without tokens, as fast as the machine draws random numbers.
 * Every drafted token has its own 32-bit uniform (sim/chance/lanes.h), compared with its acceptance probability rounded to a
 * multiple of 2^-32; nothing is sampled from a closed form. Processes: iid, positional decay, Markov-modulated. */
#ifndef SPECLAB_ACCEPTANCE_H
#define SPECLAB_ACCEPTANCE_H

#include "speclab/round.h"
#include "speclab/status.h"

#include <stdint.h>

/* How the chance that draft token i of a round is accepted, given that it is tested, comes about.
 *   iid        alpha at every position
 *   decay      alpha * decay^i at position i = 0, 1, ...
 *   markov     a hidden state, high or low, each with probability 1/2 at the start of a round, stays with probability
 *              (1+rho)/2 from one token to the next; the chance is alpha + spread in the high state, alpha - spread in
 *              the low one. rho is the correlation of the states of neighbouring tokens. */
typedef struct {
    enum { SPEC_PROCESS_IID, SPEC_PROCESS_DECAY, SPEC_PROCESS_MARKOV } kind;
    double alpha;  /* in [0,1] */
    double decay;  /* in [0,1] */
    double rho;    /* in [-1,1] */
    double spread; /* >= 0, with alpha +- spread in [0,1] */
} spec_process;

/* "iid", "decay?rate=0.95", "markov?rho=0.5&spread=0.2", at the given alpha. */
int spec_process_init(spec_process *process, const char *spec, double alpha, spec_error *error);
extern const char *const spec_process_usages[]; /* NULL-terminated "usage\tsummary" lines for lists */

/* Simulate n_rounds rounds of K draft tokens on stream `stream` of `seed` and add them to `tally` (rounds, drafted,
 * accepted, emitted, n_accepted, tested, passed; not time). The result is the same for every instruction set. K is
 * 0..SPEC_K_MAX. */
void spec_acceptance_rounds(spec_tally *tally, const spec_process *process, int K, uint64_t n_rounds, uint64_t seed,
                            uint64_t stream);

/* The same through the reference kernel, for tests. */
void spec_acceptance_rounds_ref(spec_tally *tally, const spec_process *process, int K, uint64_t n_rounds, uint64_t seed,
                                uint64_t stream);

#endif
