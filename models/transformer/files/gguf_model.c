/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_model.h"

#include "base/stop_flag.h"
#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf_attention.h"
#include "models/transformer/files/gguf_delta.h"
#include "models/transformer/files/gguf_nextn.h"
#include "models/transformer/files/gguf_value.h"
#include "models/transformer/files/llama2c_vocabulary.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 64 };

/* ---- values ---------------------------------------------------------------------------------- */

void spec_gguf_model_shape(spec_gguf_writer *writer, const char *architecture,
                           const spec_shape *shape)
{
    char key[KEY_SIZE];
#define KEY(rest) (snprintf(key, sizeof key, "%s.%s", architecture, rest), key)
    spec_gguf_writer_text(writer, "general.architecture", architecture);
    spec_gguf_writer_u32(writer, KEY("vocab_size"), (uint32_t)shape->vocab);
    spec_gguf_writer_u32(writer, KEY("context_length"), (uint32_t)shape->context);
    spec_gguf_writer_u32(writer, KEY("embedding_length"), (uint32_t)shape->dim);
    spec_gguf_writer_u32(writer, KEY("block_count"), (uint32_t)shape->n_layers);
    if (shape->n_experts == 0) {
        spec_gguf_writer_u32(writer, KEY("feed_forward_length"), (uint32_t)shape->ffn_dim);
    } else { /* llama.cpp requires the first of these and reads only the second */
        spec_gguf_writer_u32(writer, KEY("feed_forward_length"), (uint32_t)shape->expert_dim);
        spec_gguf_writer_u32(writer, KEY("expert_feed_forward_length"),
                             (uint32_t)shape->expert_dim);
        spec_gguf_writer_u32(writer, KEY("expert_count"), (uint32_t)shape->n_experts);
        spec_gguf_writer_u32(writer, KEY("expert_used_count"), (uint32_t)shape->n_active);
        if (shape->delta.n_layers > 0)
            spec_gguf_writer_u32(writer, KEY("expert_shared_feed_forward_length"),
                                 (uint32_t)shape->ffn_dim);
    }
    spec_gguf_writer_u32(writer, KEY("attention.head_count"), (uint32_t)shape->n_heads);
    spec_gguf_writer_u32(writer, KEY("attention.head_count_kv"), (uint32_t)shape->n_kv_heads);
    if (shape->n_heads * shape->head_dim != shape->dim) {
        spec_gguf_writer_u32(writer, KEY("attention.key_length"), (uint32_t)shape->head_dim);
        spec_gguf_writer_u32(writer, KEY("attention.value_length"), (uint32_t)shape->head_dim);
    }
    spec_gguf_writer_f32(writer, KEY("attention.layer_norm_rms_epsilon"), shape->norm_eps);
    spec_gguf_writer_u32(writer, KEY("rope.dimension_count"),
                         (uint32_t)spec_checkpoint_rotated(shape));
    spec_gguf_writer_f32(writer, KEY("rope.freq_base"), (float)shape->rope.base);
#undef KEY
}

/* Spells a piece like SentencePiece, with U+2581 for a blank. In a user-defined piece it turns
 * U+2581 into a blank, because llama.cpp looks for such pieces before it replaces blanks. Returns
 * the end of the output. */
static char *respell(spec_piece *ret_piece, char *text, const spec_piece *piece, bool is_user)
{
    static const char blank[] = "\xe2\x96\x81";
    enum { BLANK = sizeof blank - 1 };
    *ret_piece = (spec_piece){text, 0};
    for (size_t i = 0; i < piece->length; i++) {
        const char *c = piece->bytes + i;
        if (is_user && piece->length - i >= BLANK && memcmp(c, blank, BLANK) == 0) {
            *text++ = ' ';
            i += BLANK - 1;
        } else if (!is_user && *c == ' ') {
            text = (char *)memcpy(text, blank, BLANK) + BLANK;
        } else {
            *text++ = *c;
        }
    }
    ret_piece->length = (size_t)(text - ret_piece->bytes);
    return text;
}

