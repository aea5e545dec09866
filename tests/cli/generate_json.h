/* SPDX-License-Identifier: GPL-3.0-or-later */
/* generate_json: what 'speclab generate' prints, as text and as JSON. SPECLAB names the program. */
#ifndef SPECLAB_TESTS_GENERATE_JSON_H
#define SPECLAB_TESTS_GENERATE_JSON_H

#include "tests/support/child.h"

#include <jansson.h>
#include <string.h>

static inline json_t *json_of(const char *arguments)
{
    char *text = spec_program_text(arguments);
    json_t *root = json_loads(text, JSON_ALLOW_NUL, NULL);
    if (root == NULL) fail_msg("%s: no JSON: %.200s", arguments, text);
    free(text);
    return root;
}

static inline long long number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("no integer '%s'", key);
    return json_integer_value(value);
}

#endif
