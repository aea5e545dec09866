/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the n-gram model: with any bytes as a text, any order and any kind of tokens, rows stay
 * normalised and positive. The first byte chooses tokens and order, the second how many tokens of
 * the text are the context. */
#include "models/model_open.h"
#include "models/ngram/ngram.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void read_model(const spec_model *model, const char *text, size_t length, size_t context)
{
    int *token = malloc((length + 1) * sizeof *token), prompt[32];
    double *scratch = malloc((size_t)model->vocab * sizeof *scratch), sum = 0.0;
    spec_error error;
    const size_t n = model->kind->tokenize(model, text, length, token, length);
    REQUIRE(n <= length);
    REQUIRE(model->kind->prompt(model, context, prompt, 32) >= 1);
    const double *row =
        model->kind->row(model, NULL, token, n < context ? n : context, scratch, &error);
    for (int w = 0; w < model->vocab; w++) {
        char bytes[80];
        REQUIRE(row[w] > 0.0);
        REQUIRE(model->kind->token_text(model, w, bytes, sizeof bytes) < sizeof bytes);
        sum += row[w];
    }
    REQUIRE(fabs(sum - 1.0) < 1e-12);
    free(token);
    free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tokens[] = {"bytes", "chars", "words", "words&V=3"};
    if (size < 2) return 0;
    const int memory = memfd_create("text", 0);
    REQUIRE(memory >= 0 && write(memory, data + 2, size - 2) == (ssize_t)(size - 2));
    char spec[128];
    snprintf(spec, sizeof spec, "ngram:/proc/self/fd/%d?order=%d&tokens=%s", memory,
             1 + data[0] / 4 % 6, tokens[data[0] % 4]);
    spec_model *model;
    spec_error error;
    if (spec_model_open(&model, spec, NULL, NULL, &error) == GSL_SUCCESS) {
        read_model(model, (const char *)data + 2, size - 2, data[1]);
        spec_model_close(model);
    } else {
        REQUIRE(size == 2 && model == NULL);
    }
    close(memory);
    return 0;
}
