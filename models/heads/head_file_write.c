/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_file.h"

#include "models/heads/head_keys.h"
#include "models/transformer/files/gguf_attention.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/files/gguf_token_map.h"

#include <inttypes.h>

static void write_values(spec_gguf_writer *writer, const spec_head *head)
{
    const spec_head_shape *shape = &head->shape;
    const char *architecture = spec_head_keys_architecture(shape->kind);
    char key[64], digits[17];
#define KEY(rest) (snprintf(key, sizeof key, "%s.%s", architecture, rest), key)
    spec_gguf_model_shape(writer, architecture, &shape->shape);
    spec_gguf_writer_text(writer, "tokenizer.ggml.model", "none");
    spec_gguf_writer_integers(writer, KEY("target_layers"), shape->tap, (size_t)shape->n_taps);
    spec_gguf_writer_u32(writer, KEY("target_hidden_size"), (uint32_t)spec_head_target_dim(shape));
    spec_gguf_writer_bool(writer, KEY("norm_before_residual"), shape->norm_before_residual);
    if (shape->shape.rope.magnitude > 0.0f)
        spec_gguf_writer_f32(writer, KEY("rope.scaling.attn_factor"), shape->shape.rope.magnitude);
    if (shape->norm_before_fc) spec_gguf_writer_bool(writer, KEY("norm_before_fc"), true);
    if (shape->normed_features) spec_gguf_writer_bool(writer, KEY("normed_features"), true);
#undef KEY
    spec_gguf_writer_text(writer, "speclab.head", spec_head_kind_names[shape->kind]);
    spec_gguf_writer_u32(writer, "speclab.reach", (uint32_t)shape->reach);
    snprintf(digits, sizeof digits, "%016" PRIx64, head->fingerprint);
    if (head->fingerprint != 0) spec_gguf_writer_text(writer, SPEC_HEAD_FINGERPRINT, digits);
}

/* Returns which of the head's rows to write as row `row` of a file. In files, the queries and keys
 * of eagle3 rotate adjacent pairs. */
static int row_of_file(int row, spec_head_part part, const spec_head_shape *shape)
{
    if (shape->kind != SPEC_HEAD_EAGLE3 || shape->shape.rope_pairs != SPEC_ROPE_HALVES ||
        (part != SPEC_HEAD_QUERY && part != SPEC_HEAD_KEY))
        return row;
    return spec_gguf_model_row_of_halves(row, shape->shape.head_dim);
}

/* Names every tensor, or writes their weights if `data` is set. */
static int visit(spec_gguf_writer *writer, const spec_head *head, bool data, spec_error *error)
{
    for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
        const spec_head_part part = (spec_head_part)i;
        for (int copy = 0; copy < spec_head_copies(part, &head->shape); copy++) {
            const spec_tensor *tensor = &head->tensor[part][copy];
            const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
            char name[SPEC_HEAD_NAME_SIZE];
            spec_head_part_name(name, part, copy, &head->shape);
            if (!data)
                spec_gguf_writer_tensor(writer, name, tensor->type, tensor->rows, tensor->cols);
            for (int row = 0; data && row < tensor->rows; row++) {
                const int from = row_of_file(row, part, &head->shape);
                spec_gguf_writer_data(writer, (const char *)tensor->data + (size_t)from * bytes,
                                      bytes);
            }
            const int status = data ? spec_gguf_writer_tensor_end(writer, error) : GSL_SUCCESS;
            if (status != GSL_SUCCESS) return status;
        }
    }
    return GSL_SUCCESS;
}

int spec_head_file_write(int *ret_kept, const spec_head *head, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    const float *factor = head->shape.shape.n_layers > 0 ? head->shape.shape.rope.opt_factor : NULL;
    const int n_factors = head->shape.shape.head_dim / 2;
    spec_gguf_writer writer = {0};
    *ret_kept = 0;
    SPEC_TRY(spec_gguf_writer_init(&writer, error));
    write_values(&writer, head);
    SPEC_TRY(visit(&writer, head, false, error));
    if (head->opt_token != NULL)
        spec_gguf_writer_integer_tensor(&writer, SPEC_GGUF_TOKEN_MAP, head->shape.draft_vocab);
    if (factor != NULL)
        spec_gguf_writer_tensor(&writer, SPEC_GGUF_ROPE_FACTORS, SPEC_TENSOR_F32, 1, n_factors);
    SPEC_TRY(spec_gguf_writer_open(&writer, path, error));
    SPEC_TRY(visit(&writer, head, true, error));
    for (int i = 0; head->opt_token != NULL && i < head->shape.draft_vocab; i++)
        spec_gguf_writer_data(&writer, &(int64_t){head->opt_token[i]}, sizeof(int64_t));
    if (head->opt_token != NULL) SPEC_TRY(spec_gguf_writer_tensor_end(&writer, error));
    if (factor != NULL) {
        spec_gguf_writer_data(&writer, factor, (size_t)n_factors * sizeof *factor);
        SPEC_TRY(spec_gguf_writer_tensor_end(&writer, error));
    }
    SPEC_TRY(spec_gguf_writer_close(&writer, error));
    *ret_kept = writer.file.kept;
done:
    spec_gguf_writer_free(&writer);
    return status;
}
