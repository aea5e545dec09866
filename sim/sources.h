/* sources: where a Monte Carlo run gets its rounds: acceptance processes, and decoding loops over models.
 * A source borrows its config, which must outlive the run. Virtual time is that of spec_costs (sim/decode.h). */
#ifndef SPECLAB_SOURCES_H
#define SPECLAB_SOURCES_H

#include "sim/acceptance.h"
#include "sim/decode.h"
#include "sim/montecarlo.h"

/* Rounds of accept/reject alone, each of time K * draft + verify + fixed. Independent. GSL_EINVAL for K outside
 * 0..SPEC_K_MAX. */
typedef struct {
    spec_process process;
    int K;
    spec_costs costs;
} spec_acceptance_config;
spec_round_source spec_acceptance_source(const spec_acceptance_config *config);

/* Rounds of a decoder. Batch i begins a new text with the target's prompt number i (or the empty context), drops its
 * first `burn_in` rounds, and counts the rounds that follow. After a round that emitted the end of text, or when the
 * text is longer than SPEC_TEXT_MAX or a window would cut the next draft, a new one begins, its prompt chosen by the
 * batch's stream. Not independent: what a text says, and what a policy learnt, outlasts a round; batches are.
 *
 * Where both models are of order 0 without an end of text, in a vocabulary of SPEC_SOURCES_FIXED_VOCAB tokens or more,
 * and chain, fixed and token are the names, the same law is drawn through alias tables (sim/fixed_pair.h), in a time
 * that does not grow with the vocabulary. In smaller ones, which enumeration can prove, the decoder itself is run. */
enum { SPEC_TEXT_MAX = 16384, SPEC_PROMPT_MAX = 1024, SPEC_SOURCES_FIXED_VOCAB = 256 };

typedef struct {
    spec_decoder_config decoder;
    uint64_t burn_in;
} spec_decoding_config;
spec_round_source spec_decoding_source(const spec_decoding_config *config);

#endif
