/* SPDX-License-Identifier: GPL-3.0-or-later */
/* biased:PLACE?state=S&tv=X: the reference sampler with a bias of exactly X. */
#include "tools/validate/mutants/reference_sampler.h"
#include "tools/validate/samplers/bias.h"
#include "tools/validate/samplers/sampler_host.h"

#include "base/settings.h"

#include <stdlib.h>
#include <string.h>

#define KEYS "PLACE?state=0&tv=0.05&direction=forth"

typedef struct {
    spec_subject exact; /* its batch is the subject's */
    spec_bias_spec spec;
    spec_bias bias; /* for the current fixture */
    bool none;      /* PLACE is "none" */
} own;

static const spec_reference_sampler_hooks right = {.parameters = NULL};

static int open_sampler(void **ret_self, const char *opt_options)
{
    (void)opt_options;
    return spec_reference_sampler_open(ret_self, &right);
}

static const spec_sampler_api api = {.open = open_sampler,
                                     .step = spec_reference_sampler_step,
                                     .close = spec_reference_sampler_close,
                                     .generate = spec_reference_sampler_generate};

static int read_spec(own *o, const char *path, spec_error *error)
{
    spec_settings settings = {0};
    int status = GSL_SUCCESS, place = 0, direction;
    SPEC_TRY(spec_settings_init(&settings, path, error));
    SPEC_TRY(spec_settings_check(&settings, KEYS, NULL, error));
    o->none = strcmp(settings.name, "none") == 0;
    while (spec_place_names[place] != NULL && strcmp(spec_place_names[place], settings.name) != 0)
        place++;
    if (spec_place_names[place] == NULL && !o->none)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "'%.40s' is not a kind of token: first, later, text, correction, bonus "
                           "or none is",
                           settings.name));
    SPEC_TRY(spec_settings_int(&o->spec.state, &settings, "state", 0, 0, 1 << 20, error));
    SPEC_TRY(spec_settings_double(&o->spec.tv, &settings, "tv", 0.05, 0.0, 1.0, error));
    SPEC_TRY(
        spec_settings_choice(&direction, &settings, "direction", 0, spec_bias_directions, error));
    o->spec.place = (spec_place)place;
    o->spec.direction = (spec_bias_direction)direction;
done:
    spec_settings_free(&settings);
    return status;
}

static int open_subject(spec_subject *subject, const char *path, spec_error *error)
{
    own *o = subject->own = calloc(1, sizeof *o);
    int status = GSL_SUCCESS;
    if (o == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(read_spec(o, path, error));
    subject->about = o->exact.about = (spec_sampler_about){
        .size = sizeof subject->about,
        .scopes = SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM,
        .trees = SPEC_DRAWN_FIXED | SPEC_DRAWN_IID | SPEC_DRAWN_WITHOUT,
        .sampling = 1,
        .padding = 1,
        .max_nodes = SPEC_FIXTURE_NODES_MAX,
    };
    snprintf(subject->about.name, sizeof subject->about.name, "biased, %s", path);
    SPEC_TRY(spec_sampler_host_subject_open(&o->exact, &api, path, error));
done:
    return status;
}

static int begin(spec_subject *subject, spec_error *error)
{
    own *o = subject->own;
    int status = GSL_SUCCESS;
    spec_bias_free(&o->bias);
    o->exact.fixture = subject->fixture;
    o->exact.scope = subject->scope;
    o->exact.capacity = subject->capacity;
    SPEC_TRY(spec_sampler_host_subject_begin(&o->exact, error));
    subject->batch = o->exact.batch;
    if (!o->none) SPEC_TRY(spec_bias_init(&o->bias, subject->fixture, &o->spec, error));
done:
    return status;
}

static int run(spec_subject *subject, int n, spec_error *error)
{
    own *o = subject->own;
    const int status = spec_sampler_host_subject_run(&o->exact, n, error);
    for (int i = 0; i < n && status == GSL_SUCCESS && !o->none; i++)
        spec_bias_round(&o->bias, &subject->batch, i);
    return status;
}

static int generate(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token,
                    int64_t n_tokens, spec_error *error)
{
    own *o = subject->own;
    if (o->none)
        return spec_sampler_host_subject_generate(&o->exact, start, K, seed, ret_token, n_tokens,
                                                  error);
    spec_bias_text(&o->bias, start, seed, ret_token, n_tokens);
    return GSL_SUCCESS;
}

static void close_subject(spec_subject *subject)
{
    own *o = subject->own;
    if (o == NULL) return;
    spec_bias_free(&o->bias);
    spec_sampler_host_subject_close(&o->exact);
    free(o);
    subject->own = NULL;
}

const spec_subject_kind spec_subject_biased = {
    .name = "biased",
    .usage = "biased:" KEYS,
    .summary =
        "an exact sampler with a bias of exactly this TV for one kind of token after one state of "
        "a fixture",
    .open = open_subject,
    .begin = begin,
    .run = run,
    .generate = generate,
    .close = close_subject,
};
