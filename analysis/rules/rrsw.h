/* rrsw: the chance that recursive rejection accepts one of n drafts drawn without replacement.
 * Accepted, and the sorted pair of rows that it takes, are those of multi_draft.h. docs/formulas.md#multi-draft. */
#ifndef SPECLAB_RRSW_H
#define SPECLAB_RRSW_H

#include "analysis/rules/multi_draft.h"

/* Recursive rejection over n drafts drawn without replacement. Where the draft has fewer than n tokens, those it cannot
 * draw follow, each as likely as the others, until V tokens are drawn: then 1.
 *
 *     1 - sum over ordered n-1 tuples, a product of chances of rejection           docs/formulas.md#multi-draft
 *
 * The residual after the rejections of a tuple is again (target - c draft)+, so that the last test is a sum by prefix:
 * O(V log V) for n = 2, O(V^(n-1) log V) beyond; a draft with at most n tokens, O(V).
 *   returns the chance, to 1e-14 or so; NaN where D^(n-1) > 2e9 (n > 2), D being the tokens with draft > 0: n = 3 up to
 *           D = 44,721, n = 4 up to 1,259. */
double spec_rrsw_acceptance(const spec_ratio_order *order, int n);

#endif
