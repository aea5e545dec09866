/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/drawn_nextn.h"

#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_model.h"
#include "tests/support/support.h"

#include <string.h>

/* Names a tensor, or writes its data. */
static void put(spec_gguf_writer *writer, bool data, const char *name, const spec_tensor *tensor)
{
    const size_t row = spec_tensor_row_bytes(tensor->type, tensor->cols);
    if (tensor->data == NULL) return;
    if (!data) {
        spec_gguf_writer_tensor(writer, name, tensor->type, tensor->rows, tensor->cols);
        return;
    }
    spec_gguf_writer_data(writer, tensor->data, (size_t)tensor->rows * row);
    assert_works(spec_gguf_writer_tensor_end(writer, &error));
}

static void put_model(spec_gguf_writer *writer, bool data, const spec_checkpoint *target,
                      bool layers)
{
    for (int i = 0; i < (layers ? (int)SPEC_PARTS : (int)SPEC_PART_ATTENTION_NORM); i++) {
        const spec_part part = (spec_part)i;
        for (int l = 0; l < spec_checkpoint_parts_copies(part, &target->shape); l++) {
            char name[SPEC_PART_NAME_SIZE];
            spec_checkpoint_parts_name(name, part, l, NULL);
            put(writer, data, name, spec_checkpoint_parts_tensor_const(part, target, l));
        }
    }
}

static void put_block(spec_gguf_writer *writer, bool data, const spec_head *head, int copy,
                      int block)
{
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        char own[SPEC_HEAD_NAME_SIZE], name[64];
        if (spec_head_copies(part, &head->shape) <= copy) continue;
        spec_head_part_name(own, part, copy, &head->shape);
        snprintf(name, sizeof name, "blk.%d.%s", block,
                 part == SPEC_HEAD_EMBEDDING    ? "nextn.embed_tokens.weight"
                 : part == SPEC_HEAD_OUTPUT     ? "nextn.shared_head_head.weight"
                 : part == SPEC_HEAD_FINAL_NORM ? "nextn.shared_head_norm.weight"
                                                : strchr(strchr(own, '.') + 1, '.') + 1);
        put(writer, data, name, &head->tensor[part][copy]);
    }
}

static void write_file(const char *path, const spec_head *head, const spec_checkpoint *target,
                       bool layers, const char *opt_more)
{
    OWNED(spec_gguf_writer) writer;
    spec_error error = {""};
    spec_shape shape = target->shape;
    const int n = head->shape.shape.n_layers;
    shape.n_layers += n;
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_model_shape(&writer, "llama", &shape);
    spec_gguf_writer_u32(&writer, "llama.nextn_predict_layers", (uint32_t)n);
    spec_gguf_writer_text(&writer, "tokenizer.ggml.model", "none");
    spec_gguf_writer_u32(&writer, "tokenizer.ggml.bos_token_id", (uint32_t)target->begin_of_text);
    spec_gguf_writer_bool(&writer, "tokenizer.ggml.add_bos_token", target->adds_begin);
    for (int data = 0; data < 2; data++) {
        put_model(&writer, data != 0, target, layers);
        for (int k = 0; k < n; k++)
            put_block(&writer, data != 0, head, k, target->shape.n_layers + k);
        if (opt_more != NULL) put(&writer, data != 0, opt_more, &target->final_norm);
        if (data == 0 && spec_gguf_writer_open(&writer, path, &error) != GSL_SUCCESS)
            fail_msg("%s", error.text);
    }
    assert_works(spec_gguf_writer_close(&writer, &error));
}

void drawn_nextn_write(const char *path, const spec_head *head, const spec_checkpoint *target,
                       bool layers)
{
    write_file(path, head, target, layers, NULL);
}

void drawn_nextn_write_with(const char *path, const spec_head *head, const spec_checkpoint *target,
                            const char *name)
{
    write_file(path, head, target, true, name);
}
