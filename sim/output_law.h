/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output_law: the exact law of a decoder's first m tokens, by enumeration of every decision.
 * It runs the decoding loop itself, up to a fixed number of tokens (never of rounds). Sums are
 * compensated, so the error is about 1e-15 for any number of branches. The branches are counted,
 * and their number is limited. The law owns its arrays. */
#ifndef SPECLAB_OUTPUT_LAW_H
#define SPECLAB_OUTPUT_LAW_H

#include "sim/decode.h"

#define SPEC_OUTPUT_LAW_LIMIT 50000000ull /* branches, unless the caller sets a limit */

/* A law is an array of V^m probabilities; the first token is the most significant digit. A text
 * that ends early is padded with its end-of-text token, so no other text has its index. */
typedef struct {
    double *law;          /* (V^m) what the decoder emits */
    /* (V^m) what the rule promises: the target's law, or for SPEC_LOSSLESS_ARGMAX its argmax
     * text */
    double *target_law;
    size_t size;          /* V^m */
    /* branches of the walk over texts; the walk over the first round, for `accepted`, is not
     * counted */
    uint64_t branches;
    double total;     /* sum of the branch probabilities, 1 up to rounding */
    double accepted;  /* expected n_accepted of the first round */
    double time;      /* expected time of the first round, on the decoder's clock */
    double tv;        /* total variation distance between the two laws */
    double max_error; /* largest difference between the two laws */
} spec_output_law;

/* Enumerates the law of n_tokens = m tokens after `prompt`. Returns GSL_EMAXITER if it is too
 * large: V^m > 2^24, or more branches than `limit` (0: no limit); the message says what to change.
 * Random paths detect this early; they are wrong with probability 1e-6 (sim/chance/probe.h).
 * Returns GSL_EINVAL for m outside 0..4096 and for what _check refuses, and passes on errors of the
 * decoder and the models. opt_stop also ends the walk over the promised texts. Time: branches x
 * rounds of a text; memory: 24 V^m bytes. */
int spec_output_law_init(spec_output_law *law, const spec_decoder_config *config, const int *prompt,
                         size_t n_prompt, int n_tokens, uint64_t limit, spec_error *error);

/* Checks that the rule's output has a law. Returns GSL_EINVAL for a rule with a seed. */
int spec_output_law_check(const spec_rule *rule, const char *spec, spec_error *error);

void spec_output_law_free(spec_output_law *law);

/* Computes what a rule promises for the first n_tokens = m tokens: ret_promise (V^m), zeroed by the
 * caller, receives the target's law, or with `argmax` its one text at temperature 0. Shares no code
 * with the decoder. */
int spec_output_law_promise(double *ret_promise, const spec_decoder_config *config, bool argmax,
                            const int *prompt, size_t n_prompt, int n_tokens, spec_error *error);

/* Returns the index of a text of n <= m tokens in a law of m tokens; n > 0 if m > 0. */
size_t spec_output_law_index(const int *token, size_t n, int vocab, int n_tokens);

#endif
