/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/pass_time.h"

#include "base/hardware.h"
#include "base/quantity.h"
#include "sim/serving/pass_fit.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int spec_pass_time_affine(spec_pass_time *time, const spec_settings *settings, spec_error *error)
{
    static const double range[2] = {0.0, 1e6};
    int status = GSL_SUCCESS;
    *time = (spec_pass_time){.kind = SPEC_PASS_AFFINE};
    SPEC_TRY(spec_quantity_setting(&time->fixed, settings, "step", 0.0, SPEC_QUANTITY_TIME, range,
                                   error));
    SPEC_TRY(spec_quantity_setting(&time->token, settings, "token", 0.0, SPEC_QUANTITY_TIME, range,
                                   error));
    SPEC_TRY(
        spec_quantity_setting(&time->kv, settings, "kv", 0.0, SPEC_QUANTITY_TIME, range, error));
    if (time->fixed + time->token == 0.0)
        status = spec_fail(error, GSL_EINVAL,
                           "%.80s: a step of one token takes no time; give step= or token=, as in "
                           "affine:step=7.1ms,token=21us,kv=39ns",
                           settings->name);
done:
    if (status != GSL_SUCCESS) *time = (spec_pass_time){0};
    return status;
}

/* ---- roofline -------------------------------------------------------------------------------- */

#define KEYS                                                                                       \
    "parameters=8.03B&card=H100&flops=&bandwidth=&bits=16&devices=1&efficiency=&compute=&"         \
    "bytes_per_weight=2&kv_bytes=0&experts=&active=&active_parameters=&form=sum"
#define FIT_KEYS "&kv=0&batch=8&input=32&output=128&step="
#define DRAFT_KEYS "&round=&calls=each&kv_limit="
const char spec_pass_time_roofline_usage[] = "roofline?" KEYS "&overhead=&plain=&draft_overhead=";
const char spec_pass_time_roofline_draft_usage[] = "roofline?" KEYS "&overhead=&plain=" DRAFT_KEYS;
const char spec_pass_time_fit_usage[] = "fit:FILE?" KEYS FIT_KEYS "&draft_overhead=";
const char spec_pass_time_fit_draft_usage[] = "fit:FILE?" KEYS FIT_KEYS DRAFT_KEYS;

/* A machine that is known only by its peaks. */
static const spec_engine_share ideal = {
    "", {1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};

/* Reads a known card by its name, or a machine by its two numbers, which may also replace a card's
 * numbers. */
static int read_machine(spec_hardware *machine, const spec_settings *settings, spec_error *error)
{
    static const char *const formats[] = {"16", "8", "4", NULL};
    static const double flops[2] = {1e9, 1e30}, bandwidth[2] = {1e6, 1e30};
    const char *card = spec_settings_text(settings, "card");
    int bits, status = GSL_SUCCESS;
    *machine = (spec_hardware){.name = "", .source = "", .share = &ideal};
    if (card != NULL) {
        const spec_hardware *known = spec_hardware_find(card);
        if (known == NULL) {
            char meant[SPEC_HARDWARE_MEANT_SIZE];
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%.80s: card=%.60s is not known%s; for another, give flops= and "
                               "bandwidth=",
                               settings->name, card, spec_hardware_meant(meant, card)));
        }
        *machine = *known;
    } else if (spec_settings_text(settings, "flops") == NULL ||
               spec_settings_text(settings, "bandwidth") == NULL) {
        SPEC_TRY(
            spec_fail(error, GSL_EINVAL,
                      "%.80s: give card=, such as H100, or flops= and bandwidth=", settings->name));
    }
    SPEC_TRY(spec_settings_choice(&bits, settings, "bits", 0, formats, error));
    if (bits > 0) machine->flops = bits == 1 ? machine->flops8 : machine->flops4;
    if (machine->flops == 0.0 && card != NULL && spec_settings_text(settings, "flops") == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.80s: %.60s has no peak for products of %s bits",
                           settings->name, machine->name, formats[bits]));
    SPEC_TRY(spec_quantity_setting(&machine->flops, settings, "flops", machine->flops,
                                   SPEC_QUANTITY_FLOPS, flops, error));
    SPEC_TRY(spec_quantity_setting(&machine->bandwidth, settings, "bandwidth", machine->bandwidth,
                                   SPEC_QUANTITY_BANDWIDTH, bandwidth, error));
