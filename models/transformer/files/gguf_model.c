/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_model.h"

#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_value.h"
#include "models/transformer/files/llama2c_vocabulary.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

void spec_gguf_model_shape(spec_gguf_writer *writer, const char *architecture,
                           const spec_shape *shape)
{
    char key[64];
#define KEY(rest) (snprintf(key, sizeof key, "%s.%s", architecture, rest), key)
    spec_gguf_writer_text(writer, "general.architecture", architecture);
    spec_gguf_writer_u32(writer, KEY("vocab_size"), (uint32_t)shape->vocab);
    spec_gguf_writer_u32(writer, KEY("context_length"), (uint32_t)shape->context);
    spec_gguf_writer_u32(writer, KEY("embedding_length"), (uint32_t)shape->dim);
    spec_gguf_writer_u32(writer, KEY("block_count"), (uint32_t)shape->n_layers);
    spec_gguf_writer_u32(writer, KEY("feed_forward_length"), (uint32_t)shape->ffn_dim);
    spec_gguf_writer_u32(writer, KEY("attention.head_count"), (uint32_t)shape->n_heads);
    spec_gguf_writer_u32(writer, KEY("attention.head_count_kv"), (uint32_t)shape->n_kv_heads);
    if (shape->n_heads * shape->head_dim != shape->dim) {
        spec_gguf_writer_u32(writer, KEY("attention.key_length"), (uint32_t)shape->head_dim);
        spec_gguf_writer_u32(writer, KEY("attention.value_length"), (uint32_t)shape->head_dim);
    }
    spec_gguf_writer_f32(writer, KEY("attention.layer_norm_rms_epsilon"), shape->norm_eps);
    spec_gguf_writer_u32(writer, KEY("rope.dimension_count"), (uint32_t)shape->head_dim);
    spec_gguf_writer_f32(writer, KEY("rope.freq_base"), (float)shape->rope_base);
#undef KEY
}

/* Spell a piece like SentencePiece, with U+2581 for a blank. Returns the end of the output. */
static char *respell(spec_piece *ret_piece, char *text, const spec_piece *piece)
{
    static const char blank[] = "\xe2\x96\x81";
    *ret_piece = (spec_piece){text, 0};
    for (size_t i = 0; i < piece->length; i++) {
        const char c = piece->bytes[i];
        if (c == ' ')
            text = (char *)memcpy(text, blank, sizeof blank - 1) + sizeof blank - 1;
        else
            *text++ = c;
    }
    ret_piece->length = (size_t)(text - ret_piece->bytes);
    return text;
}

static int write_pieces(spec_gguf_writer *writer, const spec_tokenizer_data *data,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t n = (size_t)data->vocab;
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++) bytes += 3 * data->piece[i].length;
    char *text = malloc(bytes), *end = text;
    spec_piece *piece = malloc(n * sizeof *piece);
    if (text == NULL || piece == NULL) SPEC_TRY(spec_no_memory(error));
    for (size_t i = 0; i < n; i++) end = respell(&piece[i], end, &data->piece[i]);
    spec_gguf_writer_texts(writer, "tokenizer.ggml.tokens", piece, n);
    spec_gguf_writer_reals(writer, "tokenizer.ggml.scores", data->opt_score, n);
    spec_gguf_writer_integers(writer, "tokenizer.ggml.token_type", data->opt_type, n);
    spec_gguf_writer_bool(writer, "tokenizer.ggml.add_space_prefix", data->adds_space);
    spec_gguf_writer_u32(writer, "tokenizer.ggml.unknown_token_id", (uint32_t)data->unknown);
done:
    free(text);
    free(piece);
    return status;
}

int spec_gguf_model_pieces(spec_gguf_writer *writer, const spec_checkpoint *model,
                           const spec_tokenizer_data *data, spec_error *error)
{
    spec_gguf_writer_text(writer, "tokenizer.ggml.model", data->vocab > 0 ? "llama" : "none");
    spec_gguf_writer_u32(writer, "tokenizer.ggml.bos_token_id", (uint32_t)model->begin_of_text);
    spec_gguf_writer_u32(writer, "tokenizer.ggml.eos_token_id",
                         (uint32_t)model->end_of_text); /* -1: none */
    spec_gguf_writer_bool(writer, "tokenizer.ggml.add_bos_token", model->adds_begin);
    return data->vocab > 0 ? write_pieces(writer, data, error) : GSL_SUCCESS;
}

/* ---- the vocabulary of a file ---------------------------------------------------------------- */

