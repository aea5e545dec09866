/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decision_role: what each random decision of a round is: which token it tests or draws, and where.
 * A rule says by spec_rule.asks in which order it makes its decisions; draft, rows and outcome of
 * the round say for which nodes. Owns nothing. */
#ifndef SPECLAB_DECISION_ROLE_H
#define SPECLAB_DECISION_ROLE_H

#include "sim/verify/verify.h"

typedef enum {
    SPEC_ROLE_OTHER,      /* a step of the rule that has no name here */
    SPEC_ROLE_DRAFT,      /* pick: a draft token, `node`; -1 if the policy then took it back */
    SPEC_ROLE_SELECT,     /* a step of choosing the sibling that is tested next */
    SPEC_ROLE_TEST,       /* accept: draft token `node`; -1: the selected one of equal siblings */
    SPEC_ROLE_KEEP,       /* accept: the draft tokens up to `node`, together; -1: none of them */
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
    int after; /* the position: it decides the token after this node; -1: the round's first token.
                  For an OTHER: where the round ended */
} spec_told;

/* Fill role, node and after of the n decisions of a round, from the other fields. Draft, target
 * rows and outcome are those of the round. */
void spec_decision_roles(spec_told *told, int n, const spec_rule *rule, const spec_draft *draft,
                         const double *const *target, const spec_round *round);

#endif