done:
    return status;
}

/* The weights of a model: the bytes and parameters that every pass uses, and those of all
 * experts. */
typedef struct {
    double parameters, in_experts; /* all parameters, and how many of them are in experts */
    double unused;                 /* 1 - active / experts; 1: a dense model */
} model_weights;

/* Of P parameters, E x are in E experts of x parameters each, and a token uses k experts. So A = P
 * - (E - k) x parameters are active, which gives x. */
static int read_weights(model_weights *model, const spec_settings *settings, spec_error *error)
{
    static const double range[2] = {1e4, 1e18};
    static const char *const keys[] = {"experts", "active", "active_parameters"};
    double active_parameters;
    int experts, active, given = 0, status = GSL_SUCCESS;
    *model = (model_weights){.unused = 1.0};
    if (spec_settings_text(settings, "parameters") == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.80s: give the number of parameters, as in parameters=8.03B",
                           settings->name));
    SPEC_TRY(spec_quantity_setting(&model->parameters, settings, "parameters", NAN,
                                   SPEC_QUANTITY_COUNT, range, error));
    for (int i = 0; i < 3; i++) given += spec_settings_text(settings, keys[i]) != NULL;
    if (given == 0) goto done;
    if (given < 3)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.80s: a mixture of experts needs experts=, active= and "
                           "active_parameters=, as in experts=128,active=8,active_parameters=3.3B",
                           settings->name));
    SPEC_TRY(spec_settings_int(&experts, settings, "experts", 0, 2, 1 << 20, error));
    SPEC_TRY(spec_settings_int(&active, settings, "active", 0, 1, experts - 1, error));
    SPEC_TRY(spec_quantity_setting(&active_parameters, settings, "active_parameters", NAN,
                                   SPEC_QUANTITY_COUNT, range, error));
    const double least = model->parameters * active / experts;
    if (!(active_parameters >= least && active_parameters <= model->parameters))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.80s: active_parameters=%.40s must be between %.4g, as many as if all "
                           "were in experts, and all %.4g",
                           settings->name, spec_settings_text(settings, "active_parameters"), least,
                           model->parameters));
    model->in_experts = experts * (model->parameters - active_parameters) / (experts - active);
    model->unused = 1.0 - (double)active / experts;
done:
    return status;
}

/* The shares of the machine's peaks that engines reach, from the spec or else the central
 * values. */
typedef struct {
    double efficiency, compute, overhead;
} reached;

static int read_reached(reached *at, const spec_engine_share *share, double overhead,
                        const spec_settings *settings, spec_error *error)
{
    static const double range[2] = {0.0, 1e6};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_double(&at->efficiency, settings, "efficiency",
                                  share->efficiency.central, 1e-3, 1.0, error));
    SPEC_TRY(spec_settings_double(&at->compute, settings, "compute", share->compute.central, 1e-3,
                                  1.0, error));
    SPEC_TRY(spec_quantity_setting(&at->overhead, settings, "overhead", overhead,
                                   SPEC_QUANTITY_TIME, range, error));
done:
    return status;
}

