/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/quantity.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *name;
    double factor;
    int exponent; /* power of ten: the unit is factor 10^exponent */
} unit;

static const unit times[] = {{"s", 1.0, 0},    {"ms", 1.0, -3},  {"us", 1.0, -6}, {"ns", 1.0, -9},
                             {"min", 60.0, 0}, {"h", 3600.0, 0}, {NULL, 0.0, 0}};
static const unit bytes[] = {
    {"B", 1.0, 0},      {"kB", 1.0, 3},     {"MB", 1.0, 6},     {"GB", 1.0, 9},     {"TB", 1.0, 12},
    {"KiB", 0x1p10, 0}, {"MiB", 0x1p20, 0}, {"GiB", 0x1p30, 0}, {"TiB", 0x1p40, 0}, {NULL, 0.0, 0}};
static const unit bandwidths[] = {
    {"B/s", 1.0, 0}, {"MB/s", 1.0, 6}, {"GB/s", 1.0, 9}, {"TB/s", 1.0, 12}, {NULL, 0.0, 0}};
static const unit flops[] = {{"FLOPS", 1.0, 0},
                             {"GFLOPS", 1.0, 9},
                             {"TFLOPS", 1.0, 12},
                             {"PFLOPS", 1.0, 15},
                             {NULL, 0.0, 0}};
static const unit counts[] = {
    {"k", 1.0, 3}, {"M", 1.0, 6}, {"B", 1.0, 9}, {"T", 1.0, 12}, {NULL, 0.0, 0}};
static const unit rates[] = {
    {"/s", 1.0, 0}, {"/min", 1.0 / 60.0, 0}, {"/h", 1.0 / 3600.0, 0}, {NULL, 0.0, 0}};

static const struct {
    const unit *units;
    bool needs_unit; /* unless it is 0 */
    const char *text;
} kinds[] = {
    [SPEC_QUANTITY_TIME] = {times, true,
                            "a time with its unit, as in 7.1ms: s, ms, us, ns, min, h"},
    [SPEC_QUANTITY_BYTES] = {bytes, false,
                             "a number of bytes, or with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB"},
    [SPEC_QUANTITY_BANDWIDTH] = {bandwidths, false, "a bandwidth, with B/s, MB/s, GB/s or TB/s"},
    [SPEC_QUANTITY_FLOPS] = {flops, false, "a speed, with FLOPS, GFLOPS, TFLOPS or PFLOPS"},
    [SPEC_QUANTITY_COUNT] = {counts, false, "a number, alone or with k, M, B (10^9) or T"},
    [SPEC_QUANTITY_RATE] = {rates, false, "a rate, with /s, /min or /h"},
};

bool spec_quantity_parse(double *ret_value, const char *text, spec_quantity_kind kind)
{
    enum { NUMBER_MAX = 64 };
    char number[NUMBER_MAX + 8];
    *ret_value = 0.0;
    const size_t n = strspn(text, "0123456789.+-eE"); /* no unit begins with an e */
    if (n >= NUMBER_MAX) return false;
    memcpy(number, text, n);
    number[n] = '\0';

    static const unit none = {"", 1.0, 0};
    const unit *found = text[n] == '\0' ? &none : kinds[kind].units;
    while (found->name != NULL && strcmp(found->name, text + n) != 0) found++;
    if (found->name == NULL) return false;

    /* We append the exponent to the digits, so that 7.1ms is 0.0071 to the last bit. */
    const bool appends = found->exponent != 0 && strpbrk(number, "eE") == NULL && n > 0;
    if (appends) snprintf(number + n, sizeof number - n, "e%d", found->exponent);
    double value;
    if (!spec_settings_parse_double(&value, number)) return false;
    value *= found->factor * (appends ? 1.0 : pow(10.0, found->exponent));
    if (!isfinite(value)) return false;
    if (found == &none && value != 0.0 && kinds[kind].needs_unit) return false;
    *ret_value = value;
    return true;
}

int spec_quantity_setting(double *ret_value, const spec_settings *settings, const char *key,
                          double fallback, spec_quantity_kind kind, const double range[2],
                          spec_error *error)
{
    *ret_value = fallback;
    const char *text = spec_settings_text(settings, key);
    if (text == NULL) return GSL_SUCCESS;

    double value;
    if (!spec_quantity_parse(&value, text, kind)) {
        *ret_value = 0.0;
        return spec_fail(error, GSL_EINVAL, "%.80s: %s=%.60s is not %s", settings->name, key, text,
                         kinds[kind].text);
    }
    if (!(value >= range[0] && value <= range[1])) {
        *ret_value = 0.0;
        return spec_fail(error, GSL_EDOM, "%.80s: %s=%.60s is not between %.6g and %.6g",
                         settings->name, key, text, range[0], range[1]);
    }
    *ret_value = value;
    return GSL_SUCCESS;
}