/* Writes the values that only SentencePiece has. */
static int write_spm(spec_gguf_writer *writer, const spec_tokenizer_data *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t n = (size_t)data->vocab;
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++) bytes += 3 * data->piece[i].length;
    char *text = malloc(bytes), *end = text;
    spec_piece *piece = malloc(n * sizeof *piece);
    if (text == NULL || piece == NULL) SPEC_TRY(spec_no_memory(error));
    for (size_t i = 0; i < n; i++)
        end = respell(&piece[i], end, &data->piece[i],
                      data->opt_type != NULL && data->opt_type[i] == SPEC_PIECE_USER);
    spec_gguf_writer_texts(writer, "tokenizer.ggml.tokens", piece, n);
    spec_gguf_writer_reals(writer, "tokenizer.ggml.scores", data->opt_score, n);
    spec_gguf_writer_bool(writer, "tokenizer.ggml.add_space_prefix", data->adds_space);
done:
    free(text);
    free(piece);
    return status;
}

static void write_bpe(spec_gguf_writer *writer, const spec_tokenizer_data *data)
{
    spec_gguf_writer_text(writer, "tokenizer.ggml.pre", data->pre);
    spec_gguf_writer_texts(writer, "tokenizer.ggml.tokens", data->piece, (size_t)data->vocab);
    spec_gguf_writer_texts(writer, "tokenizer.ggml.merges", data->merge, data->n_merges);
}

