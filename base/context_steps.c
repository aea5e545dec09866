/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/context_steps.h"

#include "base/settings.h"

#include <stdio.h>
#include <string.h>

/* Parses one step from the first n characters of `text`. */
static int read_step(spec_context_steps *steps, const char *key, const char *text, size_t n,
                     const double range[2], spec_error *error)
{
    char number[64], *at;
    const int i = steps->n;
    snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : sizeof number), text);
    if ((at = strchr(number, '@')) != NULL) *at++ = '\0';
    if (!spec_settings_parse_double(&steps->value[i], number) ||
        !(steps->value[i] >= range[0] && steps->value[i] <= range[1]))
        return spec_fail(error, GSL_EINVAL, "%s: '%.40s' is not a number from %g to %g", key,
                         number, range[0], range[1]);
    if (at == NULL && i > 0)
        return spec_fail(error, GSL_EINVAL,
                         "%s: '%.40s' has no context length; write it as in %.40s@4000", key,
                         number, number);
    if (at != NULL && !spec_settings_parse_int(&steps->from[i], at))
        return spec_fail(error, GSL_EINVAL, "%s: '%.40s' is not a number of tokens", key, at);
    if (i == 0 ? steps->from[0] != 0 : steps->from[i] <= steps->from[i - 1])
        return spec_fail(error, GSL_EINVAL,
                         "%s: @%d: context lengths must increase, starting from "
                         "0",
                         key, steps->from[i]);
    steps->n++;
    return GSL_SUCCESS;
}

int spec_context_steps_parse(spec_context_steps *ret, const char *key, const char *text, double low,
                             double high, spec_error *error)
{
    const double range[2] = {low, high};
    int status = GSL_SUCCESS;
    *ret = (spec_context_steps){0};
    for (bool more = true; more && status == GSL_SUCCESS;) {
        const size_t n = strcspn(text, "/");
        more = text[n] == '/';
        if (ret->n == SPEC_CONTEXT_STEPS_MAX)
            status =
                spec_fail(error, GSL_EINVAL, "%s: more than %d steps", key, SPEC_CONTEXT_STEPS_MAX);
        else
            status = read_step(ret, key, text, n, range, error);
        text += n + more;
    }
    if (status != GSL_SUCCESS) *ret = (spec_context_steps){0};
    return status;
}
