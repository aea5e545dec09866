/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gumbel, minhash: a chain drawn from the draft model's rows by noise that a rule of the same name
 * and seed shares [Daliri24]. Over the seeds, the drafts have the law of the chain strategy. */
#include "sim/draft/drafter.h"

static int init(spec_drafter *drafter, spec_noise_kind kind, const spec_settings *settings,
                spec_error *error)
{
    const int status = spec_shared_noise_init(&drafter->noise, kind, settings, error);
    if (status != GSL_SUCCESS || drafter->noise.kind != SPEC_NOISE_NONE) return status;
    return spec_fail(error, GSL_EINVAL, "draft strategy '%s' needs the seed of its rule: %s?seed=7",
                     settings->name, settings->name);
}

static int init_gumbel(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    return init(drafter, SPEC_NOISE_RACES, settings, error);
}

static int init_minhash(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    return init(drafter, SPEC_NOISE_DARTS, settings, error);
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    (void)chance;
    drafter->noise.text = ret_draft->text;
    drafter->noise.place = ret_draft->place;
    spec_chance shared = spec_chance_shared(&drafter->noise);
    return spec_drafter_extend(ret_draft, drafter, context, n, policy, &shared, error);
}

const spec_drafter_kind spec_draft_gumbel = {
    .name = "gumbel",
    .usage = "gumbel?seed=N",
    .summary = "a chain drawn by exponential races, which the rule gumbel with the same seed "
               "shares",
    .reference = "Daliri24",
    .needs_model = true,
    .ends_where_declined = true,
    .init = init_gumbel,
    .draft = draft,
};

const spec_drafter_kind spec_draft_minhash = {
    .name = "minhash",
    .usage = "minhash?seed=N",
    .summary = "a chain drawn by darts, which the rule minhash with the same seed shares",
    .reference = "Daliri24",
    .needs_model = true,
    .ends_where_declined = true,
    .init = init_minhash,
    .draft = draft,
};
