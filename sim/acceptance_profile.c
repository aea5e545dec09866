/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance_profile.h"

#include "base/input_file.h"
#include "base/json_memory.h"
#include "models/import/json_values.h"
#include "speclab/no_memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const spec_input_limit limit = {"a profile", 1 << 20};
static const double slack = 1e-3; /* so that rates rounded to three digits agree */

/* ---- reading --------------------------------------------------------------------------------- */

static int refuse(const spec_json_values *of, const char *what)
{
    return spec_fail(of->error, GSL_EINVAL, "%.300s: %s", of->path, what);
}

/* Reads element i of a list, which must be a number in [0,1]; NaN if the list is missing or, where
 * allowed, the element is null. */
static int element(double *ret, const spec_json_values *of, const char *key, int i, bool null)
{
    const json_t *value = json_array_get(json_object_get(of->object, key), (size_t)i);
    *ret = NAN;
    if (value == NULL || (null && json_is_null(value))) return GSL_SUCCESS;
    if (!json_is_number(value) || !(json_number_value(value) >= 0.0) ||
        json_number_value(value) > 1.0)
        return spec_fail(of->error, GSL_EINVAL, "%.300s: '%s' of depth %d is not a number in [0,1]",
                         of->path, key, i + 1);
    *ret = json_number_value(value);
    return GSL_SUCCESS;
}

static int check_list(const spec_json_values *of, const char *group, const char *key, int K)
{
    const json_t *list = json_object_get(of->object, key);
    if (list == NULL || (json_is_array(list) && json_array_size(list) == (size_t)K))
        return GSL_SUCCESS;
    return spec_fail(of->error, GSL_EINVAL, "%.300s: '%s' of '%s' is not a list of K = %d numbers",
                     of->path, key, group, K);
}

static int check_interval(const spec_json_values *of, const char *group,
                          const spec_profile_number *number)
{
    if (!(number->low > number->value + slack) && !(number->high < number->value - slack))
        return GSL_SUCCESS;
    return spec_fail(of->error, GSL_EINVAL, "%.300s: '%s' has %g outside its interval [%g, %g]",
                     of->path, group, number->value, number->low, number->high);
}

/* Reads {"rate": [...], "low": [...], "high": [...]}; all NaN if the object is missing. */
static int read_rates(spec_profile_number *ret, const spec_json_values *root, const char *group,
                      int K)
{
    static const char *const key[] = {"rate", "low", "high"};
    spec_json_values of;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_json_values_object(&of, root, group));
    for (int i = 0; i < 3; i++) SPEC_TRY(check_list(&of, group, key[i], K));
    if (of.object != NULL && json_object_get(of.object, "rate") == NULL)
        SPEC_TRY(
            spec_fail(root->error, GSL_EINVAL, "%.300s: '%s' has no 'rate'", root->path, group));
    for (int i = 0; i < K; i++) {
        SPEC_TRY(element(&ret[i].value, &of, "rate", i, strcmp(group, "conditional") == 0));
        SPEC_TRY(element(&ret[i].low, &of, "low", i, true));
        SPEC_TRY(element(&ret[i].high, &of, "high", i, true));
    }
done:
    return status;
}

static int check_unconditional(const spec_acceptance_profile *profile, const spec_json_values *root)
{
    if (isnan(profile->unconditional[0].value))
        return refuse(root, "has no 'unconditional' rates; advise --profile writes them");
    for (int i = 0; i < profile->K; i++) {
        const int status = check_interval(root, "unconditional", &profile->unconditional[i]);
        if (status != GSL_SUCCESS) return status;
    }
    for (int i = 1; i < profile->K; i++)
        if (profile->unconditional[i].value > profile->unconditional[i - 1].value)
            return spec_fail(
                root->error, GSL_EINVAL,
                "%.300s: unconditional rates rise from %g to %g at depth %d; each is a "
                "share of all rounds, at most the one before",
                root->path, profile->unconditional[i - 1].value, profile->unconditional[i].value,
                i + 1);
    return GSL_SUCCESS;
}

/* Conditional rates are the ratios of unconditional ones. */
static int complete_conditional(spec_acceptance_profile *profile, const spec_json_values *root)
{
    double before = 1.0;
    for (int i = 0; i < profile->K; i++) {
        spec_profile_number *rate = &profile->conditional[i];
        const double now = profile->unconditional[i].value;
        if (fabs(rate->value * before - now) > slack)
            return spec_fail(
                root->error, GSL_EINVAL,
                "%.300s: the conditional rate of depth %d is %g, but the unconditional "
                "ones, %g and %g, give %g",
                root->path, i + 1, rate->value, before, now, now / before);
        rate->value = before > 0.0 ? now / before : NAN;
        const int status = check_interval(root, "conditional", rate);
        if (status != GSL_SUCCESS) return status;
        before = now;
    }
    return GSL_SUCCESS;
}

