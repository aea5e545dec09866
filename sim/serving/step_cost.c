/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/step_cost.h"

#include "base/names.h"
#include "base/quantity.h"
#include "sim/serving/pass_time.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct spec_step_cost {
    spec_pass_time target;
    /* Whether the draft's cost is a time for each sequential pass; otherwise it is affine in the
     * step's work. */
    bool draft_by_pass;
    spec_pass_time draft;
    double kv_limit; /* the most KV tokens of a request that a draft pass reads */
    spec_draft_times draft_times;
    double draft_kv_bytes; /* bytes of a token in the draft's cache; 0: the draft has no cache */
    bool is_affine;
    spec_affine_step affine;
};

/* ---- specs ----------------------------------------------------------------------------------- */

typedef enum { AFFINE, ROOFLINE, FIT, TABLE } cost_kind;
static const char *const names[] = {"affine", "roofline", "fit", "table", NULL};
static const char *const target_usages[] = {"affine?step=7.1ms&token=21us&kv=39ns",
                                            spec_pass_time_roofline_usage, spec_pass_time_fit_usage,
                                            "table:FILE?kv=0"};
static const char *const draft_usages[] = {
    "affine?round=2.1ms&pass=0&token=0&kv_bytes=0", spec_pass_time_roofline_draft_usage,
    spec_pass_time_fit_draft_usage, "table:FILE?kv=0&kv_limit=&kv_bytes=0"};

static const char *name_of(int i)
{
    return names[i];
}

/* Reads the settings of a spec. If the kind takes no path, ':' and ',' become '?' and '&'. A spec
 * that begins with a key is affine. */
static int split(spec_settings *settings, cost_kind *kind, const char *spec, spec_error *error)
{
    const size_t head = strcspn(spec, ":?=");
    const bool bare = spec[head] == '=';
    char *text = malloc(strlen(spec) + sizeof "affine?"), name[64];
    int status = GSL_SUCCESS;
    if (text == NULL) SPEC_TRY(spec_no_memory(error));
    snprintf(name, sizeof name, "%.*s", (int)(head < sizeof name ? head : sizeof name), spec);
    const int found = bare ? AFFINE : spec_names_find(name_of, name, "step cost", error);
    SPEC_TRY(found < 0 ? GSL_EINVAL : GSL_SUCCESS);
    *kind = (cost_kind)found;
    sprintf(text, "%s%s", bare ? "affine?" : "", spec);
    if (*kind != TABLE && *kind != FIT) {
        if (spec[head] == ':') text[head] = '?';
        for (char *c = text; (c = strchr(c, ',')) != NULL;) *c = '&';
    }
    SPEC_TRY(spec_settings_init(settings, text, error));
done:
    free(text);
    return status;
}

static int read_target(spec_step_cost *cost, const char *spec, spec_error *error)
{
    spec_settings settings = {0};
    cost_kind kind;
    int status = GSL_SUCCESS;
    SPEC_TRY(split(&settings, &kind, spec, error));
    SPEC_TRY(spec_settings_check(&settings, target_usages[kind], NULL, error));
    cost->draft_times.call = NAN;
    switch (kind) {
    case AFFINE: status = spec_pass_time_affine(&cost->target, &settings, error); break;
    case ROOFLINE:
        status = spec_pass_time_roofline(&cost->target, &cost->draft_times, &settings, NULL, error);
        break;
    case FIT:
        status = spec_pass_time_fit(&cost->target, &cost->draft_times, &settings, NULL, error);
        break;
    case TABLE: status = spec_pass_time_table(&cost->target, &settings, false, error); break;
    }
done:
    spec_settings_free(&settings);
    return status;
}

