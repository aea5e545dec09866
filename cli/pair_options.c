/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/pair_options.h"

#include "base/memory_text.h"
#include "base/progress.h"
#include "cli/device_option.h"
#include "cli/usage.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "models/translated_model.h"
#include "models/vocabularies.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(member) SPEC_FIELD(spec_pair_options, member)
static const char *const places[] = {"host", "auto", "device", NULL};
const spec_field spec_pair_options_fields[] = {
    {"target", 0, "SPEC", "the target model, see 'speclab list models'", FIELD(target)},
    {"draft", 0, "SPEC", "the draft model (none: drafts are looked up in the text)", FIELD(draft)},
    {"ahead", 0, NULL, "draft the next chain while the target verifies this one", FIELD(ahead)},
    {"verify", 0, "WHERE",
     "where chains are drawn and verified. host: rows are copied from the device; device: only "
     "tokens are; auto: device if both models support it",
     FIELD(verify), .choice = places, .fallback = "auto"},
    {"device", 0, "DEVICE", SPEC_DEVICE_OPTION_HELP, FIELD(device)},
    {"rule", 'r', "RULE", "verification rule, see 'speclab list rules' (token)", FIELD(rule)},
    {"drafting", 0, "STRATEGY",
     "draft strategy, see 'speclab list drafts' (chain; lookup without --draft)", FIELD(drafting)},
    {"policy", 0, "POLICY", "length policy (fixed)", FIELD(policy)},
    {.help = "Sampling parameters of target and draft:", .group = 3},
    {"temperature", 0, "T", "0 always takes the most probable token (1)", FIELD(sampling[0]),
     .group = 3},
    {"top-k", 0, "N", "keep the N most probable tokens (all)", FIELD(sampling[1]), .group = 3},
    {"top-p", 0, "X",
     "keep the smallest set of most probable tokens with at least this total probability "
     "(1: all)",
     FIELD(sampling[2]), .group = 3},
    {"min-p", 0, "X", "keep tokens with at least X times the largest probability (0: all)",
     FIELD(sampling[3]), .group = 3},
    {0},
};

_Static_assert(sizeof spec_pair_options_fields / sizeof *spec_pair_options_fields ==
                   SPEC_PAIR_OPTIONS_SAMPLING + 1 + SPEC_PAIR_SAMPLING + 1,
               "the table must end with the heading of the sampling parameters and their rows");

static const struct {
    const char *option, *key, *value; /* value: the default */
} sampling[SPEC_PAIR_SAMPLING] = {{"temperature", "temperature", "1"},
                                  {"top-k", "top_k", "all"},
                                  {"top-p", "top_p", "1"},
                                  {"min-p", "min_p", "0"}};

/* Returns whether a model of this kind is built from the target's rows, to which the sampling
 * parameters already apply. */
static bool has_them_already(const char *name)
{
    for (int i = 0; spec_model_kinds[i] != NULL; i++)
        if (strcmp(spec_model_kinds[i]->name, name) == 0)
            return spec_model_kinds[i]->needs_target && !spec_model_kinds[i]->applies_temperature;
    return false;
}