static int of_llama2c(spec_gguf_writer *writer, const spec_checkpoint *model,
                      const spec_settings *file, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_llama2c_vocabulary vocabulary;
    SPEC_TRY(spec_llama2c_vocabulary_load(
        &vocabulary, file->path, spec_settings_text(file, "tokenizer"), model->shape.vocab, error));
    SPEC_TRY(spec_gguf_model_pieces(writer, model, &vocabulary.data, error));
done:
    spec_llama2c_vocabulary_free(&vocabulary);
    return status;
}

/* The writer copies the values: the file may close. */
static int of_gguf(spec_gguf_writer *writer, const spec_checkpoint *model,
                   const spec_settings *file, spec_error *error)
{
    static const char prefix[] = "tokenizer.";
    int status = GSL_SUCCESS;
    spec_gguf gguf;
    SPEC_TRY(spec_gguf_init(&gguf, file->path, error));
    const spec_gguf_tensor *embedding = spec_gguf_find_tensor(&gguf, "token_embd.weight");
    if (embedding == NULL || embedding->tensor.rows != model->shape.vocab)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: has another vocabulary than %d tokens",
                           file->path, model->shape.vocab));
    for (size_t i = 0; i < gguf.n_values; i++)
        if (gguf.value[i].key.length >= sizeof prefix - 1 &&
            memcmp(gguf.value[i].key.bytes, prefix, sizeof prefix - 1) == 0)
            spec_gguf_writer_value(writer, &gguf.value[i]);
done:
    spec_gguf_free(&gguf);
    return status;
}

static int write_vocabulary(spec_gguf_writer *writer, const spec_checkpoint *model,
                            const spec_gguf_model_vocabulary *vocabulary, spec_error *error)
{
    static const spec_tokenizer_data none;
    const spec_settings *file = vocabulary->opt_file;
    if (file != NULL && strcmp(file->name, "gguf") == 0) return of_gguf(writer, model, file, error);
    if (file != NULL && strcmp(file->name, "llama2c") == 0)
        return of_llama2c(writer, model, file, error);
    return spec_gguf_model_pieces(
        writer, model, vocabulary->opt_data != NULL ? vocabulary->opt_data : &none, error);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static int write_data(spec_gguf_writer *writer, const spec_tensor *tensor, spec_error *error)
{
    spec_gguf_writer_data(writer, tensor->data,
                          (size_t)tensor->rows * spec_tensor_row_bytes(tensor->type, tensor->cols));
    return spec_gguf_writer_tensor_end(writer, error);
}

/* Name every tensor, a tied output once; or write their data. */
static int visit(spec_gguf_writer *writer, const spec_checkpoint *model, bool writes,
                 spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (part == SPEC_PART_OUTPUT && model->output.data == model->embedding.data) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model->shape); layer++) {
            const spec_tensor *tensor = spec_checkpoint_parts_tensor_const(part, model, layer);
            char name[SPEC_PART_NAME_SIZE];
            if (tensor->data == NULL) continue;
            if (writes)
                SPEC_TRY(write_data(writer, tensor, error));
            else
                spec_gguf_writer_tensor(writer, spec_checkpoint_parts_name(name, part, layer),
                                        tensor->type, tensor->rows, tensor->cols);
        }
    }
done:
    return status;
}

int spec_gguf_model_write(int *ret_kept, const spec_checkpoint *model,
                          const spec_gguf_model_vocabulary *vocabulary, const char *path,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_shape *shape = &model->shape;
    const spec_tensor factors = {SPEC_TENSOR_F32, 1, shape->head_dim / 2, shape->opt_rope_factor};
    spec_gguf_writer writer = {0};
    *ret_kept = 0;
    SPEC_TRY(spec_gguf_writer_init(&writer, error));
    spec_gguf_model_shape(&writer, shape->rope_pairs == SPEC_ROPE_HALVES ? "qwen2" : "llama",
                          shape);
    SPEC_TRY(write_vocabulary(&writer, model, vocabulary, error));
    SPEC_TRY(visit(&writer, model, false, error));
    if (factors.data != NULL)
        spec_gguf_writer_tensor(&writer, "rope_freqs.weight", SPEC_TENSOR_F32, 1, factors.cols);
    SPEC_TRY(spec_gguf_writer_open(&writer, path, error));
    SPEC_TRY(visit(&writer, model, true, error));
    if (factors.data != NULL) SPEC_TRY(write_data(&writer, &factors, error));
    SPEC_TRY(spec_gguf_writer_close(&writer, error));
    *ret_kept = writer.file.kept;
done:
    spec_gguf_writer_free(&writer);
    return status;
}
