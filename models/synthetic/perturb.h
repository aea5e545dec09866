/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perturb: makes a draft row that has a given overlap with a target row.
 * We walk from the target's row towards a random reference row, and then on towards the target's
 * least probable token, and stop where the overlap is `alpha`. The overlap is sum_i min(target_i,
 * draft_i). The caller owns the rows. */
#ifndef SPECLAB_PERTURB_H
#define SPECLAB_PERTURB_H

#include "speclab/status.h"

#include <stdint.h>

/* Fills `draft` (V), normalised, with overlap alpha to 1e-12.
 *
 *     reference  ~  target * exp(noise * z),  z standard normal by a hash of `key`
 *     draft      =  (1-w) target + w reference,  w = (1 - alpha) / TV(target, reference), if w <= 1
 *     draft      =  v reference + (1-v) [least probable], otherwise
 * where v is found by Newton's method on the concave overlap
 *
 *   target      (V) normalised; not the same array as `draft`
 *   alpha       in (0,1]; at 1 the draft is the target, bit for bit
 *   noise       in [0,50]: how far the reference is from the target
 *   reference   (V) workspace
 *
 * Returns GSL_EDOM, with a line that gives the least possible overlap, if alpha < min_i target_i:
 * the one-hot row on the least probable token overlaps least of all rows, because min(target_i,
 * draft_i) >= draft_i min_j target_j. A token of target probability 0 has draft probability 0,
 * except the least probable one. */
int spec_perturb_row(double *draft, const double *target, int vocab, double alpha, double noise,
                     uint64_t key, double *reference, spec_error *error);

#endif
