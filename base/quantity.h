/* SPDX-License-Identifier: GPL-3.0-or-later */
/* quantity: parses a number with a unit, such as 7.1ms, 80GB or 3.35TB/s, into base units.
 * A number without a unit is in base units: bytes, bytes/s, FLOP/s. Times other than 0 must have
 * one, because 500 may be meant as s or as ms. The prefixes k, M, G, T are powers of 1000, and Ki,
 * Mi, Gi, Ti of 1024. Units are case-sensitive. */
#ifndef SPECLAB_QUANTITY_H
#define SPECLAB_QUANTITY_H

#include "base/settings.h"
#include "speclab/status.h"

#include <stdbool.h>

typedef enum {
    SPEC_QUANTITY_TIME,      /* s; ns, us, ms, s, min, h */
    SPEC_QUANTITY_BYTES,     /* B, kB, KiB, MB, MiB, ... */
    SPEC_QUANTITY_BANDWIDTH, /* B/s, GB/s, TB/s, ... */
    SPEC_QUANTITY_FLOPS,     /* FLOP/s: FLOPS, GFLOPS, TFLOPS, PFLOPS */
    SPEC_QUANTITY_COUNT,     /* k, M, B (10^9): of parameters, tokens */
    SPEC_QUANTITY_RATE,      /* 1/s; /s, /min, /h */
} spec_quantity_kind;

/* Parses a whole text. Returns false, and sets 0, unless it is a finite number, followed by a unit
 * of this kind, without blanks, or by nothing where that is allowed. */
bool spec_quantity_parse(double *ret_value, const char *text, spec_quantity_kind kind);

/* Like spec_settings_double, with a unit. The range is in base units. */
int spec_quantity_setting(double *ret_value, const spec_settings *settings, const char *key,
                          double fallback, spec_quantity_kind kind, const double range[2],
                          spec_error *error);

#endif
