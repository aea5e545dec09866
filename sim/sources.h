/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sources: rounds for a Monte Carlo run, from acceptance processes and from decoding over models.
 * A source borrows its config, which must outlive the run. Times are computed
 * from spec_costs (sim/decode.h), not measured. */
#ifndef SPECLAB_SOURCES_H
#define SPECLAB_SOURCES_H

#include "sim/acceptance.h"
#include "sim/decode.h"
#include "sim/montecarlo.h"

/* Independent rounds of accept/reject only. Each has K calls, K rows and K verified tokens. The run
 * fails with GSL_EINVAL if K is outside 0..SPEC_K_MAX, and with GSL_EDOM if the process cannot have
 * its length. */
typedef struct {
    spec_process process;
    int K;
    spec_costs costs;
} spec_acceptance_config;
spec_round_source spec_sources_acceptance(const spec_acceptance_config *config);

/* Rounds of a decoder. Batch i begins a new text with the target's prompt number i (or the empty
 * context). It drops its first `burn_in` rounds and counts the rest. A new text begins after the
 * end of text, beyond SPEC_TEXT_MAX tokens, or when the context window would cut the next draft;
 * its prompt is drawn from the batch's random stream. Batches are independent, but rounds are not:
 * the text and the policy's state outlast a round.
 *
 * Alias tables (sim/fixed_pair.h) draw the same law in time independent of the vocabulary. They
 * require models of order 0 without an end of text, at least SPEC_SOURCES_FIXED_VOCAB tokens,
 * drafting chain, policy fixed and rule token. Smaller vocabularies run the decoder itself, because
 * enumeration can prove it there. */
enum { SPEC_TEXT_MAX = 16384, SPEC_PROMPT_MAX = 1024, SPEC_SOURCES_FIXED_VOCAB = 256 };

typedef struct {
    spec_decoder_config decoder;
    uint64_t burn_in;
} spec_decoding_config;
spec_round_source spec_sources_decoding(const spec_decoding_config *config);

#endif