int spec_gguf_model_pieces(spec_gguf_writer *writer, const spec_checkpoint *model,
                           const spec_tokenizer_data *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    const bool is_spm = data->kind == SPEC_TOKENIZER_SPM;
    static const char *const end_keys[] = {"tokenizer.ggml.eos_token_id", /* -1: no end */
                                           "tokenizer.ggml.eot_token_id",
                                           "tokenizer.ggml.eom_token_id"};
    const spec_text_ends *ends = &model->ends;
    spec_gguf_writer_text(writer, "tokenizer.ggml.model",
                          data->vocab == 0 ? "none"
                          : is_spm         ? "llama"
                                           : "gpt2");
    spec_gguf_writer_u32(writer, "tokenizer.ggml.bos_token_id", (uint32_t)model->begin_of_text);
    for (int i = 0; i == 0 || (i < 3 && i < ends->n); i++)
        spec_gguf_writer_u32(writer, end_keys[i], (uint32_t)(i < ends->n ? ends->token[i] : -1));
    spec_gguf_writer_bool(writer, "tokenizer.ggml.add_bos_token", model->adds_begin);
    if (data->vocab == 0) return status;
    if (is_spm)
        SPEC_TRY(write_spm(writer, data, error));
    else
        write_bpe(writer, data);
    spec_gguf_writer_integers(writer, "tokenizer.ggml.token_type", data->opt_type,
                              (size_t)data->vocab);
    spec_gguf_writer_u32(writer, "tokenizer.ggml.unknown_token_id", (uint32_t)data->unknown);
done:
    return status;
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

/* The writer copies the values, so the file may be closed. */
static int of_gguf(spec_gguf_writer *writer, const spec_checkpoint *model,
                   const spec_settings *file, spec_error *error)
{
    static const char prefix[] = "tokenizer.";
    int status = GSL_SUCCESS;
    spec_gguf gguf;
    SPEC_TRY(spec_gguf_init(&gguf, file->path, error));
    const spec_gguf_tensor *embedding = spec_gguf_find_tensor(&gguf, "token_embd.weight");
    if (embedding == NULL || embedding->tensor.rows != model->shape.vocab)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: its vocabulary does not have %d tokens",
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

int spec_gguf_model_row_of_halves(int row, int head_dim)
{
    const int at = row % head_dim;
    return row - at + at / 2 + at % 2 * (head_dim / 2);
}

/* A file being written. */
typedef struct {
    const spec_checkpoint *model;
    spec_gguf_writer writer;
    const spec_architecture *architecture;
    spec_gguf_model_watch watch;
    float *row; /* of a vector or a table of biases */
} file;

static int write_vector(file *to, const spec_tensor *tensor, spec_error *error)
{
    for (int row = 0; row < tensor->rows; row++) {
        spec_tensor_decode_row(to->row, tensor, row);
        spec_gguf_writer_data(&to->writer, to->row, (size_t)tensor->cols * sizeof *to->row);
    }
    return spec_gguf_writer_tensor_end(&to->writer, error);
}

static int write_matrix(file *to, spec_part part, int layer, const spec_tensor *tensor,
                        spec_error *error)
{
    const spec_shape *shape = &to->model->shape;
    const bool moves = to->architecture->rope_pairs == SPEC_ROPE_ADJACENT &&
                       shape->rope_pairs == SPEC_ROPE_HALVES &&
                       (part == SPEC_PART_QUERY || part == SPEC_PART_KEY);
    const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
    for (int row = 0; row < tensor->rows; row++) {
        if (to->watch.opt_recurrent != NULL && !spec_checkpoint_parts_in_layer(part, false)) {
            spec_gguf_writer_data(
                &to->writer, to->watch.opt_recurrent(to->watch.recurrent, part, layer, row), bytes);
            continue;
        }
        const int from = moves ? spec_gguf_model_row_of_halves(row, shape->head_dim) : row;
        spec_gguf_writer_data(&to->writer, (const char *)tensor->data + (size_t)from * bytes,
                              bytes);
    }
    return spec_gguf_writer_tensor_end(&to->writer, error);
}

/* Writes expert after expert, from their separate source. */
static int write_experts(file *to, spec_part part, int layer, const spec_tensor *tensor,
                         spec_error *error)
{
    const int n = to->model->shape.n_experts;
    const size_t bytes =
        (size_t)(tensor->rows / n) * spec_tensor_row_bytes(tensor->type, tensor->cols);
    for (int expert = 0; expert < n; expert++)
        spec_gguf_writer_data(&to->writer,
                              to->watch.opt_experts(to->watch.experts, part, layer, expert), bytes);
    return spec_gguf_writer_tensor_end(&to->writer, error);
}

static int write_tensor(file *to, spec_part part, int layer, const spec_tensor *tensor,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    if (part >= SPEC_PART_EXPERT_GATE && part <= SPEC_PART_EXPERT_DOWN_BIAS &&
        to->watch.opt_experts != NULL)
        SPEC_TRY(write_experts(to, part, layer, tensor, error));
    else
        SPEC_TRY(spec_checkpoint_parts_is_vector(part)
                     ? write_vector(to, tensor, error)
                     : write_matrix(to, part, layer, tensor, error));
    spec_listener_tell(to->watch.opt_listener,
                       (double)to->writer.written / (double)to->writer.offset);
    SPEC_PASS(spec_stop_check(to->watch.opt_stop, error));
done:
    return status;
}

/* Names a tensor, or writes its data. */
static int visit_tensor(file *to, bool data, const char *name, spec_part part, int layer,
                        const spec_tensor *tensor, spec_error *error)
{
    const bool is_vector = spec_checkpoint_parts_is_vector(part);
    const int n = spec_checkpoint_parts_stacked(part) ? to->model->shape.n_experts : 1;
    if (tensor->data == NULL) return GSL_SUCCESS;
    if (data) return write_tensor(to, part, layer, tensor, error);
    spec_gguf_writer_stack(&to->writer, name, is_vector ? SPEC_TENSOR_F32 : tensor->type, n,
                           tensor->rows / n, tensor->cols);
    return GSL_SUCCESS;
}

static int visit_nextn(file *to, bool data, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int k = 0; k < to->model->n_nextn; k++)
        for (int i = 0; i < SPEC_NEXTN_TENSORS; i++) {
            char name[SPEC_PART_NAME_SIZE];
            spec_part part;
            const spec_tensor *tensor = spec_gguf_nextn_tensor(name, &part, to->model, k, i);
            SPEC_TRY(
                visit_tensor(to, data, name, part, to->model->shape.n_layers + k, tensor, error));
        }
done:
    return status;
}

/* Names every tensor, but a tied output only once; or writes their data, if `data` is set. */
static int visit(file *to, bool data, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_checkpoint *model = to->model;
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (part == SPEC_PART_OUTPUT && model->output.data == model->embedding.data) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model->shape); layer++) {
            char name[SPEC_PART_NAME_SIZE];
            spec_checkpoint_parts_name(name, part, layer, model->opt_architecture);
            SPEC_TRY(visit_tensor(to, data, name, part, layer,
                                  spec_checkpoint_parts_tensor_const(part, model, layer), error));
        }
    }
    SPEC_TRY(visit_nextn(to, data, error));
