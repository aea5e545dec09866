/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hf_model: a small Llama in a Hugging Face folder, without a tokenizer. */
#ifndef SPECLAB_TESTS_HF_MODEL_H
#define SPECLAB_TESTS_HF_MODEL_H

#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <string.h>

enum { DIM = 8, FFN = 12, VOCAB = 6, LAYERS = 9 };

static inline void put(spec_hf_file *file, const char *name, int rows, int cols)
{
    const size_t n = (size_t)rows * (size_t)cols;
    float *value = malloc(n * sizeof *value);
    assert_non_null(value);
    for (size_t i = 0; i < n; i++) value[i] = rows == 1 ? 1.0f : (float)(i * 37 % 101) / 101 - 0.5f;
    spec_hf_folder_put_weights(file, name, &(spec_tensor){SPEC_TENSOR_F32, rows, cols, value});
    free(value);
}

static inline void put_layer(spec_hf_file *file, const char *before, int input)
{
    static const char *const norms[] = {"input_layernorm", "post_attention_layernorm"};
    static const struct {
        const char *name;
        int rows, cols; /* cols 0: those of the input */
    } matrices[] = {{"self_attn.q_proj", DIM, 0}, {"self_attn.k_proj", DIM, 0},
                    {"self_attn.v_proj", DIM, 0}, {"self_attn.o_proj", DIM, DIM},
                    {"mlp.gate_proj", FFN, DIM},  {"mlp.up_proj", FFN, DIM},
                    {"mlp.down_proj", DIM, FFN}};
    char name[96];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s%s.weight", before, norms[i]);
        put(file, name, 1, DIM);
    }
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "%s%s.weight", before, matrices[i].name);
        put(file, name, matrices[i].rows, matrices[i].cols > 0 ? matrices[i].cols : input);
    }
}

#define CONFIG(layers, more)                                                                       \
    "{'model_type':'llama','hidden_size':8,'intermediate_size':12,'num_attention_heads':2,"        \
    "'vocab_size':6,'max_position_embeddings':32,'num_hidden_layers':" layers more "}"

/* Into an existing folder. */
static inline void write_hf_model(const char *folder)
{
    spec_hf_file file = {0};
    char path[64];
    put(&file, "model.embed_tokens.weight", VOCAB, DIM);
    put(&file, "model.norm.weight", 1, DIM);
    put(&file, "lm_head.weight", VOCAB, DIM);
    for (int i = 0; i < LAYERS; i++) {
        char before[40];
        snprintf(before, sizeof before, "model.layers.%d.", i);
        put_layer(&file, before, DIM);
    }
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    spec_hf_folder_write(&file, path);
    snprintf(path, sizeof path, "%s/config.json", folder);
    spec_hf_folder_text(path, CONFIG("9", ""));
}

#endif
