/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the grammar of specs and the opening of models: any bytes must give a model or a one-line
 * error, quickly and in little memory. Valid specs of large models are parsed but not opened. */
#include "models/model_open.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VOCAB_MAX = 64, SIZE_MAX_TRIED = 4096 };

/* Returns whether a number is set and above `most`, but small enough for the library to accept. */
static bool is_beyond(const spec_settings *settings, const char *key, int fallback, int most)
{
    const char *text = spec_settings_text(settings, key);
    int value = fallback;
    return (text == NULL || spec_settings_parse_int(&value, text)) && value > most;
}

/* Returns whether a transformer is small, given that its default sizes are realistic. */
static bool is_small_transformer(const spec_settings *settings)
{
    return !is_beyond(settings, "dim", 768, VOCAB_MAX) &&
           !is_beyond(settings, "ffn", 2048, VOCAB_MAX) && !is_beyond(settings, "layers", 12, 2) &&
           !is_beyond(settings, "vocab", 32000, VOCAB_MAX);
}

/* Sizes that the library itself refuses count as small, so that we test whether it refuses them. */
static bool is_small(spec_settings *settings)
{
    int vocab = 0, order = 0;
    const char *text = spec_settings_text(settings, "V");
    if (text != NULL && spec_settings_parse_int(&vocab, text) && vocab > VOCAB_MAX &&
        vocab <= SPEC_VOCAB_MAX) {
        text = spec_settings_text(settings, "order");
        return text != NULL && strcmp(settings->name, "markov") == 0 &&
               spec_settings_parse_int(&order, text) && order == 2 && vocab > 256;
    }
    if (strcmp(settings->name, "random") == 0) return is_small_transformer(settings);
    static const char *const readers[] = {"ngram", "llama2c", "gguf",
                                          "rows"}; /* file formats, which have fuzzers of their
                                                    * own */
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (strcmp(settings->name, readers[i]) == 0) return false;
    return true;
}

static void check_row(const double *row, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) {
        assert(row[i] >= 0.0 && row[i] <= 1.0);
        sum += row[i];
    }
    assert(fabs(sum - 1.0) < 1e-9);
}

static void check_model(const spec_model *model, spec_error *error)
{
    const int context[] = {0, model->vocab - 1}, token[] = {model->vocab / 2, 0},
              parent[] = {-1, -1};
    const double *row[3];
    spec_session session;
    double *scratch = calloc(3 * (size_t)model->vocab, sizeof scratch[0]);
    if (scratch == NULL || spec_session_init(&session, model, error) != GSL_SUCCESS) abort();
    const double *one = spec_session_row(&session, context, 2, scratch, error);
    if (one != NULL) check_row(one, model->vocab);
    if (spec_session_score(&session,
                           &(spec_score_request){.context = context,
                                                 .n_context = 1,
                                                 .token = token,
                                                 .opt_parent = parent,
                                                 .n_nodes = 2,
                                                 .ret_row = row,
                                                 .scratch = scratch},
                           error) == GSL_SUCCESS) {
        for (int i = 0; i < 3; i++) check_row(row[i], model->vocab);
    }
    spec_session_free(&session);
    free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static spec_model *target;
    spec_error error = {""};
    if (target == NULL &&
        spec_model_open(&target, "markov?V=5&zeros=0.2", NULL, NULL, &error) != GSL_SUCCESS)
        abort();
    if (size > SIZE_MAX_TRIED) return 0;

    char *spec = malloc(size + 1);
    if (spec == NULL) return 0;
    memcpy(spec, data, size);
    spec[size] = '\0';

    spec_settings settings;
    if (spec_settings_init(&settings, spec, &error) == GSL_SUCCESS) {
        spec_model *model;
        if (is_small(&settings)) {
            if (spec_model_open(&model, spec, target, NULL, &error) == GSL_SUCCESS) {
                check_model(model, &error);
                spec_model_close(model);
            } else {
                assert(model == NULL && error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
            }
        }
        spec_settings_free(&settings);
    } else {
        assert(error.text[0] != '\0');
    }
    free(spec);
    return 0;
}
