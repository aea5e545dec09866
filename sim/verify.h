/* verify: the rules that turn a draft and the target's rows into emitted tokens.
 * A rule takes the tree, the target's rows and a chance, and fills a round. It never sees a generator, so enumeration
 * proves the very code that Monte Carlo runs. Rules are lines of the table spec_rules, each in a sim/verify_*.c. */
#ifndef SPECLAB_VERIFY_H
#define SPECLAB_VERIFY_H

#include "sim/chance.h"
#include "sim/draft.h"
#include "speclab/round.h"

/* What a rule promises about the law of the tokens it emits. */
typedef enum {
    SPEC_LOSSLESS,        /* exactly the target's law */
    SPEC_LOSSLESS_ARGMAX, /* exactly the target at temperature 0 */
    SPEC_LOSSY,           /* not the target's law, on purpose */
    SPEC_WRONG            /* a known mistake, kept as a negative control */
} spec_rule_claim;

typedef struct {
    const char *name, *summary, *reference;
    spec_rule_claim claim;

    /* Walk from the root through accepted children; draws what it needs from `chance` and from nothing else.
     * draft          the tree; nodes in any order with parents first. No nodes: one token from the target
     * target         (n_nodes+1) rows (V): target[0] at the root, target[i+1] after node i
     * weight         (V) workspace
     * ret_round      filled: n_drafted, n_accepted, n_emitted, token[], node[] */
    void (*verify)(spec_round *ret_round, const spec_draft *draft, const double *const *target, double *weight,
                   spec_chance *chance);
} spec_rule;

extern const spec_rule *const spec_rules[]; /* NULL-terminated, sim/verify.c */
extern const spec_rule spec_verify_token, spec_verify_match, spec_verify_greedy;
extern const spec_rule spec_verify_resample_target, spec_verify_greedy_softmax;

/* The rule of that name; GSL_EINVAL naming the nearest. */
int spec_rule_find(const spec_rule **ret_rule, const char *name, spec_error *error);

/* ---- what rules share -------------------------------------------------------------------------------------------- */

/* A round of this draft in which nothing is accepted yet; accept a node; emit the last token, a correction or a
 * bonus. */
void spec_verify_begin(spec_round *round, const spec_draft *draft);
void spec_verify_accept(spec_round *round, const spec_draft *draft, int node);
void spec_verify_end(spec_round *round, int token);

/* The first child of `node` (-1: the root) at or after index `from`, or -1. Children come after their parent, so
 * node + 1 will do for `from`, and in a chain it is found at once. */
int spec_verify_child(const spec_draft *draft, int node, int from);

/* Draw a token from `row`. One decision. */
int spec_verify_sample(const double *row, int vocab, spec_chance *chance);

/* Draw a correction from norm((target - draft)+); opt_draft NULL: draft is one-hot at `token`. Where rounding left
 * nothing, from the target, which then equals the draft. One decision. weight (V) is workspace. */
int spec_verify_correct(const double *target, const double *opt_draft, int token, int vocab, double *weight,
                        spec_chance *chance);

/* A whole round of the rules that go by the target's token alone: take it at each place, drawn by one decision, or the
 * row's argmax (the lowest id among ties) where opt_chance is NULL, and go on while some child has that token. */
void spec_verify_follow(spec_round *round, const spec_draft *draft, const double *const *target,
                        spec_chance *opt_chance);

#endif
