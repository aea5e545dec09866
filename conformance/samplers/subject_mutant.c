/* mutant:NAME: a known mistake, behind the interface that plug-ins have. */
#include "conformance/mutants/mutants.h"

static int open_sampler(void **ret_self, const char *opt_options)
{
    const spec_mutant *mutant;
    const int status = spec_mutants_find(&mutant, opt_options, NULL);
    return status == GSL_SUCCESS ? spec_plain_open(ret_self, &mutant->hooks) : status;
}

static const spec_sampler_api api = {
    .open = open_sampler, .step = spec_plain_step, .close = spec_plain_close, .generate = spec_plain_generate};

static int open_subject(spec_subject *subject, const char *path, spec_error *error)
{
    const spec_mutant *mutant;
    const int status = spec_mutants_find(&mutant, path, error);
    if (status != GSL_SUCCESS) return status;
    subject->about = (spec_sampler_about){
        .size = sizeof subject->about,
        .scopes = mutant->scope,
        .trees = mutant->chains_only ? 0 : SPEC_DRAWN_FIXED | SPEC_DRAWN_IID | SPEC_DRAWN_WITHOUT,
        .sampling = 1,
        .coins = mutant->coins,
        .padding = 1,
        .seeded = 1,
        .max_nodes = SPEC_FIXTURE_NODES_MAX,
        .lossy = mutant->kind == SPEC_MUTANT_LOSSY,
    };
    snprintf(subject->about.name, sizeof subject->about.name, "%s", mutant->name);
    return spec_subject_open_api(subject, &api, path, error);
}

const spec_subject_kind spec_subject_mutant = {
    .name = "mutant",
    .usage = "mutant:NAME",
    .summary = "a known mistake of real samplers",
    .open = open_subject,
    .begin = spec_subject_begin_api,
    .run = spec_subject_run_api,
    .generate = spec_subject_generate_api,
    .counters = spec_subject_counters_api,
    .close = spec_subject_close_api,
};
