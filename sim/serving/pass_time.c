/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/pass_time.h"

#include "base/hardware.h"
#include "base/names.h"
#include "base/quantity.h"

#include <math.h>

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

const char spec_pass_time_roofline_usage[] =
    "roofline?parameters=8.03B&card=H100&flops=&bandwidth=&devices=1&efficiency=1&"
    "bytes_per_weight=2&kv_bytes=0&overhead=0&form=sum";

/* A known card by name, or a machine by its own two numbers, which may also replace a card's. */
static int read_machine(spec_hardware *machine, const spec_settings *settings, spec_error *error)
{
    static const double range[2] = {1.0, 1e30};
    const char *card = spec_settings_text(settings, "card");
    int status = GSL_SUCCESS;
    *machine = (spec_hardware){.name = "", .source = ""};
    if (card != NULL) {
        const spec_hardware *known = spec_hardware_find(card);
        if (known == NULL) {
            const char *names[SPEC_HARDWARE_MAX];
            char meant[SPEC_NAMES_MEANT_SIZE];
            spec_hardware_names(names);
            SPEC_TRY(spec_fail(
                error, GSL_EINVAL,
                "%.80s: card=%.60s is not known%s; for another, give flops= and bandwidth=",
                settings->name, card, spec_names_meant(meant, card, names, "")));
        }
        *machine = *known;
    } else if (spec_settings_text(settings, "flops") == NULL ||
               spec_settings_text(settings, "bandwidth") == NULL) {
        SPEC_TRY(
            spec_fail(error, GSL_EINVAL,
                      "%.80s: give card=, such as H100, or flops= and bandwidth=", settings->name));
    }
    SPEC_TRY(spec_quantity_setting(&machine->flops, settings, "flops", machine->flops,
                                   SPEC_QUANTITY_FLOPS, range, error));
    SPEC_TRY(spec_quantity_setting(&machine->bandwidth, settings, "bandwidth", machine->bandwidth,
                                   SPEC_QUANTITY_BANDWIDTH, range, error));
done:
    return status;
}

int spec_pass_time_roofline(spec_pass_time *time, const spec_settings *settings, spec_error *error)
{
    static const char *const forms[] = {"sum", "max", NULL};
    static const double parameter_range[2] = {1.0, 1e18}, kv_range[2] = {0.0, 1e12},
                        overhead_range[2] = {0.0, 1e6};
    double parameters, bytes_per_weight, kv_bytes, overhead, efficiency;
    spec_hardware machine;
    int devices, form, status = GSL_SUCCESS;
    *time = (spec_pass_time){0};
    SPEC_TRY(read_machine(&machine, settings, error));
    if (spec_settings_text(settings, "parameters") == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.80s: give the number of parameters, as in parameters=8.03B",
                           settings->name));
    SPEC_TRY(spec_quantity_setting(&parameters, settings, "parameters", NAN, SPEC_QUANTITY_COUNT,
                                   parameter_range, error));
    SPEC_TRY(spec_settings_double(&bytes_per_weight, settings, "bytes_per_weight", 2.0, 1e-3, 1e3,
                                  error));
    SPEC_TRY(spec_quantity_setting(&kv_bytes, settings, "kv_bytes", 0.0, SPEC_QUANTITY_BYTES,
                                   kv_range, error));
    SPEC_TRY(spec_quantity_setting(&overhead, settings, "overhead", 0.0, SPEC_QUANTITY_TIME,
                                   overhead_range, error));
    SPEC_TRY(spec_settings_double(&efficiency, settings, "efficiency", 1.0, 1e-3, 1.0, error));
    SPEC_TRY(spec_settings_int(&devices, settings, "devices", 1, 1, 1 << 20, error));
    SPEC_TRY(spec_settings_choice(&form, settings, "form", 0, forms, error));

    const double weights = parameters * bytes_per_weight / (machine.bandwidth * devices);
    *time = (spec_pass_time){.kind = form == 0 ? SPEC_PASS_AFFINE : SPEC_PASS_MAX,
                             .fixed = form == 0 ? overhead + weights : overhead,
                             .token = 2.0 * parameters / (machine.flops * efficiency * devices),
                             .kv = kv_bytes / (machine.bandwidth * devices),
                             .weights = weights};
done:
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
    const double compute = time->token * tokens, cache = time->kv * kv_tokens;
    if (time->kind == SPEC_PASS_MAX) return time->fixed + fmax(time->weights, compute) + cache;
    return time->fixed + compute + cache;
}