static int read_draft_times(spec_draft_times *draft, const spec_hardware *machine,
                            const spec_settings *settings, const spec_draft_times *opt_given,
                            spec_error *error)
{
    static const char *const calls[] = {"each", "one", NULL};
    static const double range[2] = {0.0, 1e6};
    int one, status = GSL_SUCCESS;
    *draft = (spec_draft_times){.call = NAN, .round = machine->share->round.central};
    SPEC_TRY(spec_quantity_setting(&draft->call, settings, "draft_overhead", NAN,
                                   SPEC_QUANTITY_TIME, range, error));
    if (opt_given == NULL) goto done;
    draft->call = isnan(opt_given->call) ? machine->share->draft_overhead.central : opt_given->call;
    SPEC_TRY(spec_quantity_setting(&draft->round, settings, "round", draft->round,
                                   SPEC_QUANTITY_TIME, range, error));
    SPEC_TRY(spec_settings_choice(&one, settings, "calls", 0, calls, error));
    draft->one_call = one == 1;
done:
    return status;
}

/* Sets the overhead so that a pass takes as long as the measured one. If the modelled pass is too
 * slow even without overhead, speeds up all reading and computing by the same factor. */
static void meet(spec_pass_time *time, const spec_pass_point *point)
{
    const double rest =
        spec_pass_time_seconds(time, point->tokens, point->kv_tokens) - time->overhead;
    const double seconds = point->seconds, faster = fmin(1.0, seconds / rest);
    time->fixed = faster * (time->fixed - time->overhead);
    time->weights *= faster;
    time->experts *= faster;
    time->token *= faster;
    time->kv *= faster;
    time->overhead = fmax(0.0, seconds - rest);
    time->fixed += time->overhead;
}

int spec_pass_time_roofline(spec_pass_time *time, spec_draft_times *draft,
                            const spec_settings *settings, const spec_draft_times *opt_given,
                            spec_error *error)
{
    static const char *const forms[] = {"sum", "max", NULL};
    static const double kv_range[2] = {0.0, 1e12}, plain_range[2] = {1e-9, 1e6};
    double bytes_per_weight, kv_bytes, plain;
    spec_hardware machine;
    model_weights model;
    reached at;
    int devices, form, status = GSL_SUCCESS;
    *time = (spec_pass_time){0};
    SPEC_TRY(read_machine(&machine, settings, error));
    SPEC_TRY(read_weights(&model, settings, error));
    SPEC_TRY(read_draft_times(draft, &machine, settings, opt_given, error));
    SPEC_TRY(read_reached(&at, machine.share,
                          opt_given != NULL ? draft->call : machine.share->overhead.central,
                          settings, error));
    SPEC_TRY(spec_settings_double(&bytes_per_weight, settings, "bytes_per_weight", 2.0, 1e-3, 1e3,
                                  error));
    SPEC_TRY(spec_quantity_setting(&kv_bytes, settings, "kv_bytes", 0.0, SPEC_QUANTITY_BYTES,
                                   kv_range, error));
    SPEC_TRY(spec_settings_int(&devices, settings, "devices", 1, 1, 1 << 20, error));
    SPEC_TRY(spec_settings_choice(&form, settings, "form", 0, forms, error));
    SPEC_TRY(spec_quantity_setting(&plain, settings, "plain", 0.0, SPEC_QUANTITY_TIME, plain_range,
                                   error));
    if (plain > 0.0 && spec_settings_text(settings, "overhead") != NULL)
        SPEC_TRY(spec_fail(
            error, GSL_EINVAL,
            "%.80s: plain= gives the overhead; leave out overhead= or plain=", settings->name));

    const double read = bytes_per_weight / (machine.bandwidth * at.efficiency * devices);
    const double active = model.parameters - model.in_experts * model.unused;
    *time = (spec_pass_time){.kind = form == 1 ? SPEC_PASS_MAX : SPEC_PASS_SUM,
                             .fixed = at.overhead,
                             .overhead = at.overhead,
                             .token = 2.0 * active / (machine.flops * at.compute * devices),
                             .kv = kv_bytes / (machine.bandwidth * at.efficiency * devices),
                             .weights = (model.parameters - model.in_experts) * read,
                             .experts = model.in_experts * read,
                             .unused = model.unused,
                             .memory = machine.memory * devices,
                             .weight_bytes = model.parameters * bytes_per_weight,
                             .kv_bytes = kv_bytes};
    if (form == 0 && model.in_experts == 0.0) {
        time->kind = SPEC_PASS_AFFINE;
        time->fixed += time->weights;
    }
    if (plain > 0.0) meet(time, &(spec_pass_point){1.0, 0.0, plain});
done:
    return status;
}

