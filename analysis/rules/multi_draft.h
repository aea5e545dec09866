/* SPDX-License-Identifier: GPL-3.0-or-later */
/* multi_draft: the acceptance of one position with n draft tokens, in closed form.
 * Accepted means that the emitted token is one of the drafted ones, whether it passed a test or was
 * drawn from the residual. Then the tokens drafted after it remain useful. See rrsw.h for rrsw,
 * coincidence.h for matches among drafts that are not iid, tournament.h for khisti. All functions
 * take a sorted pair of rows (ratio_order) and 1 <= n <= SPEC_DRAFTS_MAX; NaN outside.
 * docs/formulas/acceptance.md#multi-draft. */
#ifndef SPECLAB_MULTI_DRAFT_H
#define SPECLAB_MULTI_DRAFT_H

#include "analysis/rules/ratio_order.h"

/* Returns the acceptance when the target's own sample is kept if it is among n iid drafts.
 *
 *     sum_x target(x) (1 - (1 - draft(x))^n)                           [Thomas26] App. C
 *
 * O(V). Checked by: enumeration of all tuples (as are all functions below); n = 1 is
 * spec_overlap_match_probability. */
double spec_multi_draft_match(const spec_ratio_order *order, int n);

/* Returns the same if the drafts are the draft's n most probable tokens (among equals the lower id)
 * instead of samples: the sum of target over them. No rule accepts such drafts more often. 1 for n
 * >= V. O(n V). */
double spec_multi_draft_match_top(const spec_ratio_order *order, int n);

/* Returns the acceptance if the token rule tests the first of n iid drafts, and the correction
 * after a rejection counts if it is among the others.
 *
 *     sum_x min(target, draft) + sum_x (target - draft)+ (1 - (1 - draft)^(n-1))
 *                                                               [Thomas26] App. C
 *
 * O(V). n = 1 is the overlap. */
double spec_multi_draft_naive_tree(const spec_ratio_order *order, int n);

/* Returns the acceptance of recursive rejection over n iid drafts, [Miao24] Alg. 2: each is tested
 * by the token rule against the residual after the earlier ones.
 *
 *     sum_x min(target, c_n draft),   c_1 = 1,   c_{i+1} = c_i + sum_x (target - c_i draft)+
 *
 * The residual after i rejections is (target - c_i draft)+ up to a factor; it never gives a
 * rejected token. O(n log V). */
double spec_multi_draft_rrs(const spec_ratio_order *order, int n);

/* Returns the acceptance of K-SEQ [SunZ23], where each of n iid drafts is accepted with chance
 * min(1, target / (rho draft)), with the same rho for all.
 *
 *     accepted(rho) = 1 - (1 - m(rho)/rho)^n,   m(rho) = sum_x min(target, rho draft)
 *     rho* = the root of accepted(rho) = m(rho) in [1,n];   acceptance = m(rho*)
 *
 * rho* is the smallest lossless rho. With it the tests accept most often, and the residual never
 * gives a rejected token. A larger rho can still accept more in total, because then the residual
 * can give drafted tokens. _rho returns rho*, to about 1e-15; 1 if target and draft are disjoint
 * and any rho is lossless. _at returns the acceptance at a given finite rho >= rho*, including
 * drafted tokens from the residual; NaN below rho*. _rho takes O(log V) for each of 60 bisections,
 * _at O(V). Checked by: [SunZ23]'s guarantee of 1 - (1 - 1/n)^n of the optimum. */
double spec_multi_draft_kseq(const spec_ratio_order *order, int n);
double spec_multi_draft_kseq_rho(const spec_ratio_order *order, int n);
double spec_multi_draft_kseq_at(const spec_ratio_order *order, int n, double rho);

/* Returns the acceptance of greedy drafting [Hu25]: the n - 1 most probable tokens of the draft
 * (among equals the lower id) and one drawn from the rest.
 *
 *     sum_{x in Top} target + sum_{x not in Top} min(target, draft / (1 - draft(Top)))
 *
 * A rule attains this, and no rule accepts such drafts more often. If the rest is 0, the draw is
 * uniform. 1 for n > V; n = 1 is the overlap. O(n V). */
double spec_multi_draft_greedy(const spec_ratio_order *order, int n);

/* Returns the acceptance of SpecHub [SunR24] with two drafts: the hub, which is the draft's most
 * probable token, and another one. It equals the acceptance of greedy drafting with two, because
 * the mass of the hub is always used up. NaN unless n = 2. */
double spec_multi_draft_spechub(const spec_ratio_order *order, int n);

#endif