/* Adds the given sampling parameters to the spec. */
static void add_sampling(char **spec, const char *which, const spec_pair_options *options,
                         const char *verb)
{
    spec_settings settings = {0};
    spec_error error = {{0}};
    spec_memory_text text;
    if (spec_settings_init(&settings, *spec, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--%s: %s", which, error.text);
    const bool already = has_them_already(settings.name);
    if (!spec_memory_text_open(&text)) spec_usage_no_memory(verb);
    fputs(*spec, text.out);
    char separator = strchr(*spec, '?') == NULL ? '?' : '&';
    for (int i = 0; i < SPEC_PAIR_SAMPLING && !already; i++) {
        if (options->sampling[i] == NULL) continue;
        const char *own = spec_settings_text(&settings, sampling[i].key);
        if (own != NULL)
            spec_usage_fail(verb,
                            "--%s applies to target and draft, and the %s sets %s=%s itself: give "
                            "only one of them",
                            sampling[i].option, which, sampling[i].key, own);
        fprintf(text.out, "%c%s=%s", separator, sampling[i].key, options->sampling[i]);
        separator = '&';
    }
    spec_settings_free(&settings);
    free(*spec);
    *spec = spec_memory_text_take(&text, NULL);
    if (*spec == NULL) spec_usage_no_memory(verb);
}

char *spec_pair_options_spec(const char *spec, const char *which, const spec_pair_options *options,
                             const char *verb)
{
    char *whole = strdup(spec);
    if (whole == NULL) spec_usage_no_memory(verb);
    spec_device_option_add(&whole, options->device, verb);
    add_sampling(&whole, which, options, verb);
    return whole;
}

/* Completes one of the options' own specs, if it was given. */
static void complete_spec(const char **spec, char **whole, const char *which,
                          const spec_pair_options *options, const char *verb)
{
    if (*spec != NULL) *spec = *whole = spec_pair_options_spec(*spec, which, options, verb);
}

/* Checks rule, policy and strategy before a model is opened. The strategy is tested with a small
 * model. */
static void check_names(spec_pair_options *options, const char *verb)
{
    spec_error error = {{0}};
    spec_rule rule;
    spec_policy policy;
    spec_drafter drafter;
    spec_model *any = NULL;
    if (spec_rule_init(&rule, options->rule, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--rule: %s", error.text);
    spec_rule_free(&rule);
    if (spec_policy_init(&policy, options->policy, 1, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--policy: %s", error.text);
    spec_policy_free(&policy);
    if (spec_model_open(&any, "uniform?V=2", NULL, NULL, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
    if (spec_drafter_init(&drafter, options->drafting, any, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "--drafting: %s", error.text);
    options->levels = drafter.n_levels;
    spec_drafter_free(&drafter);
    spec_model_close(any);
}

/* Sets an option that was not given to its default, and notes that as an assumption. */
static void choose(const char **option, const char *typed, const char *by_default,
                   spec_pair_options *options)
{
    if (*option != NULL) return;
    *option = by_default;
    if (!options->plain) spec_assumed_add(&options->assumed, typed, by_default, NULL);
}

void spec_pair_options_assume_sampling(spec_pair_options *options, const char *verb)
{
    spec_settings settings = {0};
    const int status = spec_settings_init(&settings, options->target, NULL);
    if (status == GSL_ENOMEM) spec_usage_no_memory(verb);
    if (status == GSL_SUCCESS)
        for (int i = 0; i < SPEC_PAIR_SAMPLING; i++) {
            char typed[32];
            snprintf(typed, sizeof typed, "--%s ", sampling[i].option);
            if (spec_settings_text(&settings, sampling[i].key) == NULL)
                spec_assumed_add(&options->assumed, typed, sampling[i].value, NULL);
        }
    spec_settings_free(&settings);
}

void spec_pair_options_check_sampling(const spec_pair_options *options, const char *verb)
{
    double value;
    for (int i = 0; i < SPEC_PAIR_SAMPLING; i++)
        if (options->sampling[i] != NULL &&
            !spec_settings_parse_double(&value, options->sampling[i]))
            spec_usage_fail(verb, "--%s: '%s' is not a number", sampling[i].option,
                            options->sampling[i]);
}

void spec_pair_options_complete(spec_pair_options *options, const char *verb)
{
    if (options->target == NULL)
        spec_usage_fail(
            verb,
            "give a --target, such as ngram:novel.txt; 'speclab list models' lists the kinds");
    if (options->verify == SPEC_VERIFY_DEVICE && options->draft == NULL)
        spec_usage_fail(verb,
                        "--verify device needs a --draft: chains are drawn from a draft model");
    choose(&options->rule, "--rule ", "token", options);
    choose(&options->drafting, "--drafting ",
           options->inner_draft != NULL ? "cascade"
           : options->draft != NULL     ? "chain"
                                        : "lookup",
           options);
    if (options->inner_draft != NULL && strncmp(options->drafting, "cascade", 7) != 0)
        spec_usage_fail(verb, "--inner-draft is for --drafting cascade");
    choose(&options->policy, "--policy ", "fixed", options);
    check_names(options, verb);
    if (options->device != NULL) {
        spec_device_option_check(options->device, verb);
        if (!spec_device_option_concerns(options->target) &&
            (options->draft == NULL || !spec_device_option_concerns(options->draft)))
            spec_usage_fail(verb, "--device is for transformers, and %.80s is not one",
                            options->target);
    }
    spec_pair_options_check_sampling(options, verb);
    complete_spec(&options->target, &options->whole[0], "target", options, verb);
    complete_spec(&options->draft, &options->whole[1], "draft", options, verb);
    complete_spec(&options->inner_draft, &options->whole[2], "inner-draft", options, verb);
    spec_pair_options_assume_sampling(options, verb);
}

void spec_pair_options_free(spec_pair_options *options)
{
    free(options->whole[0]);
    free(options->whole[1]);
    free(options->whole[2]);
    *options = (spec_pair_options){0};
}

spec_decoder_config spec_pair_options_decoder(const spec_pair_options *options,
                                              const spec_model *target, const spec_model *opt_draft)
{
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = target;
    config.opt_draft = opt_draft;
    config.drafting = options->drafting;
    config.policy = options->policy;
    config.rule = options->rule;
    config.ahead = options->ahead;
    config.verify = options->verify;
    return config;
}

/* Checks that a target and its draft fit into memory. A draft that shares the target's KV cache
 * needs its own only while it drafts ahead or is timed alone. Timed alone, it uses another
 * session. */
static int check_room(const spec_model *target, const spec_model *draft,
                      const spec_pair_options *options, spec_error *error)
{
    const spec_transformer *a = spec_transformer_of(target), *b = spec_transformer_of(draft);
    const bool shares = a != NULL && b != NULL && a->weights == b->weights;
    const int reads = b == NULL && draft->kind->needs_target
                          ? 2
                          : 1; /* the target, and models made from its rows */
    const bool on_device =
        options->verify != SPEC_VERIFY_HOST && a != NULL && b != NULL &&
        a->weights->backend == b->weights->backend && strcmp(options->rule, "token") == 0 &&
        (strcmp(options->drafting, "chain") == 0 || strcmp(options->drafting, "greedy") == 0);
    const spec_memory_budget_need need[] = {
        spec_transformer_memory(draft, !shares || options->ahead || options->draft_alone,
                                shares && options->draft_alone ? 2 : 1,
                                on_device ? options->laws : 0),
        spec_transformer_memory(target, reads, reads, 0),
    };
    return spec_memory_budget_check(need, 2, error);
}

void spec_pair_options_say_translated(const spec_model *target, const spec_model *opt_draft,
                                      const char *verb)
{
    if (opt_draft != NULL && spec_translated_model_is(opt_draft))
        spec_usage_say(verb, "--draft: %d of the target's %d tokens are tokens of the draft",
                       spec_translated_model_partners(opt_draft), target->vocab);
}

void spec_pair_options_say_converted(const spec_model *opt_model, const char *which,
                                     const char *verb)
{
    const spec_transformer *model = opt_model != NULL ? spec_transformer_of(opt_model) : NULL;
    if (model == NULL || model->checkpoint != &model->own_checkpoint) return;
    const spec_backend *const backend = model->weights->backend;
    const spec_weights_conversion found = spec_weights_converted(model->checkpoint, backend);
    char types[128] = "";
    if (found.computed == SPEC_TENSOR_TYPES) return;
    for (int type = 0; type < SPEC_TENSOR_ALL_TYPES; type++) {
        const size_t length = strlen(types);
        if (found.has[type])
            snprintf(types + length, sizeof types - length, "%s%s", length > 0 ? ", " : "",
                     spec_tensor_type_names[type]);
    }
    spec_usage_say(verb, "--%s: weights of type %s are computed as %s, in %.2g times the bytes",
                   which, types, spec_tensor_type_names[found.computed],
                   found.computed_bytes / found.bytes);
}

int spec_pair_options_K(int *K, bool given, const spec_model *opt_draft, spec_error *error)
{
    spec_error inner = {{0}};
    const int status = spec_drafter_check_reach(opt_draft, *K, &inner);
    if (status != GSL_SUCCESS && given) return spec_fail(error, status, "--K: %.450s", inner.text);
    if (status != GSL_SUCCESS) *K = opt_draft->reach;
    return GSL_SUCCESS;
}

int spec_pair_options_open(spec_model **ret_target, spec_model **opt_draft,
                           const spec_pair_options *options, spec_error *error)
{
    spec_error inner = {{0}};
    const char *which = "target";
    spec_model *target = NULL, *draft = NULL;
    int status = GSL_SUCCESS;
    *ret_target = NULL;
    if (opt_draft != NULL) *opt_draft = NULL;
    spec_progress_phase("loading the models"); /* n-gram models count their text now */
    SPEC_TRY(spec_model_open_unloaded(&target, options->target, NULL, options->context, &inner));
    if (opt_draft != NULL && options->draft != NULL) {
        const spec_memory_budget_need alone = spec_transformer_memory(target, 1, 1, 0);
        SPEC_TRY(spec_memory_budget_check(&alone, 1, &inner));
        which = "draft";
        SPEC_TRY(
            spec_model_open_unloaded(&draft, options->draft, target, options->context, &inner));
        SPEC_TRY(spec_vocabularies_check(target, draft, &inner));
        SPEC_TRY(check_room(target, draft, options, &inner));
        which = "target";
    }
    SPEC_TRY(spec_model_load(target, NULL, &inner));
    which = "draft";
    if (draft != NULL) SPEC_TRY(spec_model_load(draft, target, &inner));
    spec_progress_phase(NULL);
    *ret_target = target;
    if (opt_draft != NULL) *opt_draft = draft;
    target = draft = NULL;
done:
    spec_model_close(draft);
    spec_model_close(target);
    return status == GSL_SUCCESS ? status
                                 : spec_fail(error, status, "--%s: %.450s", which, inner.text);
}

int spec_pair_options_open_inner(spec_model **ret_inner, const spec_pair_options *options,
                                 const spec_model *draft, spec_error *error)
{
    spec_error inner = {{0}};
    int status = GSL_SUCCESS;
    *ret_inner = NULL;
    if (options->inner_draft == NULL) return status;
    SPEC_TRY(spec_model_open(ret_inner, options->inner_draft, draft, options->context, &inner));
    status = spec_vocabularies_check(draft, *ret_inner, &inner);
done:
    return status == GSL_SUCCESS ? status
                                 : spec_fail(error, status, "--inner-draft: %.450s", inner.text);
}
