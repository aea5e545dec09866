/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the answers of servers: any JSON must give what was asked for, or one line. The first byte
 * chooses the dialect. Scores are in descending order, of distinct tokens, and sum to at most 1. */
#include "tools/live/dialects.h"

#include "base/json_memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 3, TOP = 4, DIALECTS = 3 };

static void check_place(const spec_live_place *place)
{
    double sum = 0.0;
    assert(place->n >= 1 && place->n <= TOP);
    for (int i = 0; i < place->n; i++) {
        assert(place->top[i].log <= 0.0 && place->top[i].id >= 0);
        assert(i == 0 || place->top[i].log <= place->top[i - 1].log);
        sum += exp(place->top[i].log);
    }
    assert(sum <= 1.002);
}

static void check_tokens(spec_live_tokens *tokens, int status)
{
    for (int i = 0; i < tokens->n; i++) assert(tokens->token[i] >= 0);
    assert(status == GSL_SUCCESS || tokens->token == NULL);
    spec_live_tokens_free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static spec_live_place place[TEXT];
    spec_live_server server = {.url = "http://x"};
    spec_live_tokens tokens;
    spec_error error = {.text = ""};
    json_error_t why;
    if (size < 1) return 0;
    const spec_dialect *dialect = &spec_dialects[*data % DIALECTS];
    const int n = dialect->by_prefix ? 1 : TEXT;
    json_t *answer = spec_json_load_within(1 << 24, (const char *)data + 1, size - 1,
                                           JSON_REJECT_DUPLICATES, &why);
    if (answer == NULL) return 0;
    (void)spec_live_read_models(&server, answer, size % 2 != 0 ? "m" : NULL, &error);
    check_tokens(&tokens, spec_openai_dialect.read_text(&tokens, answer, &error));
    check_tokens(&tokens, dialect->read_tokens(&tokens, answer, &error));
    check_tokens(&tokens, dialect->read_text(&tokens, answer, &error));
    if (dialect->read_scores(place, n, TOP, answer, &error) == GSL_SUCCESS)
        for (int i = 0; i < n; i++) check_place(&place[i]);
    assert(strchr(error.text, '\n') == NULL);
    json_decref(answer);
    return 0;
}