static int read_affine_draft(spec_affine_step *affine, const spec_settings *settings,
                             spec_error *error)
{
    static const double range[2] = {0.0, 1e6};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_quantity_setting(&affine->draft_round, settings, "round", 0.0, SPEC_QUANTITY_TIME,
                                   range, error));
    SPEC_TRY(spec_quantity_setting(&affine->draft_pass, settings, "pass", 0.0, SPEC_QUANTITY_TIME,
                                   range, error));
    SPEC_TRY(spec_quantity_setting(&affine->draft_token, settings, "token", 0.0, SPEC_QUANTITY_TIME,
                                   range, error));
done:
    return status;
}

static int read_draft(spec_step_cost *cost, const char *spec, spec_error *error)
{
    static const double bytes[2] = {0.0, 1e12};
    const spec_draft_times given = cost->draft_times;
    spec_settings settings = {0};
    cost_kind kind;
    int status = GSL_SUCCESS;
    cost->draft_times = (spec_draft_times){0};
    SPEC_TRY(split(&settings, &kind, spec, error));
    SPEC_TRY(spec_settings_check(&settings, draft_usages[kind], NULL, error));
    cost->draft_by_pass = kind != AFFINE;
    switch (kind) {
    case AFFINE: status = read_affine_draft(&cost->affine, &settings, error); break;
    case ROOFLINE:
        status =
            spec_pass_time_roofline(&cost->draft, &cost->draft_times, &settings, &given, error);
        break;
    case FIT:
        status = spec_pass_time_fit(&cost->draft, &cost->draft_times, &settings, &given, error);
        break;
    case TABLE: status = spec_pass_time_table(&cost->draft, &settings, true, error); break;
    }
    SPEC_TRY(status);
    SPEC_TRY(
        spec_settings_double(&cost->kv_limit, &settings, "kv_limit", HUGE_VAL, 0.0, 1e12, error));
    SPEC_TRY(spec_quantity_setting(&cost->draft_kv_bytes, &settings, "kv_bytes", 0.0,
                                   SPEC_QUANTITY_BYTES, bytes, error));
done:
    spec_settings_free(&settings);
    return status;
}

/* If passes are affine in their tokens and read no cache, they add up to fixed passes + token
 * drafted, so the step is affine too. */
static void join_affine(spec_step_cost *cost)
{
    const bool draft =
        !cost->draft_by_pass || (cost->draft.kind == SPEC_PASS_AFFINE && cost->draft.kv == 0.0);
    cost->is_affine = cost->target.kind == SPEC_PASS_AFFINE && draft;
    if (!cost->is_affine) return;
    cost->affine.step = cost->target.fixed;
    cost->affine.token = cost->target.token;
    cost->affine.kv = cost->target.kv;
    if (!cost->draft_by_pass) return;
    cost->affine.draft_round = cost->draft_times.round;
    if (cost->draft_times.one_call)
        cost->affine.draft_round += cost->draft.fixed;
    else
        cost->affine.draft_pass = cost->draft.fixed;
    cost->affine.draft_token = cost->draft.token;
}

