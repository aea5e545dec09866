/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/step/token_names.h"

#include "base/escape.h"
#include "base/utf8.h"
#include "models/vocabularies.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

int spec_token_names_init(spec_token_names *names, const char *opt_list, const spec_model *model,
                          bool utf8, spec_error *error)
{
    int n = 1, i = 0;
    *names = (spec_token_names){.model = model, .utf8 = utf8};
    if (opt_list == NULL) return GSL_SUCCESS;
    for (const char *c = opt_list; *c != '\0'; c++) n += *c == ',';
    if (n != model->vocab)
        return spec_fail(error, GSL_EINVAL, "--names: %d names for a vocabulary of %d tokens", n,
                         model->vocab);
    names->copy = strdup(opt_list);
    names->name = malloc((size_t)n * sizeof *names->name);
    if (names->copy == NULL || names->name == NULL) return spec_no_memory(error);
    names->n = n;
    for (char *rest = names->copy; i < n; i++) names->name[i] = strsep(&rest, ",");
    return GSL_SUCCESS;
}

void spec_token_names_free(spec_token_names *names)
{
    free(names->name);
    free(names->copy);
    *names = (spec_token_names){.n = 0};
}

const char *spec_token_names_of(const spec_token_names *names, int token,
                                char buffer[SPEC_TOKEN_NAME_SIZE])
{
    char text[SPEC_TOKEN_NAME_SIZE];
    size_t n, used = 0;
    if (names->n > 0)
        n = (size_t)snprintf(text, sizeof text, "%s", names->name[token]);
    else if (spec_vocabularies_speaks(names->model))
        n = names->model->kind->token_text(names->model, token, text, sizeof text);
    else
        n = (size_t)snprintf(text, sizeof text, "%d", token);
    if (n >= sizeof text) n = sizeof text - 1;
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        const unsigned char *at = (const unsigned char *)text + i;
        length = spec_utf8_decode(&code, at, n - i);
        if (used + 4 * length + 1 > SPEC_TOKEN_NAME_SIZE) break;
        const bool plain = code > 0x20 && code < 0x7F;
        if (plain || (names->utf8 && code >= 0xA0 && !spec_escape_is_control(code))) {
            memcpy(buffer + used, at, length);
            used += length;
        } else if (code == ' ') {
            buffer[used++] = '_';
        } else {
            for (size_t b = 0; b < length; b++)
                used += (size_t)snprintf(buffer + used, 5, "\\x%02x", at[b]);
        }
    }
    buffer[used] = '\0';
    if (used == 0) snprintf(buffer, SPEC_TOKEN_NAME_SIZE, "#%d", token);
    return buffer;
}
