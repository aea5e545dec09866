/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/advice_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void spec_advice_text_add(char *text, size_t size, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + n, size - n, format, list);
    va_end(list);
}

/* Returns the number of decimals that shows three digits, including zeros at the end: 2.00, not
 * 2. */
static int decimals(double x)
{
    x = fabs(x);
    return x < 10.0 ? 2 : x < 100.0 ? 1 : 0;
}

static const char *text_of(spec_advice_text text, double value, double low, double high,
                           const char *unit)
{
    /* If the ends differ only by rounding, they are one number. */
    const bool interval = isfinite(low) && isfinite(high) && high - low > 1e-9 * fabs(high);
    int d = decimals(value);
    /* More digits for a narrow interval, so that its ends differ. */
    while (d < 4 && interval && round(low * pow(10.0, d)) == round(high * pow(10.0, d))) d++;
    if (isfinite(value) && interval)
        snprintf(text, SPEC_ADVICE_TEXT, "%.*f%s [%.*f, %.*f]", d, value, unit, d, low, d, high);
    else if (isfinite(value))
        snprintf(text, SPEC_ADVICE_TEXT, "%.*f%s", d, value, unit);
    else
        snprintf(text, SPEC_ADVICE_TEXT, "not known");
    return text;
}

const char *spec_advice_text_ratio(spec_advice_text text, double value, double low, double high)
{
    return text_of(text, value, low, high, "");
}

const char *spec_advice_text_share(spec_advice_text text, double value, double low, double high)
{
    return text_of(text, 100.0 * value, 100.0 * low, 100.0 * high, " %");
}

bool spec_advice_text_vague(const spec_cluster_ratio *share)
{
    return share->high - share->low > 0.9;
}

const char *spec_advice_text_of(spec_advice_text text, const spec_cluster_ratio *share)
{
    if (spec_advice_text_vague(share)) return spec_advice_text_share(text, share->value, NAN, NAN);
    return spec_advice_text_share(text, share->value, share->low, share->high);
}
