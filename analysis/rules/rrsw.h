/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rrsw: the acceptance of recursive rejection with n drafts drawn without replacement.
 * Acceptance and the sorted pair of rows are defined in multi_draft.h.
 * docs/formulas/acceptance.md#multi-draft. */
#ifndef SPECLAB_RRSW_H
#define SPECLAB_RRSW_H

#include "analysis/rules/multi_draft.h"

/* Returns the acceptance of recursive rejection over n drafts drawn without replacement. If fewer
 * than n tokens have draft > 0, the remaining drafts are drawn uniformly from the other tokens; if
 * all V tokens are drawn, the result is 1.
 *
 *     1 - sum over ordered n-1 tuples of a product of chances of rejection
 *                                                           docs/formulas/acceptance.md#multi-draft
 *
 * The residual after the rejections of a tuple is again (target - c draft)+, so the last test is a
 * prefix sum. Takes O(V log V) for n = 2 and O(V^(n-1) log V) for larger n; O(V) for a draft with
 * at most n tokens.
 *   returns the chance, to about 1e-14; NaN if D^(n-1) > 2e9 (n > 2), where D is the number of
 *           tokens with draft > 0: n = 3 up to D = 44,721, n = 4 up to 1,259 */
double spec_rrsw_acceptance(const spec_ratio_order *order, int n);

#endif
