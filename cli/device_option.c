/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/device_option.h"

#include "cli/usage.h"
#include "models/model_open.h"
#include "models/transformer/engine/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void spec_device_option_check(const char *device, const char *verb)
{
    if (!spec_device_is_name(device))
        spec_usage_fail(verb, "--device: there is no device '%s'; there are " SPEC_DEVICE_USAGE,
                        device);
}

bool spec_device_option_concerns(const char *spec)
{
    const spec_model_kind *kind = spec_model_open_kind(spec);
    return kind != NULL &&
           (strstr(kind->usage, "?device=") != NULL || strstr(kind->usage, "&device=") != NULL);
}

void spec_device_option_add(char **spec, const char *opt_device, const char *verb)
{
    const char *keys = strchr(*spec, '?');
    char *longer;
    if (opt_device == NULL || !spec_device_option_concerns(*spec)) return;
    if (strstr(*spec, "?device=") != NULL || strstr(*spec, "&device=") != NULL) return;
    if (asprintf(&longer, "%s%cdevice=%s", *spec, keys == NULL ? '?' : '&', opt_device) < 0)
        spec_usage_no_memory(verb);
    free(*spec);
    *spec = longer;
}
