/* SPDX-License-Identifier: GPL-3.0-or-later */
/* exact_walk: tokens per round of a draft along texts of its target, without sampling.
 * Given the target's text, each token was accepted with probability min(1, q/p), independently of
 * the others (analysis/acceptance/text_rounds.h). A mean over all positions overstates tokens
 * per round, because rounds begin after rejected tokens. */
#ifndef SPECLAB_EXACT_WALK_H
#define SPECLAB_EXACT_WALK_H

enum { SPEC_EXACT_WALK_K_MAX = 16 };

/* Sums over texts, for all draft lengths up to K. If everything but K is zero, no text has been
 * added. */
typedef struct {
    int K;
    double rounds[SPEC_EXACT_WALK_K_MAX + 1];   /* [k]: expected rounds with k draft tokens each */
    double tokens[SPEC_EXACT_WALK_K_MAX + 1];   /* [k]: expected tokens of these rounds */
    double accepted[SPEC_EXACT_WALK_K_MAX + 1]; /* [d]: sum over all positions of the probability
                                                   that the first d draft tokens are accepted; [0]:
                                                   positions */
} spec_exact_walk;

/* Adds a text.
 *
 *   accept  (places, K): [t][d] the probability that draft token d of a round that begins at
 *           position t is accepted, given that the previous ones are
 *   first   the first round begins here; later ones begin up to position places - 1
 *   room    (places) */
void spec_exact_walk_add(spec_exact_walk *walk, const double *accept, int places, int first,
                         double *room);

/* Returns tokens per round with k draft tokens, in [1, k + 1]; NaN without texts. */
double spec_exact_walk_tokens_per_round(const spec_exact_walk *walk, int k);

/* Returns the probability that draft token d = 1.. is accepted, given those before it: a mean over
 * all positions. NaN if those before it are never accepted. */
double spec_exact_walk_alpha(const spec_exact_walk *walk, int d);

#endif