int spec_step_cost_create(spec_step_cost **ret_cost, const char *target, const char *opt_draft,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_step_cost *cost = calloc(1, sizeof *cost);
    *ret_cost = NULL;
    if (cost == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(read_target(cost, target, error));
    if (opt_draft != NULL && strcmp(opt_draft, "none") != 0)
        SPEC_TRY(read_draft(cost, opt_draft, error));
    join_affine(cost);
    *ret_cost = cost;
done:
    if (status != GSL_SUCCESS) spec_step_cost_free(cost);
    return status;
}

void spec_step_cost_free(spec_step_cost *cost)
{
    if (cost == NULL) return;
    spec_pass_time_free(&cost->target);
    spec_pass_time_free(&cost->draft);
    free(cost);
}

const char *spec_step_cost_warning(const spec_step_cost *cost)
{
    const char *const texts[] = {cost->target.table.warning, cost->draft.table.warning,
                                 cost->target.note, cost->draft.note};
    int i = 0;
    while (i < 3 && texts[i][0] == '\0') i++;
    return texts[i];
}

void spec_step_cost_defaults(char *ret_text, size_t size, const char *spec, bool draft)
{
    spec_settings settings = {0};
    cost_kind kind;
    ret_text[0] = '\0';
    if (split(&settings, &kind, spec, NULL) != GSL_SUCCESS) goto done;
    if (kind == ROOFLINE) {
        spec_pass_time_roofline_defaults(ret_text, size, &settings, draft, -1);
    } else if (kind == TABLE || (kind == AFFINE && !draft)) {
        const bool token = kind == AFFINE && spec_settings_text(&settings, "token") == NULL,
                   kv = spec_settings_text(&settings, "kv") == NULL;
        snprintf(ret_text, size, "%s%s%s", token ? "token=0" : "", token && kv ? "," : "",
                 kv ? "kv=0" : "");
    }
done:
    spec_settings_free(&settings);
}

bool spec_step_cost_corner(char *ret_spec, size_t size, const char *spec, bool draft, int corner)
{
    spec_settings settings = {0};
    cost_kind kind;
    char text[SPEC_STEP_COST_DEFAULTS] = "";
    bool uncertain = false;
    const char *join = ",";
    if (split(&settings, &kind, spec, NULL) != GSL_SUCCESS) goto done;
    if (kind == ROOFLINE)
        uncertain = spec_pass_time_roofline_defaults(text, sizeof text, &settings, draft, corner);
    if (kind == FIT && corner >= 0 && spec_settings_text(&settings, "step") == NULL) {
        spec_pass_time time;
        spec_draft_times times;
        uncertain = spec_pass_time_fit(&time, &times, &settings, NULL, NULL) == GSL_SUCCESS &&
                    time.step_se > 0.0;
        snprintf(text, sizeof text, "step=%s", corner >> (draft ? 3 : 2) & 1 ? "high" : "low");
        join = strchr(spec, '?') != NULL ? "&" : "?";
    }
done:
    snprintf(ret_spec, size, "%s%s%s", spec, text[0] != '\0' ? join : "", text);
    spec_settings_free(&settings);
    return uncertain;
}

/* ---- times ----------------------------------------------------------------------------------- */

double spec_step_cost_target(const spec_step_cost *cost, const spec_step_work *work)
{
    return spec_pass_time_seconds(&cost->target,
                                  (double)(work->prompt_tokens + work->decode_tokens),
                                  (double)work->kv_tokens);
}

/* We assume that all passes of a step have the same size. This is exact if all requests draft K
 * tokens, or if a pass is affine. */
double spec_step_cost_draft(const spec_step_cost *cost, const spec_step_work *work)
{
    if (!cost->draft_by_pass) return spec_affine_step_draft(&cost->affine, work);
    if (work->drafted + work->fed == 0) return 0.0;
    const int calls = cost->draft_times.one_call ? 1 : work->passes;
    const double requests = (double)work->drafted / work->passes,
                 tokens = (double)work->drafted / calls;
    const double context = work->decoding > 0 ? (double)work->kv_tokens / work->decoding : 0.0,
                 kv = requests * fmin(context, cost->kv_limit);
    double seconds = work->drafted > 0 ? cost->draft_times.round : 0.0;
    if (work->fed == 0) return seconds + calls * spec_pass_time_seconds(&cost->draft, tokens, kv);
    seconds += spec_pass_time_seconds(&cost->draft, tokens + (double)work->fed, kv);
    if (calls > 1) seconds += (calls - 1) * spec_pass_time_seconds(&cost->draft, tokens, kv);
    return seconds;
}

spec_step_memory spec_step_cost_memory(const spec_step_cost *cost)
{
    return (spec_step_memory){.cards = cost->target.memory,
                              .weights = cost->target.weight_bytes,
                              .draft_weights = cost->draft.weight_bytes,
                              .kv_token = cost->target.kv_bytes,
                              .draft_kv_token = cost->draft_kv_bytes};
}

const spec_affine_step *spec_step_cost_affine(const spec_step_cost *cost)
{
    return cost->is_affine ? &cost->affine : NULL;
}
