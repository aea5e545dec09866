/* SPDX-License-Identifier: GPL-3.0-or-later */
/* published_head: writes random draft heads as their trainers publish them, into the folder `hf`.
 * All heads of a test program have one target; failures fail the test. */
#ifndef SPECLAB_TESTS_PUBLISHED_HEAD_H
#define SPECLAB_TESTS_PUBLISHED_HEAD_H

#include "models/heads/head_file.h"
#include "models/import/import_head.h"
#include "tests/support/drawn_head.h"
#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>

enum { VOCAB = 24, LAYERS = 9 };

static spec_checkpoint target;

static inline int make_target(void **state)
{
    spec_settings settings;
    spec_error error = {""};
    if (spec_folder_enter(state) != 0 || mkdir("hf", 0700) != 0 ||
        spec_settings_init(&settings,
                           "random?dim=16&layers=9&heads=4&kv_heads=2&ffn=24&vocab=24&context=32&"
                           "type=f32",
                           &error) != GSL_SUCCESS ||
        spec_checkpoint_load_random(&target, &settings, NULL, &error) != GSL_SUCCESS)
        return -1;
    spec_checkpoint_draw(&target);
    spec_settings_free(&settings);
    return 0;
}

static inline int remove_target(void **state)
{
    spec_checkpoint_free(&target);
    return spec_folder_leave(state);
}

/* ---- heads as folders ------------------------------------------------------------------------ */

typedef struct {
    spec_head_kind kind;
    int draft_vocab;                        /* 0: the target's */
    const char *layer, *fc, *more;          /* prefixes of names, and a tensor to add */
    bool no_bias, embeds, absolute, narrow; /* narrow: d2t is of int32_t */
    int options;                            /* options of the drawn head, for eagle3 */
    const char *left_out;
    const char *config; /* members of config.json */
} wish;

static const char *const layer_names[SPEC_HEAD_PARTS] = {
    [SPEC_HEAD_EMBEDDING_NORM] = "input_layernorm",
    [SPEC_HEAD_FEATURE_NORM] = "hidden_norm",
    [SPEC_HEAD_QUERY] = "self_attn.q_proj",
    [SPEC_HEAD_KEY] = "self_attn.k_proj",
    [SPEC_HEAD_VALUE] = "self_attn.v_proj",
    [SPEC_HEAD_ATTENTION_OUTPUT] = "self_attn.o_proj",
    [SPEC_HEAD_FFN_NORM] = "post_attention_layernorm",
    [SPEC_HEAD_GATE] = "mlp.gate_proj",
    [SPEC_HEAD_UP] = "mlp.up_proj",
    [SPEC_HEAD_DOWN] = "mlp.down_proj",
};

static inline void name_part(char name[96], const wish *w, spec_head_part part, int copy)
{
    if (layer_names[part] != NULL)
        snprintf(name, 96, "%s%s.weight", w->layer, layer_names[part]);
    else if (part == SPEC_HEAD_FC)
        snprintf(name, 96, "%sweight", w->fc);
    else if (part == SPEC_HEAD_FC_BIAS)
        snprintf(name, 96, "%sbias", w->fc);
    else if (part == SPEC_HEAD_LINEAR)
        snprintf(name, 96, "%s%d.0.linear.weight", w->layer, copy);
    else if (part == SPEC_HEAD_LINEAR_BIAS)
        snprintf(name, 96, "%s%d.0.linear.bias", w->layer, copy);
    else if (part == SPEC_HEAD_DEPTH_OUTPUT)
        snprintf(name, 96, "%s%d.1.weight", w->layer, copy);
    else
        snprintf(name, 96, "%s",
                 part == SPEC_HEAD_OUTPUT       ? "lm_head.weight"
                 : part == SPEC_HEAD_EMBEDDING  ? "embed_tokens.weight"
                 : part == SPEC_HEAD_INPUT_NORM ? "input_norm.weight"
                                                : "norm.weight");
}

static inline void put_tokens(spec_hf_file *file, const spec_head *head, const wish *w)
{
    int64_t offset[VOCAB];
    int32_t narrow[VOCAB];
    unsigned char used[VOCAB] = {0};
    for (int i = 0; i < head->shape.draft_vocab; i++) {
        offset[i] = head->opt_token[i] - (w->absolute ? 0 : i);
        used[head->opt_token[i]] = 1;
        narrow[i] = (int32_t)offset[i];
    }
    spec_hf_folder_put(file, "d2t", w->narrow ? "I32" : "I64", 1, &head->shape.draft_vocab,
                       w->narrow ? (const void *)narrow : offset,
                       (size_t)head->shape.draft_vocab * (w->narrow ? 4 : 8));
    spec_hf_folder_put(file, "t2d", "BOOL", 1, &(int){VOCAB}, used, VOCAB);
}

/* Draws a head and writes it as the folder hf. */
static inline void export_head(spec_head *ret, const wish *w)
{
    spec_hf_file file = {0};
    drawn_head(ret, &(drawn_head_config){w->kind, 3, w->draft_vocab, w->options, 7}, &target);
    ret->fingerprint = spec_head_file_fingerprint(&target);
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        for (int copy = 0; copy < spec_head_copies(part, &ret->shape); copy++) {
            char name[96];
            spec_tensor *tensor = &ret->tensor[part][copy];
            name_part(name, w, part, copy);
            if (part == SPEC_HEAD_FC_BIAS && w->no_bias) {
                memset((void *)(uintptr_t)tensor->data, 0, (size_t)tensor->cols * sizeof(float));
                continue;
            }
            if (w->left_out != NULL && strcmp(name, w->left_out) == 0) continue;
            if (part == SPEC_HEAD_QUERY || part == SPEC_HEAD_KEY)
                spec_hf_folder_put_halves(&file, name, tensor, ret->shape.shape.head_dim);
            else
                spec_hf_folder_put_weights(&file, name, tensor);
        }
    }
    if (ret->opt_token != NULL) put_tokens(&file, ret, w);
    if (w->embeds) spec_hf_folder_put_weights(&file, "embed_tokens.weight", &target.embedding);
    if (w->more != NULL) spec_hf_folder_put(&file, w->more, "F32", 1, &(int){3}, NULL, 12);
    spec_hf_folder_write(&file, "hf/model.safetensors");
    spec_hf_folder_text("hf/config.json", w->config != NULL ? w->config : "{}");
}

#define LAYER                                                                                      \
    "'model_type':'llama','hidden_size':16,'num_hidden_layers':1,'num_attention_heads':4,"         \
    "'num_key_value_heads':2,'intermediate_size':24,'vocab_size':24,'rms_norm_eps':1e-5,"          \
    "'rope_theta':10000"
#define WIDE_LAYER                                                                                 \
    "'model_type':'llama','hidden_size':32,'num_hidden_layers':1,'num_attention_heads':4,"         \
    "'head_dim':4,'num_key_value_heads':2,'intermediate_size':24,'vocab_size':24,"                 \
    "'rms_norm_eps':1e-5,'rope_theta':10000"
#define TAPS "'eagle_aux_hidden_state_layer_ids':"

static inline void is_refused(const int *opt_tap, const char *expected)
{
    spec_head head;
    spec_head_taps taps;
    spec_error error = {""};
    assert_int_not_equal(spec_import_head_open(&head, &taps, "hf", &target, opt_tap, &error),
                         GSL_SUCCESS);
    assert_memory_equal(error.text, "hf", 2);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_null(strchr(error.text, '\n'));
    assert_null(head.owned);
    assert_null(head.opt_token);
}

#endif
