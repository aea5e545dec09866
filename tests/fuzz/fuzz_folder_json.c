/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz tokenizer.json and config.json of a folder: any text gives a vocabulary whose pieces are
 * set, and a valid shape, or one-line errors. */
#include "models/import/folder_vocabulary.h"
#include "models/import/model_config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VOCAB = 300 };

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void read_vocabulary(const char *folder)
{
    spec_folder_vocabulary v;
    spec_tokenizer *tokenizer;
    spec_error error = {""};
    if (spec_folder_vocabulary_load(&v, folder, VOCAB, &error) != GSL_SUCCESS) {
        REQUIRE(error.text[0] != '\0' && strchr(error.text, '\n') == NULL && v.root == NULL);
        return;
    }
    REQUIRE(v.data.vocab == VOCAB && v.begin_of_text < VOCAB && v.data.unknown < VOCAB);
    for (int i = 0; i < VOCAB; i++) REQUIRE(v.data.piece[i].bytes != NULL);
    if (spec_tokenizer_init(&tokenizer, &v.data, &error) == GSL_SUCCESS) {
        int token[64];
        const size_t n = spec_tokenizer_encode(tokenizer, "abc a b 12", 10, token, 64);
        for (size_t i = 0; i < n && i < 64; i++) REQUIRE(token[i] >= 0 && token[i] < VOCAB);
        spec_tokenizer_free(tokenizer);
    }
    spec_folder_vocabulary_free(&v);
}

static void read_config(const char *text, size_t n)
{
    json_t *root;
    spec_error error = {""};
    spec_model_config config;
    if (spec_json_values_parse(&root, text, n, "config", &error) != GSL_SUCCESS) return;
    if (spec_model_config_read(&config, &(spec_json_values){"config", root, &error}) ==
        GSL_SUCCESS) {
        REQUIRE(config.shape.dim >= 1 && config.shape.head_dim % 2 == 0);
        REQUIRE(config.begin_of_text < config.shape.vocab && config.shape.context >= 2);
        spec_model_config_free(&config);
    } else {
        REQUIRE(strncmp(error.text, "config: ", 8) == 0 && strchr(error.text, '\n') == NULL);
    }
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[64], path[96];
    snprintf(folder, sizeof folder, "/tmp/fuzz_folder_json.%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    REQUIRE(mkdir(folder, 0700) == 0);
    FILE *out = fopen(path, "wb");
    REQUIRE(out != NULL && fwrite(data, 1, size, out) == size);
    REQUIRE(fclose(out) == 0);
    read_vocabulary(folder);
    read_config((const char *)data, size);
    unlink(path);
    rmdir(folder);
    return 0;
}
