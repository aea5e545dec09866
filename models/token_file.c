/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/token_file.h"

#include "base/input_file.h"
#include "models/vocabularies.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static const spec_input_limit limit = {"a file of tokens", SPEC_TOKEN_FILE_BYTES};

/* Reads token numbers, at most one per two bytes plus one; overwrites the text. */
static int read_numbers(int *token, size_t *ret_n, char *text, const char *path, int vocab,
                        const char *why, spec_error *error)
{
    static const char blanks[] = " \t\r\n";
    int line = 1;
    *ret_n = 0;
    for (char *at = text;;) {
        for (; *at != '\0' && strchr(blanks, *at) != NULL; at++) line += *at == '\n';
        if (*at == '\0') return GSL_SUCCESS;
        const size_t length = strcspn(at, blanks);
        const char after = at[length];
        int value;
        at[length] = '\0';
        if (!spec_settings_parse_int(&value, at) || value < 0 || value >= vocab)
            return spec_fail(error, GSL_EINVAL,
                             "%.200s:%d: '%.40s' is not a token%s; give token numbers from 0 to %d",
                             path, line, at, why, vocab - 1);
        token[(*ret_n)++] = value;
        at[length] = after;
        at += length;
    }
}

int spec_token_file_read(int **ret_token, int *ret_n, const char *path, const spec_model *model,
                         spec_error *error)
{
    const bool speaks = spec_vocabularies_speaks(model);
    char *text = NULL;
    int *token = NULL, status = GSL_SUCCESS;
    size_t n_bytes = 0, n = 0, capacity;
    *ret_token = NULL;
    *ret_n = 0;
    SPEC_TRY(speaks ? spec_input_file_read(&text, &n_bytes, path, &limit, error)
                    : spec_input_file_read_text(&text, &n_bytes, path, &limit, error));
    capacity =
        speaks ? n_bytes + 2 : n_bytes / 2 + 1; /* a tokenizer may put tokens before a text */
    if ((token = malloc(capacity * sizeof *token)) == NULL)
        SPEC_TRY(spec_no_memory_for(error, path));
    if (!speaks) {
        SPEC_TRY(read_numbers(token, &n, text, path, model->vocab, ": the model has no tokenizer",
                              error));
    } else {
        n = model->kind->tokenize(model, text, n_bytes, token, capacity);
        if (n == SPEC_TOKENS_LOST) SPEC_TRY(spec_no_memory_for(error, path));
        if (n > capacity) n = capacity;
    }
    if (n == 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s: no tokens", path));
    *ret_token = token;
    *ret_n = (int)n;
    token = NULL;
done:
    free(text);
    free(token);
    return status;
}

int spec_token_file_read_numbers(int **ret_token, int *ret_n, const char *path, int vocab,
                                 spec_error *error)
{
    char *text = NULL;
    int *token = NULL, status = GSL_SUCCESS;
    size_t n_bytes = 0, n = 0;
    *ret_token = NULL;
    *ret_n = 0;
    SPEC_TRY(spec_input_file_read_text(&text, &n_bytes, path, &limit, error));
    if ((token = malloc((n_bytes / 2 + 1) * sizeof *token)) == NULL)
        SPEC_TRY(spec_no_memory_for(error, path));
    SPEC_TRY(read_numbers(token, &n, text, path, vocab, "", error));
    if (n == 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s: no tokens", path));
    *ret_token = token;
    *ret_n = (int)n;
    token = NULL;
done:
    free(text);
    free(token);
    return status;
}
