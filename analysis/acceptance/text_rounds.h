/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_rounds: the rounds of speculative decoding, given the text that they emit.
 * The text is the target's own, and the draft's rows are read along it. No token is drawn: we
 * compute the means over all drafts, so the sums are exact for this text. Assumes the token rule.
 * docs/formulas/models.md#exact-walk. */
#ifndef SPECLAB_TEXT_ROUNDS_H
#define SPECLAB_TEXT_ROUNDS_H

#include <stddef.h>

/* A text, as one draft sees it. Entry [t stride + i] of an array is for draft token i = 0, 1, ...
 * of a round that begins at position t, after the text's own tokens. `stride` is 1 if the entries
 * depend only on t + i; a draft whose rows depend on where the round begins has its own entries for
 * each t. */
typedef struct {
    size_t n;              /* positions where rounds may begin */
    size_t stride;         /* 1, or at least K */
    const double *ratio;   /* min(1, draft/target) for the text's token */
    const double *overlap; /* sum over tokens of min(target, draft); or the same array as ratio */
    /* the same without the tokens that end the text; or the same array as ratio */
    const double *going;
    /* (n) most draft tokens of a round, >= 0; the text's end is the last one. NULL: K */
    const int *opt_limit;
} spec_text_rounds_draft;

/* Expected sums over the rounds that begin in some texts. */
typedef struct {
    double rounds;  /* how many there are */
    double emitted; /* the tokens that they emit */
} spec_text_rounds;

/* Adds the means of a text for drafts of K tokens.
 *
 *     Given the text, a round that begins at t accepts its token i with chance
 *     a_ti = min(1, draft/target), independently, until the first rejection:
 *         P(round at t + 1 + i | round at t, text) = (1 - a_ti) prod_{j<i} a_tj
 *     r_t = P(a round begins at t | text), r_0 = 1
 *     rounds = sum_t r_t
 *     emitted = sum_t r_t (1 + sum_{i<K} going_ti prod_{j<i} a_tj)
 *
 * Averaged over the target's texts, both equal the means of the decoding loop, so emitted / rounds
 * of many texts tends to the tokens per round. In the second sum the last a is replaced by its mean
 * over the text's next token, which reduces the variance; nothing follows an end of the text.
 *   opt_came, opt_passed  (K) the mean rounds that reach, and that accept, draft token i are added
 *   reach                 (n) workspace; afterwards r_t
 * Checked by: the decoding loop by enumeration; exact_walk by all outcomes. */
void spec_text_rounds_add(spec_text_rounds *sum, double *opt_came, double *opt_passed,
                          double *reach, const spec_text_rounds_draft *draft, int K);

#endif