static void add_default(char *text, size_t size, const spec_settings *settings, const char *key,
                        double value, const char *unit)
{
    const size_t used = strlen(text);
    if (spec_settings_text(settings, key) == NULL)
        snprintf(text + used, size - used, "%s%s=%.4g%s", used > 0 ? "," : "", key, value, unit);
}

bool spec_pass_time_roofline_defaults(char *ret_text, size_t size, const spec_settings *settings,
                                      bool draft, int corner)
{
    spec_hardware machine;
    bool uncertain = false;
    ret_text[0] = '\0';
    if (read_machine(&machine, settings, NULL) != GSL_SUCCESS) return false;
    const spec_engine_share *s = machine.share;
    const struct {
        const char *key;
        const spec_span *span;
        double scale;
        const char *unit;
        bool applies;
    } spans[] = {
        {"efficiency", &s->efficiency, 1.0, "", true},
        {"compute", &s->compute, 1.0, "", true},
        {"overhead", &s->overhead, 1e3, "ms", !draft},
        {"overhead", &s->draft_overhead, 1e3, "ms", draft},
        {"round", &s->round, 1e3, "ms", draft},
    };
    add_default(ret_text, size, settings, "kv_bytes", 0.0, "");
    add_default(ret_text, size, settings, "bytes_per_weight", 2.0, "");
    for (int i = 0; i < (int)(sizeof spans / sizeof *spans); i++) {
        const spec_span *span = spans[i].span;
        const double end = corner >> i & 1 ? span->worst : span->best;
        const bool is_overhead = spans[i].key[0] == 'o';
        if (!spans[i].applies || (is_overhead && spec_settings_text(settings, "plain") != NULL))
            continue;
        uncertain |=
            span->best != span->worst && spec_settings_text(settings, spans[i].key) == NULL;
        add_default(ret_text, size, settings, spans[i].key,
                    spans[i].scale * (corner < 0 ? span->central : end), spans[i].unit);
    }
    add_default(ret_text, size, settings, "devices", 1.0, "");
    return uncertain;
}

/* ---- fit ------------------------------------------------------------------------------------- */

/* Finds the overhead, at least 0, with the smallest mean square of relative errors. */
static void fit_overhead(spec_pass_time *time, const spec_pass_points *points)
{
    double sum = 0.0, weight = 0.0;
    for (int i = 0; i < points->n; i++) {
        const spec_pass_point *p = &points->at[i];
        const double rest =
            p->seconds - (spec_pass_time_seconds(time, p->tokens, p->kv_tokens) - time->overhead);
        sum += rest / (p->seconds * p->seconds);
        weight += 1.0 / (p->seconds * p->seconds);
    }
    const double overhead = fmax(0.0, sum / weight);
    time->fixed += overhead - time->overhead;
    time->overhead = overhead;
}

/* Fits the affine times that the points determine, and keeps those of `time` for the others. */
static int fit_affine(spec_pass_time *time, const spec_pass_points *points, int end,
                      const char *path, spec_error *error)
{
    const spec_pass_fit given = {.step = time->fixed, .token = time->token, .kv = time->kv};
    const double weights = time->fixed - time->overhead;
    spec_pass_fit fit;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_pass_fit_points(&fit, points, &given, path, error));
    const int unknowns = 1 + fit.fits_token + fit.fits_kv;
    const double half =
        isfinite(fit.step_se)
            ? fit.step_se * gsl_cdf_tdist_Pinv(0.975, (double)(points->n - unknowns))
            : 0.0;
    char spread[32] = ""; /* empty if there are too few points for an interval */
    if (half > 0.0) snprintf(spread, sizeof spread, " +- %.2g", 1e3 * half);
    snprintf(time->note, sizeof time->note,
             "%.60s: %d point%s give step=%.4gms%s, token=%.4gus%s, kv=%.4gns%s; the largest error "
             "is %.2g %%",
             path, points->n, points->n == 1 ? "" : "s", 1e3 * fit.step, spread, 1e6 * fit.token,
             fit.fits_token ? "" : " (given)", 1e9 * fit.kv, fit.fits_kv ? "" : " (given)",
             1e2 * fit.worst_error);
    time->fixed = fmax(fit.step + end * half, fit.token > 0.0 ? 0.0 : 1e-12);
    time->overhead = fmax(0.0, time->fixed - weights);
    time->token = fit.token;
    time->kv = fit.kv;
    time->step_se = fit.step_se;
