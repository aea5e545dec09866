/* SPDX-License-Identifier: GPL-3.0-or-later */
/* policy: length policies: the number of tokens to draft per round.
 * A policy is asked before each token is drawn and sees only the tokens included so far. So it
 * cannot anticipate, as losslessness requires (docs/formulas.md#non-anticipation). One policy, a
 * negative control, retracts a drawn token. */
#ifndef SPECLAB_POLICY_H
#define SPECLAB_POLICY_H

#include "base/settings.h"
#include "sim/draft/draft.h"

typedef struct spec_policy spec_policy;

typedef struct {
    const char *name, *usage, *summary, *reference;
    bool anticipates; /* a negative control: not lossless for sampled drafts */
    /* _go_on reads the next row, which is computed first: a stop costs that draft call */
    bool looks_ahead;

    int (*init)(spec_policy *policy, spec_settings *settings,
                spec_error *error); /* NULL: no keys */

    /* Whether to draft one more token. `draft` holds the tokens so far; opt_next_row (V) is the
     * draft model's row for the next token, NULL without a model or if the kind does not look
     * ahead. Asked only below the limit `now`. NULL: always. */
    bool (*go_on)(const spec_policy *policy, const spec_draft *draft, const double *opt_next_row);

    /* Whether to remove the last node and stop; only for a negative control. */
    bool (*retract)(const spec_policy *policy, const spec_draft *draft);

    void (*observe)(spec_policy *policy,
                    const spec_round *round); /* learn from the outcome, or NULL */

    /* How many of the round's n_calls draft calls cost time. NULL: all, including those for a
     * retracted token and for a row that was read but not drawn from. */
    int (*charged)(const spec_policy *policy, const spec_round *round, int n_calls);
} spec_policy_kind;

struct spec_policy {
    const spec_policy_kind *kind;
    int K;            /* the most tokens any round may draft */
    int now;          /* this round's limit, <= K */
    double threshold; /* setting of some kinds */
};

extern const spec_policy_kind *const spec_policy_kinds[]; /* NULL-terminated */
extern const spec_policy_kind spec_policy_fixed, spec_policy_heuristic, spec_policy_oracle;
extern const spec_policy_kind spec_policy_confidence, spec_policy_cumulative, spec_policy_peak;
extern const spec_policy_kind spec_policy_confidence_drop;

/* `spec` is e.g. "fixed", "heuristic?cap=20", "confidence?threshold=0.4",
 * "cumulative?threshold=0.7", "oracle". K is the most tokens to draft per round. For the heuristic
 * schedule, which grows up to its own cap, K is the first length, and policy->K becomes the cap.
 * GSL_EINVAL for K outside 0..SPEC_K_MAX, an unknown name (the nearest is named) or key; GSL_EDOM
 * or GSL_EINVAL for its value. */
int spec_policy_init(spec_policy *policy, const char *spec, int K, spec_error *error);
bool spec_policy_go_on(const spec_policy *policy, const spec_draft *draft,
                       const double *opt_next_row);
bool spec_policy_retract(const spec_policy *policy, const spec_draft *draft);
void spec_policy_observe(spec_policy *policy, const spec_round *round);
int spec_policy_charged(const spec_policy *policy, const spec_round *round, int n_calls);

#endif
