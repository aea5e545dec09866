/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mutant:NAME: a known mistake, called through the plug-in interface. */
#include "tools/validate/mutants/mutants.h"

static int open_sampler(void **ret_self, const char *opt_options)
{
    const spec_mutant *mutant;
    const int status = spec_mutants_find(&mutant, opt_options, NULL);
    return status == GSL_SUCCESS ? spec_reference_sampler_open(ret_self, &mutant->hooks) : status;
}

static const spec_sampler_api api = {.open = open_sampler,
                                     .step = spec_reference_sampler_step,
                                     .close = spec_reference_sampler_close,
                                     .generate = spec_reference_sampler_generate,
                                     .promise = spec_reference_sampler_promise};

static int open_subject(spec_subject *subject, const char *path, spec_error *error)
{
    const spec_mutant *mutant;
    const int status = spec_mutants_find(&mutant, path, error);
    if (status != GSL_SUCCESS) return status;
    subject->about = (spec_sampler_about){
        .size = sizeof subject->about,
        .scopes = mutant->scope,
        .trees = mutant->chains_only  ? 0
                 : mutant->trees != 0 ? mutant->trees
                                      : SPEC_DRAWN_FIXED | SPEC_DRAWN_IID | SPEC_DRAWN_WITHOUT,
        .rows = mutant->hooks.logits ? SPEC_ROWS_LOGITS : SPEC_ROWS_PROBABILITIES,
        .sampling = 1,
        .coins = mutant->coins,
        .padding = 1,
        .seeded = 1,
        .max_nodes = SPEC_FIXTURE_NODES_MAX,
        .max_vocab = mutant->max_vocab,
        .lossy = mutant->kind == SPEC_MUTANT_LOSSY,
    };
    if (mutant->filters != NULL)
        snprintf(subject->about.filters, sizeof subject->about.filters, "%s", mutant->filters);
    snprintf(subject->about.name, sizeof subject->about.name, "%s", mutant->name);
    return spec_sampler_host_subject_open(subject, &api, path, error);
}

const spec_subject_kind spec_subject_mutant = {
    .name = "mutant",
    .usage = "mutant:NAME",
    .summary = "a known mistake of real samplers, or an exact sampler of another form",
    .open = open_subject,
    .begin = spec_sampler_host_subject_begin,
    .run = spec_sampler_host_subject_run,
    .generate = spec_sampler_host_subject_generate,
    .counters = spec_sampler_host_subject_counters,
    .close = spec_sampler_host_subject_close,
};