done:
    return status;
}

int spec_pass_time_fit(spec_pass_time *time, spec_draft_times *draft, const spec_settings *settings,
                       const spec_draft_times *opt_given, spec_error *error)
{
    static const char *const ends[] = {"low", "central", "high", NULL};
    static const double kv_range[2] = {0.0, 1.0};
    const bool machine = spec_settings_text(settings, "card") != NULL ||
                         spec_settings_text(settings, "flops") != NULL;
    spec_pass_points *points = malloc(sizeof *points);
    int end, status = GSL_SUCCESS;
    *time = (spec_pass_time){0};
    *draft = (spec_draft_times){.call = NAN};
    if (points == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_settings_choice(&end, settings, "step", 1, ends, error));
    SPEC_TRY(spec_pass_points_read(points, settings, error));
    if (machine) SPEC_TRY(spec_pass_time_roofline(time, draft, settings, opt_given, error));
    SPEC_TRY(spec_quantity_setting(&time->kv, settings, "kv", time->kv, SPEC_QUANTITY_TIME,
                                   kv_range, error));
    bool differs = false;
    for (int i = 1; i < points->n; i++) differs |= points->at[i].tokens != points->at[0].tokens;
    if (!machine && !differs)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.300s: all points have one batch size; measure a second one, or give "
                           "card= and parameters=",
                           settings->path));
    if (points->n == 1)
        meet(time, &points->at[0]);
    else if (time->kind != SPEC_PASS_AFFINE)
        fit_overhead(time, points);
    else
        SPEC_TRY(fit_affine(time, points, end - 1, settings->path, error));
done:
    free(points);
    if (status != GSL_SUCCESS) *time = (spec_pass_time){0};
    return status;
}

/* ---- table ----------------------------------------------------------------------------------- */

int spec_pass_time_table(spec_pass_time *time, const spec_settings *settings, bool draft,
                         spec_error *error)
{
    static const double range[2] = {0.0, 1.0};
    double kv;
    int status = GSL_SUCCESS;
    *time = (spec_pass_time){.kind = SPEC_PASS_TABLE};
    SPEC_TRY(spec_quantity_setting(&kv, settings, "kv", 0.0, SPEC_QUANTITY_TIME, range, error));
    SPEC_TRY(spec_time_table_read(&time->table, settings->path, draft, kv, error));
done:
    return status;
}

void spec_pass_time_free(spec_pass_time *time)
{
    spec_time_table_free(&time->table);
    *time = (spec_pass_time){0};
}

double spec_pass_time_seconds(const spec_pass_time *time, double tokens, double kv_tokens)
{
    if (time->kind == SPEC_PASS_TABLE)
        return spec_time_table_seconds(&time->table, tokens, kv_tokens);
    const double products = time->token * tokens, cache = time->kv * kv_tokens;
    if (time->kind == SPEC_PASS_AFFINE) return time->fixed + products + cache;
    const double used = time->experts > 0.0 ? -expm1(tokens * log(time->unused)) : 0.0;
    const double weights = time->weights + time->experts * used;
    return time->fixed + cache +
           (time->kind == SPEC_PASS_MAX ? fmax(weights, products) : weights + products);
}
