/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/say.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void spec_say(spec_sentences text, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + n, SPEC_SENTENCES - n, format, list);
    va_end(list);
}

static spec_said said(double value, double low, double high, const char *unit)
{
    spec_said ret = {"not known"};
    /* If the ends differ only by rounding, they are one number. */
    const bool interval = isfinite(low) && isfinite(high) && high - low > 1e-9 * fabs(high);
    /* Zeros at the end count as digits: 2.00, not 2. */
    int d = fabs(value) < 10.0 ? 2 : fabs(value) < 100.0 ? 1 : 0;
    /* More digits for a narrow interval, so that its ends differ. */
    while (d < 4 && interval && round(low * pow(10.0, d)) == round(high * pow(10.0, d))) d++;
    if (isfinite(value) && interval)
        snprintf(ret.text, sizeof ret.text, "%.*f%s [%.*f, %.*f]", d, value, unit, d, low, d, high);
    else if (isfinite(value))
        snprintf(ret.text, sizeof ret.text, "%.*f%s", d, value, unit);
    return ret;
}

spec_said spec_say_ratio(double value, double low, double high)
{
    return said(value, low, high, "");
}

spec_said spec_say_share(double value, double low, double high)
{
    return said(100.0 * value, 100.0 * low, 100.0 * high, " %");
}

bool spec_say_is_vague(const spec_cluster_ratio *share)
{
    return share->high - share->low > 0.9;
}

spec_said spec_say_share_of(const spec_cluster_ratio *share)
{
    const double low = spec_say_is_vague(share) ? NAN : share->low;
    return spec_say_share(share->value, low, share->high);
}
