/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/prompt.h"

#include "base/settings.h"
#include "cli/usage.h"
#include "models/vocabularies.h"

#include <stdlib.h>
#include <string.h>

static int *read_numbers(size_t *ret_n, const char *option, const char *text, size_t n,
                         const spec_model *model, const char *verb)
{
    int *token = malloc((n / 2 + 1) * sizeof *token);
    char *copy = strndup(text, n);
    if (token == NULL || copy == NULL) spec_usage_no_memory(verb);
    *ret_n = 0;
    for (char *rest = copy, *word; (word = strsep(&rest, " ,\t\r\n")) != NULL;) {
        if (*word == '\0') continue;
        int value;
        if (!spec_settings_parse_int(&value, word) || value < 0 || value >= model->vocab) {
            free(token);
            spec_usage_fail(verb,
                            "--%s: '%.40s' is not a token: this model has no tokenizer; give "
                            "token numbers from 0 to %d",
                            option, word, model->vocab - 1);
        }
        token[(*ret_n)++] = value;
    }
    free(copy);
    return token;
}

int *spec_prompt_tokens(size_t *ret_n, const char *option, const char *text, size_t n,
                        const spec_model *model, const char *verb)
{
    *ret_n = 0;
    if (!spec_vocabularies_speaks(model)) return read_numbers(ret_n, option, text, n, model, verb);
    size_t capacity = n + 1, used = 0;
    int *token = malloc(capacity * sizeof *token);
    if (token != NULL && n > 0) used = model->kind->tokenize(model, text, n, token, capacity);
    /* A tokenizer may add tokens, so there can be more tokens than bytes. */
    if (token != NULL && used > capacity && used != SPEC_TOKENS_LOST) {
        free(token);
        if ((token = malloc(used * sizeof *token)) != NULL)
            used = model->kind->tokenize(model, text, n, token, used);
    }
    if (token == NULL || used == SPEC_TOKENS_LOST) spec_usage_no_memory(verb);
    *ret_n = used;
    return token;
}
