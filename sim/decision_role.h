/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decision_role: what each random decision of a round tests or draws, and for which token.
 * spec_rule.asks says in which order a rule makes its decisions; the draft, rows and outcome of the
 * round say for which nodes. Owns nothing. */
#ifndef SPECLAB_DECISION_ROLE_H
#define SPECLAB_DECISION_ROLE_H

#include "sim/verify/verify.h"

typedef enum {
    SPEC_ROLE_OTHER,      /* a decision that has no name here */
    SPEC_ROLE_DRAFT,      /* pick: a draft token, `node`; -1 if the policy removed it again */
    SPEC_ROLE_SELECT,     /* a step of choosing the sibling that is tested next */
    SPEC_ROLE_TEST,       /* accept: draft token `node`; -1: the selected one of equal siblings */
    SPEC_ROLE_KEEP,       /* accept: whether to keep all draft tokens up to `node`; -1: none of
                           * them */
    SPEC_ROLE_BLOCK,      /* pick: the block of a large residual in which the next pick is made */
    SPEC_ROLE_CORRECTION, /* pick: the token after a rejection */
    SPEC_ROLE_BONUS,      /* pick: the target's token after the last draft token of the path */
    SPEC_ROLE_TARGET      /* pick: the target's own token, which the draft may have guessed */
} spec_role;

extern const char *const spec_role_names[]; /* "other", "draft", ..., NULL */

typedef struct {
    spec_decision decision; /* its weights may be a copy */
    bool drafting;          /* made before the rule began */
    spec_role role;
    int node;  /* as above, or -1 */
    int after; /* the position: the decision is about the token after this node; -1: the round's
                * first token. For OTHER: where the round ended */
} spec_told;

/* Fills role, node and after of the n decisions of a round from their other fields and from the
 * round's draft, target rows and outcome. */
void spec_decision_roles(spec_told *told, int n, const spec_rule *rule, const spec_draft *draft,
                         const double *const *target, const spec_round *round);

#endif
