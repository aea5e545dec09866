/* decode_ahead: the chain of the next round, drafted while the target verifies this one's.
 * It guesses that the whole chain is accepted and that the bonus token is the draft model's most probable one, g, and
 * drafts on after g. Where the round comes out so, the chain is there; else it is thrown away, unseen by any rule. The
 * guess uses no chance: docs/formulas.md#ahead. [Liu25] [McDanel24] [Kumar26] */
#ifndef SPECLAB_DECODE_AHEAD_H
#define SPECLAB_DECODE_AHEAD_H

#include "sim/decode_device.h"
#include "sim/draft/drafter.h"
#include "speclab/round.h"

typedef struct {
    bool on;
    bool drafted;      /* while the last round was verified, a chain was */
    bool there;        /* and the round came out as guessed */
    int guess;         /* g */
    size_t place;      /* tokens of the text that the chain goes on from */
    int n_calls;       /* of the draft model, while the last round was verified: the guess is one */
    spec_draft draft;  /* the chain */
    double *row;       /* (V) */
} spec_ahead;

/* GSL_EINVAL where the strategy is no chain of a draft model, and where the policy looks at tokens, or charges by what
 * was accepted. */
int spec_ahead_init(spec_ahead *ahead, const spec_drafter *drafter, const spec_policy *policy, int vocab,
                    spec_error *error);
void spec_ahead_free(spec_ahead *ahead); /* a zeroed one is fine */

/* Draft ahead of the chain of the round that is being verified: `next` is the policy as it will be after a round that
 * was accepted throughout, cut to the room after it. The context has room for the chain and one token more, which are
 * written there. No chain is drafted after an end of text of the draft model's, after no chain, and of no tokens. The
 * drafter's n_calls stay those of the round's own chain. */
int spec_ahead_draft(spec_ahead *ahead, spec_drafter *drafter, spec_device_chain *device, const spec_draft *chain,
                     int *context, size_t n, const spec_policy *next, spec_chance *chance, spec_error *error);

/* The round came out: is the chain there? Fills the round's guess_tested and guess_right. */
void spec_ahead_settle(spec_ahead *ahead, spec_round *round);

/* If the chain for a context of n tokens is there, it becomes *draft. */
bool spec_ahead_take(spec_ahead *ahead, spec_device_chain *device, spec_draft *draft, size_t n);

/* The text does not go on as it did. */
void spec_ahead_forget(spec_ahead *ahead);

#endif