static int read_mean(spec_profile_number *ret, const spec_json_values *of, const char *key,
                     double expected, double tolerance)
{
    spec_json_values number;
    int status = GSL_SUCCESS;
    *ret = (spec_profile_number){NAN, NAN, NAN};
    SPEC_TRY(spec_json_values_object(&number, of, key));
    SPEC_TRY(spec_json_values_real(&ret->value, &number, "value", NAN));
    SPEC_TRY(spec_json_values_real(&ret->low, &number, "low", NAN));
    SPEC_TRY(spec_json_values_real(&ret->high, &number, "high", NAN));
    if (fabs(ret->value - expected) > tolerance)
        SPEC_TRY(spec_fail(of->error, GSL_EINVAL,
                           "%.300s: the mean length %s is %g, but the unconditional rates give %g",
                           of->path, key, ret->value, expected));
    ret->value = expected;
    SPEC_TRY(check_interval(of, "mean_length", ret));
done:
    return status;
}

static int read_length(spec_acceptance_profile *profile, const spec_json_values *root)
{
    const double length = spec_acceptance_profile_length(profile, profile->K);
    spec_json_values of;
    spec_profile_number without;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_json_values_object(&of, root, "mean_length"));
    SPEC_TRY(read_mean(&profile->length, &of, "with_bonus", length, slack * profile->K));
    SPEC_TRY(read_mean(&without, &of, "without_bonus", length - 1.0, slack * profile->K));
done:
    return status;
}

static int read_count(double *ret, const spec_json_values *root, const char *key)
{
    const int status = spec_json_values_real(ret, root, key, NAN);
    if (status == GSL_SUCCESS && *ret < 0.0)
        return spec_json_values_refuse(root, key, "a number, at least 0");
    return status;
}

static int read_source(spec_acceptance_profile *profile, const spec_json_values *root)
{
    spec_json_values of;
    const char *engine, *format;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_json_values_object(&of, root, "source"));
    SPEC_TRY(spec_json_values_text(&engine, &of, "engine", ""));
    SPEC_TRY(spec_json_values_text(&format, &of, "format", ""));
    snprintf(profile->engine, sizeof profile->engine, "%s", engine);
    snprintf(profile->format, sizeof profile->format, "%s", format);
    const json_t *files = json_object_get(of.object, "files");
    if (files != NULL && !json_is_array(files))
        SPEC_TRY(spec_json_values_refuse(&of, "files", "a list of names"));
    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *name = json_string_value(json_array_get(files, i));
        if (name == NULL) SPEC_TRY(spec_json_values_refuse(&of, "files", "a list of names"));
        SPEC_TRY(spec_acceptance_profile_add_file(profile, name, root->error));
    }
done:
    return status;
}

/* Reads [[0, 0.82], [4096, 0.61]]: context lengths in ascending order from 0, each with the alpha
 * that holds from there on. */
static int read_context(spec_context_steps *ret, const spec_json_values *root)
{
    const json_t *list = json_object_get(root->object, "alpha_by_context");
    const size_t n = json_array_size(list);
    *ret = (spec_context_steps){0};
    if (list == NULL) return GSL_SUCCESS;
    if (n == 0 || n > SPEC_CONTEXT_STEPS_MAX)
        return spec_json_values_refuse(root, "alpha_by_context", "a list of [tokens, alpha]");
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(list, i), *from = json_array_get(pair, 0),
                     *alpha = json_array_get(pair, 1);
        const json_int_t tokens = json_integer_value(from);
        if (json_array_size(pair) != 2 || !json_is_integer(from) || !json_is_number(alpha) ||
            !(json_number_value(alpha) >= 0.0 && json_number_value(alpha) <= 1.0) ||
            tokens > INT_MAX || (i == 0 ? tokens != 0 : tokens <= ret->from[i - 1]))
            return spec_json_values_refuse(root, "alpha_by_context",
                                           "a list of [tokens, alpha], rising from 0 tokens");
        ret->from[i] = (int)tokens;
        ret->value[i] = json_number_value(alpha);
    }
    ret->n = (int)n;
    return GSL_SUCCESS;
}

static int read_version(const spec_json_values *root)
{
    const json_t *version = json_object_get(root->object, "speclab_profile");
    if (!json_is_integer(version))
        return refuse(root, "is not a profile, which begins with \"speclab_profile\": 1");
    if (json_integer_value(version) == SPEC_PROFILE_VERSION) return GSL_SUCCESS;
    return spec_fail(root->error, GSL_EINVAL,
                     "%.300s: is version %lld of a profile; this program reads version %d",
                     root->path, (long long)json_integer_value(version), SPEC_PROFILE_VERSION);
}

static int read_profile(spec_acceptance_profile *profile, const spec_json_values *root)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(read_version(root));
    SPEC_TRY(spec_json_values_need(&profile->K, root, "K", SPEC_PROFILE_K));
    SPEC_TRY(read_rates(profile->unconditional, root, "unconditional", profile->K));
    SPEC_TRY(check_unconditional(profile, root));
    SPEC_TRY(read_rates(profile->conditional, root, "conditional", profile->K));
    SPEC_TRY(complete_conditional(profile, root));
    SPEC_TRY(read_length(profile, root));
    SPEC_TRY(read_context(&profile->context, root));
    SPEC_TRY(read_count(&profile->rounds, root, "rounds"));
    SPEC_TRY(read_count(&profile->passes, root, "passes"));
    SPEC_TRY(spec_json_values_bool(&profile->one_rate, root, "one_rate_assumed", false));
    SPEC_TRY(read_source(profile, root));
