/* multi_draft: the chance that one position is accepted when n draft tokens compete for it, in closed form; of rrsw in
 * rrsw.h, of matches among drafts that are not iid in coincidence.h, of khisti in tournament.h. Accepted means that the token emitted is one of those drafted, be it by a test or because the residual happens
 * to give it, so that the tokens drafted behind it stay of use. All take a sorted pair of rows (ratio_order) and 1 <= n
 * <= SPEC_DRAFTS_MAX; NaN outside. docs/formulas.md#multi-draft. */
#ifndef SPECLAB_MULTI_DRAFT_H
#define SPECLAB_MULTI_DRAFT_H

#include "analysis/rules/ratio_order.h"

enum { SPEC_DRAFTS_MAX = 64 };

/* The target's own sample is kept if it is among n iid drafts.
 *
 *     sum_x target(x) (1 - (1 - draft(x))^n)                                       [Thomas26] App. C
 *
 * O(V). Checked by: enumeration of all tuples (so are all that follow); n = 1 is spec_match_probability. */
double spec_match_acceptance(const spec_ratio_order *order, int n);

/* The same where the drafts are not sampled but the draft's n most probable tokens (of equal ones, the lower): the sum
 * of target over them, which is also the most that any rule accepts of such drafts. 1 for n >= V. O(n V). */
double spec_match_top_acceptance(const spec_ratio_order *order, int n);

/* The token rule on the first of n iid drafts; its correction is kept if it is among the others.
 *
 *     sum_x min(target, draft) + sum_x (target - draft)+ (1 - (1 - draft)^(n-1))   [Thomas26] App. C
 *
 * O(V). n = 1 is the overlap. */
double spec_naive_tree_acceptance(const spec_ratio_order *order, int n);

/* Recursive rejection over n iid drafts, [Miao24] Alg. 2: each is tested by the token rule against the residual of
 * those before it.
 *
 *     sum_x min(target, c_n draft),   c_1 = 1,   c_{i+1} = c_i + sum_x (target - c_i draft)+
 *
 * The residual after i rejections is (target - c_i draft)+ up to a factor; it never gives a rejected token.
 * O(n log V). */
double spec_rrs_acceptance(const spec_ratio_order *order, int n);

/* K-SEQ, [SunZ23]: each of n iid drafts is accepted with chance min(1, target / (rho draft)), one rho for all.
 *
 *     accepted(rho) = 1 - (1 - m(rho)/rho)^n,   m(rho) = sum_x min(target, rho draft)
 *     rho* = the root of accepted(rho) = m(rho) in [1,n];   acceptance = m(rho*)
 *
 * rho* is the least rho that leaves the rule lossless. Its tests accept most there, and the residual gives no rejected
 * token; a larger rho can still accept more in all, by such coincidences.
 *   returns spec_kseq_rho: rho*, to 1e-15 or so; 1 where target and draft are disjoint, and any rho serves.
 *           spec_kseq_acceptance_at: the acceptance for a rho of the caller's, finite and >= rho*, coincidences of
 *           residual and drafts included; NaN below rho*.
 * O(log V) for each of 60 bisections; _at O(V). Checked by: [SunZ23]'s guarantee of 1 - (1 - 1/n)^n of the optimum. */
double spec_kseq_acceptance(const spec_ratio_order *order, int n);
double spec_kseq_rho(const spec_ratio_order *order, int n);
double spec_kseq_acceptance_at(const spec_ratio_order *order, int n, double rho);

/* Greedy drafting [Hu25]: the n - 1 most probable tokens of the draft (of equal ones, the lower) and one drawn from its
 * rest.
 *
 *     sum_{x in Top} target + sum_{x not in Top} min(target, draft / (1 - draft(Top)))
 *
 * It is attained, and no rule accepts more of such drafts. A rest without draft probability is drawn from evenly. 1 for
 * n > V; n = 1 is the overlap. O(n V). */
double spec_greedy_drafting_acceptance(const spec_ratio_order *order, int n);

/* SpecHub [SunR24], two drafts of which one is the draft's most probable token, the hub: greedy drafting's value for
 * two, as the hub's share is always used up. NaN unless n = 2. */
double spec_spechub_acceptance(const spec_ratio_order *order, int n);

#endif
