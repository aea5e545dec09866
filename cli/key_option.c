/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/key_option.h"

#include "base/input_file.h"
#include "cli/usage.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 1 << 16 };

char *spec_key_option_read(const char *verb, const char *option, const char *arg)
{
    static const spec_input_limit limit = {"an API key", KEY_BYTES};
    spec_error error;
    char *key = NULL;
    size_t n;
    if (strncmp(arg, "env:", 4) == 0) {
        const char *value = getenv(arg + 4);
        if (value == NULL || *value == '\0')
            spec_usage_fail(verb, "--%s: there is no environment variable '%s'", option, arg + 4);
        if ((key = strdup(value)) == NULL) spec_usage_no_memory(verb);
    } else if (strncmp(arg, "file:", 5) == 0) {
        if (spec_input_file_read_text(&key, &n, arg + 5, &limit, &error) != GSL_SUCCESS)
            spec_usage_fail(verb, "--%s: %s", option, error.text);
    } else {
        spec_usage_fail(verb, "--%s says where the key is: env:NAME or file:FILE", option);
    }
    key[strcspn(key, "\r\n")] = '\0';
    if (*key == '\0') spec_usage_fail(verb, "--%s: the key is empty", option);
    return key;
}
