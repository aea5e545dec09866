/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that read the draft model's probabilities while they draft. A stop may depend on the
 * tokens so far and on the law of the next token, never on the next token itself. */
#include "models/row.h"
#include "sim/draft/policy.h"

static int threshold_init(spec_policy *policy, spec_settings *settings, double fallback,
                          spec_error *error)
{
    return spec_settings_double(&policy->threshold, settings, "threshold", fallback, 0.0, 1.0,
                                error);
}

/* ---- confidence ------------------------------------------------------------------------------ */

static int confidence_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    return threshold_init(policy, settings, 0.4, error);
}

static bool confidence_go_on(const spec_policy *policy, const spec_draft *draft,
                             const double *opt_next_row)
{
    (void)opt_next_row;
    return draft->n_nodes == 0 ||
           spec_draft_confidence(draft, draft->n_nodes - 1) >= policy->threshold;
}

const spec_policy_kind spec_policy_confidence = {
    .name = "confidence",
    .usage = "confidence?threshold=0.4",
    .summary =
        "stops after the first token whose draft probability is below the threshold; that token "
        "is still included",
    .reference = "HF",
    .init = confidence_init,
    .go_on = confidence_go_on,
};

/* ---- cumulative ------------------------------------------------------------------------------ */

static int cumulative_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    return threshold_init(policy, settings, 0.7, error);
}

/* The paper trains a head to predict acceptance; here the draft's probability of the token replaces
 * it. */
static bool cumulative_go_on(const spec_policy *policy, const spec_draft *draft,
                             const double *opt_next_row)
{
    (void)opt_next_row;
    double all_accepted = 1.0;
    for (int i = 0; i < draft->n_nodes; i++) all_accepted *= spec_draft_confidence(draft, i);
    return 1.0 - all_accepted <= policy->threshold;
}

const spec_policy_kind spec_policy_cumulative = {
    .name = "cumulative",
    .usage = "cumulative?threshold=0.7",
    .summary = "stops once the predicted chance of a rejection so far (draft probabilities) is "
               "above the threshold",
    .reference = "SpecDecPP24",
    .init = cumulative_init,
    .go_on = cumulative_go_on,
};

/* ---- peak ------------------------------------------------------------------------------------ */

enum { TOP_MAX = 64 };

static int peak_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(threshold_init(policy, settings, 0.4, error));
    SPEC_TRY(spec_settings_int(&policy->peak.top, settings, "top", 0, 0, TOP_MAX, error));
    SPEC_TRY(spec_settings_int(&policy->peak.least, settings, "least", 0, 0, SPEC_K_MAX, error));
    policy->anticipates = policy->peak.least > 1;
done:
    return status;
}

/* Returns the largest probability over the sum of the `top` largest. */
static double peak_among(const double *row, int vocab, int top)
{
    double largest[TOP_MAX] = {0.0}, sum = 0.0; /* descending */
    for (int i = 0; i < vocab; i++) {
        if (!(row[i] > largest[top - 1])) continue;
        int k = top - 1;
        for (; k > 0 && largest[k - 1] < row[i]; k--) largest[k] = largest[k - 1];
        largest[k] = row[i];
    }
    for (int k = 0; k < top; k++) sum += largest[k];
    return largest[0] / sum;
}

static bool peak_go_on(const spec_policy *policy, const spec_draft *draft,
                       const double *opt_next_row)
{
    if (opt_next_row == NULL) return true;
    const double peak = policy->peak.top > 0
                            ? peak_among(opt_next_row, draft->vocab, policy->peak.top)
                            : opt_next_row[spec_row_argmax(opt_next_row, draft->vocab)];
    return peak >= policy->threshold;
}

/* A short draft is dropped because of the row after its tokens. If these were drawn, the row
 * depends on their values, so dropping them anticipates. A chosen draft depends only on the
 * context. */
static int peak_cut(const spec_policy *policy, const spec_draft *draft)
{
    return draft->n_nodes < policy->peak.least ? 0 : draft->n_nodes;
}

const spec_policy_kind spec_policy_peak = {
    .name = "peak",
    .usage = "peak?threshold=0.4&top=0&least=0",
    .summary = "stops before drawing where the draft's largest probability, among the top ones "
               "renormalised if top > 0, is below the threshold; drops drafts shorter than least, "
               "which is WRONG above 1 for sampled drafts",
    .reference = "llama.cpp",
    .looks_ahead = true,
    .init = peak_init,
    .go_on = peak_go_on,
    .cut = peak_cut,
};

/* ---- confidence-drop: WRONG on purpose ------------------------------------------------------- */

/* If a drawn token is discarded because of its value, the target fills its position. So tokens that
 * the draft finds unlikely become too frequent or too rare. With chosen (one-hot) drafts nothing
 * was drawn and nothing is lost. */
static bool drop_retract(const spec_policy *policy, const spec_draft *draft)
{
    return spec_draft_confidence(draft, draft->n_nodes - 1) < policy->threshold;
}

const spec_policy_kind spec_policy_confidence_drop = {
    .name = "confidence-drop",
    .usage = "confidence-drop?threshold=0.4",
    .summary = "WRONG on purpose: takes a drawn token back where its draft probability is below "
               "the threshold",
    .reference = "",
    .anticipates = true,
    .init = confidence_init,
    .retract = drop_retract,
};
