/* SPDX-License-Identifier: GPL-3.0-or-later */
/* greedy: each token is the argmax of the draft model's row. The row is kept as a confidence for
 * policies; rules must not judge by it, because nothing was drawn. */
#include "sim/draft/drafter.h"

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    (void)chance;
    return spec_drafter_extend(ret_draft, drafter, context, n, policy, NULL, error);
}

const spec_drafter_kind spec_draft_greedy = {
    .name = "greedy",
    .usage = "greedy",
    .summary = "the draft model's most probable token each time (one-hot)",
    .reference = "Leviathan23",
    .needs_model = true,
    .ends_where_declined = true,
    .draft = draft,
};
