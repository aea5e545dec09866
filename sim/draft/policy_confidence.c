/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that read the draft model's probabilities while they draft. A stop may depend on the
 * tokens so far and on the law of the next token, never on the next token itself. */
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
        "stops after a token, itself included, whose draft probability is below the threshold",
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

static bool peak_go_on(const spec_policy *policy, const spec_draft *draft,
                       const double *opt_next_row)
{
    if (opt_next_row == NULL) return true;
    double peak = 0.0;
    for (int i = 0; i < draft->vocab; i++)
        if (opt_next_row[i] > peak) peak = opt_next_row[i];
    return peak >= policy->threshold;
}

const spec_policy_kind spec_policy_peak = {
    .name = "peak",
    .usage = "peak?threshold=0.4",
    .summary = "stops before drawing where the draft's largest probability is below the threshold",
    .reference = "",
    .looks_ahead = true,
    .init = confidence_init,
    .go_on = peak_go_on,
};

/* ---- confidence-drop: WRONG on purpose ------------------------------------------------------- */

/* If a drawn token is discarded because of its value, the target fills its position. So tokens that
 * the draft finds unlikely come too often or too rarely. With chosen (one-hot) drafts nothing was
 * drawn and nothing is lost. */
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