done:
    return status;
}

int spec_acceptance_profile_parse(spec_acceptance_profile *profile, const char *bytes, size_t n,
                                  const char *name, spec_error *error)
{
    json_t *root = NULL;
    int status = GSL_SUCCESS;
    *profile = (spec_acceptance_profile){0};
    SPEC_TRY(spec_json_values_parse(&root, bytes, n, name, error));
    SPEC_TRY(read_profile(profile, &(spec_json_values){name, root, error}));
done:
    json_decref(root);
    if (status != GSL_SUCCESS) spec_acceptance_profile_free(profile);
    return status;
}

int spec_acceptance_profile_load(spec_acceptance_profile *profile, const char *path,
                                 spec_error *error)
{
    char *bytes = NULL;
    size_t n;
    *profile = (spec_acceptance_profile){0};
    int status = spec_input_file_read_text(&bytes, &n, path, &limit, error);
    if (status == GSL_SUCCESS)
        status = spec_acceptance_profile_parse(profile, bytes, n, path, error);
    free(bytes);
    return status;
}

/* ---- the record ------------------------------------------------------------------------------ */

void spec_acceptance_profile_free(spec_acceptance_profile *profile)
{
    for (int i = 0; i < profile->n_files; i++) free(profile->file[i]);
    free(profile->file);
    *profile = (spec_acceptance_profile){0};
}

int spec_acceptance_profile_add_file(spec_acceptance_profile *profile, const char *path,
                                     spec_error *error)
{
    if (profile->n_files == SPEC_PROFILE_FILES)
        return spec_fail(error, GSL_EINVAL, "a profile names at most %d files", SPEC_PROFILE_FILES);
    if (profile->file == NULL) profile->file = calloc(SPEC_PROFILE_FILES, sizeof *profile->file);
    char *copy = profile->file != NULL ? strdup(path) : NULL;
    if (copy == NULL) return spec_no_memory(error);
    profile->file[profile->n_files++] = copy;
    return GSL_SUCCESS;
}

double spec_acceptance_profile_length(const spec_acceptance_profile *profile, int K)
{
    double sum = 1.0;
    for (int i = 0; i < K; i++) sum += profile->unconditional[i].value;
    return sum;
}

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *number_of(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Returns a JSON integer if the value is whole, else a real number. */
static json_t *count_of(double value)
{
    return value == floor(value) && value < 1e15 ? json_integer((json_int_t)value)
                                                 : number_of(value);
}

static json_t *rates_of(const spec_profile_number *rate, int K)
{
    json_t *value = json_array(), *low = json_array(), *high = json_array();
    for (int i = 0; i < K; i++) {
        json_array_append_new(value, number_of(rate[i].value));
        json_array_append_new(low, number_of(rate[i].low));
        json_array_append_new(high, number_of(rate[i].high));
    }
    return json_pack("{so so so}", "rate", value, "low", low, "high", high);
}

static json_t *context_of(const spec_context_steps *context)
{
    json_t *list = json_array();
    for (int i = 0; i < context->n; i++)
        json_array_append_new(list, json_pack("[if]", context->from[i], context->value[i]));
    return list;
}

static json_t *mean_of(const spec_profile_number *length, double less)
{
    return json_pack("{so so so}", "value", number_of(length->value - less), "low",
                     number_of(length->low - less), "high", number_of(length->high - less));
}

static json_t *source_of(const spec_acceptance_profile *profile)
{
    json_t *files = json_array();
    for (int i = 0; i < profile->n_files; i++)
        json_array_append_new(files, spec_json_string(profile->file[i], strlen(profile->file[i])));
    return json_pack("{ss ss so}", "engine", profile->engine, "format", profile->format, "files",
                     files);
}

int spec_acceptance_profile_write(const spec_acceptance_profile *profile, FILE *out,
                                  spec_error *error)
{
    spec_json_begin();
    json_t *root =
        json_pack("{si si so so sb so so s{so so} so}", "speclab_profile", SPEC_PROFILE_VERSION,
                  "K", profile->K, "rounds", count_of(profile->rounds), "passes",
                  count_of(profile->passes), "one_rate_assumed", profile->one_rate, "unconditional",
                  rates_of(profile->unconditional, profile->K), "conditional",
                  rates_of(profile->conditional, profile->K), "mean_length", "with_bonus",
                  mean_of(&profile->length, 0.0), "without_bonus", mean_of(&profile->length, 1.0),
                  "source", source_of(profile));
    if (root != NULL && profile->context.n > 0)
        json_object_set_new(root, "alpha_by_context", context_of(&profile->context));
    const bool whole = root != NULL && !spec_json_lost() &&
                       json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) == 0 &&
                       !spec_json_lost();
    json_decref(root);
    if (!whole && !ferror(out)) return spec_no_memory(error);
    putc('\n', out);
    return GSL_SUCCESS;
}
