/* acceptance_theory: which closed form tells how often a rule accepts, and which bound no rule exceeds, for each way to
 * draft one position. The formulas are those of analysis/; here they meet the rules and the siblings of sim/, as lines
 * of one table. Accepted means that the emitted token is among those drafted. docs/formulas.md#multi-draft, #optimal.
 */
#ifndef SPECLAB_ACCEPTANCE_THEORY_H
#define SPECLAB_ACCEPTANCE_THEORY_H

#include "analysis/rules/ratio_order.h"
#include "sim/verify/verify.h"

/* One draft token, drawn from the draft's row or (`chosen`) its argmax; target and draft (vocab). A rule is one that
 * _init made, with its settings. NaN where no closed form is known. The optimum is for the rule's own promise: the
 * target's law, or its argmax. O(V). */
double spec_single_acceptance(const spec_rule *rule, bool chosen, const double *target, const double *draft, int vocab);
double spec_single_optimum(const spec_rule *rule, bool chosen, const double *target, const double *draft, int vocab);

/* n >= 2 siblings of one kind. The pair is that of the rule's promise: for a rule of claim SPEC_LOSSLESS_ARGMAX the
 * target is one-hot at its argmax. NaN where no closed form is known, and outside of the domain. Costs: see
 * analysis/rules/multi_draft.h, coincidence.h and optimal.h. */
double spec_siblings_acceptance(const spec_rule *rule, spec_siblings siblings, int n, const spec_ratio_order *order);
double spec_siblings_optimum(spec_siblings siblings, int n, const spec_ratio_order *order);

/* Have two rules, which promise the same, one closed form for such siblings? */
bool spec_siblings_alike(const spec_rule *rule, const spec_rule *other, spec_siblings siblings);

/* How many steps the closed form takes if it is a recursion over tuples of drafts; 0 for the others. */
double spec_siblings_steps(const spec_rule *rule, spec_siblings siblings, int n, const spec_ratio_order *order);

#endif
