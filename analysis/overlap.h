/* overlap: distances between two distributions (V), and what rules accept of them.
 * The chance that the token rule accepts one draft token is the overlap, 1 - TV [Leviathan23] Thm 3.5. Compensated sums. */
#ifndef SPECLAB_OVERLAP_H
#define SPECLAB_OVERLAP_H

#include <stddef.h>

double spec_overlap(const double *target, const double *draft, size_t n);         /* sum min(target, draft) */
double spec_match_probability(const double *target, const double *draft, size_t n); /* sum target * draft */
double spec_total_variation(const double *a, const double *b, size_t n);          /* half the L1 distance */
double spec_max_difference(const double *a, const double *b, size_t n);
double spec_kl_divergence(const double *a, const double *b, size_t n);            /* nats; +inf where b = 0 < a */
double spec_entropy(const double *a, size_t n);                                   /* nats */

#endif