done:
    return status;
}

/* Returns the width of the widest vector; rope factors are no wider than a head's norm. */
static int widest_vector(const spec_shape *shape)
{
    int widest = shape->head_dim;
    for (int i = 0; i < SPEC_PARTS; i++) {
        int rows, cols;
        spec_checkpoint_parts_shape(&rows, &cols, (spec_part)i, shape);
        if (spec_checkpoint_parts_is_vector((spec_part)i) && cols > widest) widest = cols;
    }
    return widest;
}

int spec_gguf_model_write(int *ret_kept, const spec_checkpoint *model,
                          const spec_gguf_model_vocabulary *vocabulary, const char *path,
                          const spec_gguf_model_watch *opt_watch, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_shape *shape = &model->shape;
    const spec_tensor factors = {SPEC_TENSOR_F32, 1, spec_checkpoint_rotated(shape) / 2,
                                 shape->rope.opt_factor};
    spec_shape whole = *shape; /* the number of layers includes draft blocks */
    bool has_factors;
    char key[KEY_SIZE];
    file to = {.model = model, .architecture = spec_architecture_of(model)};
    *ret_kept = 0;
    whole.n_layers += model->n_nextn;
    if (opt_watch != NULL) to.watch = *opt_watch;
    to.row = malloc((size_t)widest_vector(shape) * sizeof *to.row);
    if (to.row == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    SPEC_TRY(spec_gguf_writer_init(&to.writer, error));
    spec_gguf_model_shape(&to.writer, to.architecture->name, &whole);
    if (model->n_nextn > 0) {
        snprintf(key, sizeof key, "%s.nextn_predict_layers", to.architecture->name);
        spec_gguf_writer_u32(&to.writer, key, (uint32_t)model->n_nextn);
    }
    spec_gguf_delta_write(&to.writer, model);
    if (to.watch.opt_name != NULL)
        spec_gguf_writer_text(&to.writer, "general.name", to.watch.opt_name);
    SPEC_TRY(write_vocabulary(&to.writer, model, vocabulary, error));
    if (to.watch.opt_chat_template != NULL)
        spec_gguf_writer_text(&to.writer, "tokenizer.chat_template", to.watch.opt_chat_template);
    SPEC_TRY(visit(&to, false, error));
    spec_gguf_attention_write(&to.writer, &has_factors, model);
    SPEC_TRY(spec_gguf_writer_open(&to.writer, path, error));
    if (to.watch.opt_announce != NULL)
        SPEC_TRY(to.watch.opt_announce(to.watch.self, to.writer.offset, error));
    SPEC_TRY(visit(&to, true, error));
    if (has_factors) SPEC_TRY(write_vector(&to, &factors, error));
    SPEC_TRY(spec_gguf_writer_close(&to.writer, error));
    *ret_kept = to.writer.file.kept;
done:
    free(to.row);
    spec_gguf_writer_free(&to.writer);
    return status;
}
