/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads GGUF models, written by our own writer value by value, each of which is then omitted or
 changed. */
#include "models/transformer/files/architecture.h"
#include "models/transformer/files/checkpoint.h"
#include "models/transformer/files/gguf_writer.h"

#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    DIM = 32,
    FFN = 64,
    LAYERS = 2,
    HEADS = 4,
    KV_HEADS = 2,
    HEAD = 8,
    VOCAB = 40,
    CONTEXT = 16
};

static char path[] = "/tmp/speclab-gguf-model-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    const int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* ---- a model, correct except for the requested change ---------------------------------------- */

typedef enum { KEEP, LEAVE_OUT, U32, I32, F32, BOOL, TEXT } change;

typedef struct {
    const char *architecture, *tokenizer; /* NULL: llama, llama */
    const char *key;                      /* the value to change or add */
    change change;
    double number;
    const char *text;
    const char *tensor; /* the tensor to omit, to change in rows, columns or type, or to add at
                           the end */
    int rows, cols;
    spec_tensor_type type;
    bool left_out;
    float weight;   /* of every weight, 0: 0.5 */
    bool has_freqs; /* rope_freqs.weight: 1, 2, 3, 4 */
    bool is_untied, has_bias;
    int pieces, scores; /* 0: VOCAB */
} wish;

static void add_changed(spec_gguf_writer *writer, const wish *w)
{
    switch (w->change) {
    case U32: spec_gguf_writer_u32(writer, w->key, (uint32_t)w->number); break;
    case I32: spec_gguf_writer_integers(writer, w->key, &(int){(int)w->number}, 1); break;
    case F32: spec_gguf_writer_f32(writer, w->key, (float)w->number); break;
    case BOOL: spec_gguf_writer_bool(writer, w->key, w->number != 0.0); break;
    case TEXT: spec_gguf_writer_text(writer, w->key, w->text); break;
    case KEEP:
    case LEAVE_OUT: break;
    }
}

/* Returns whether this key is the one to change. */
static bool is_changed(const wish *w, const char *key)
{
    return w->key != NULL && strcmp(w->key, key) == 0;
}

static void add_u32(spec_gguf_writer *writer, const wish *w, const char *rest, uint32_t value)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", w->architecture != NULL ? w->architecture : "llama", rest);
    if (!is_changed(w, key)) spec_gguf_writer_u32(writer, key, value);
}

static void add_values(spec_gguf_writer *writer, const wish *w)
{
    const char *architecture = w->architecture != NULL ? w->architecture : "llama";
    char eps[96];
    snprintf(eps, sizeof eps, "%s.attention.layer_norm_rms_epsilon", architecture);
    spec_gguf_writer_text(writer, "general.architecture", architecture);
    add_u32(writer, w, "context_length", CONTEXT);
    add_u32(writer, w, "embedding_length", DIM);
    add_u32(writer, w, "block_count", LAYERS);
    add_u32(writer, w, "feed_forward_length", FFN);
    add_u32(writer, w, "attention.head_count", HEADS);
    add_u32(writer, w, "attention.head_count_kv", KV_HEADS);
    if (!is_changed(w, eps)) spec_gguf_writer_f32(writer, eps, 1e-6f);
    if (w->key != NULL) add_changed(writer, w);

    const char *tokenizer = w->tokenizer != NULL ? w->tokenizer : "llama";
    static char text[VOCAB + 1][8];
    spec_piece piece[VOCAB + 1];
    float score[VOCAB + 1];
    int type[VOCAB];
    for (int i = 0; i <= VOCAB; i++) {
        snprintf(text[i], sizeof text[i],
                 i == 0   ? "<unk>"
                 : i == 1 ? "<s>"
                 : i == 2 ? "</s>"
                          : "%c",
                 'A' + i - 3);
        piece[i] = (spec_piece){text[i], strlen(text[i])};
        score[i] = (float)-i;
        if (i < VOCAB)
            type[i] = i == 0 ? SPEC_PIECE_UNKNOWN : i < 3 ? SPEC_PIECE_CONTROL : SPEC_PIECE_NORMAL;
    }
    spec_gguf_writer_text(writer, "tokenizer.ggml.model", tokenizer);
    if (strcmp(tokenizer, "none") == 0) return;
    spec_gguf_writer_texts(writer, "tokenizer.ggml.tokens", piece,
                           (size_t)(w->pieces > 0 ? w->pieces : VOCAB));
    if (w->scores >= 0)
        spec_gguf_writer_reals(writer, "tokenizer.ggml.scores", score,
                               (size_t)(w->scores > 0 ? w->scores : VOCAB));
    spec_gguf_writer_integers(writer, "tokenizer.ggml.token_type", type, VOCAB);
}

typedef struct {
    spec_tensor_type type;
    int rows, cols;
    float weight;
} shape_of;

static bool is_wanted(shape_of *ret, const wish *w, spec_part part, int layer,
                      const spec_shape *shape)
{
    char name[SPEC_PART_NAME_SIZE];
    if (!spec_architecture_may(spec_architectures, part)) return false;
    if (part == SPEC_PART_OUTPUT && !w->is_untied) return false;
    if (part >= SPEC_PART_QUERY_BIAS && part <= SPEC_PART_VALUE_BIAS && !w->has_bias) return false;
    *ret = (shape_of){.weight = w->weight != 0.0f ? w->weight : 0.5f};
    spec_checkpoint_parts_shape(&ret->rows, &ret->cols, part, shape);
    if (w->tensor == NULL ||
        strcmp(spec_checkpoint_parts_name(name, part, layer, NULL), w->tensor) != 0)
        return true;
    if (w->left_out) return false;
    if (w->rows > 0) ret->rows = w->rows;
    if (w->cols > 0) ret->cols = w->cols;
    ret->type = w->type;
    return true;
}

static void write_model(const wish *w)
{
    const spec_shape shape = {.dim = DIM,
                              .ffn_dim = FFN,
                              .n_layers = LAYERS,
                              .n_heads = HEADS,
                              .n_kv_heads = KV_HEADS,
                              .head_dim = HEAD,
                              .vocab = VOCAB};
    OWNED(spec_gguf_writer) writer;
    spec_error error = {""};
    assert_works(spec_gguf_writer_init(&writer, &error));
    add_values(&writer, w);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && spec_gguf_writer_open(&writer, path, &error) != GSL_SUCCESS)
            fail_msg("%s", error.text);
        bool was_changed = w->tensor == NULL || w->left_out;
        for (int i = 0; i < SPEC_PARTS; i++) {
            for (int layer = 0; layer < spec_checkpoint_parts_copies((spec_part)i, &shape);
                 layer++) {
                shape_of tensor;
                char name[SPEC_PART_NAME_SIZE];
                unsigned char row[4 * 1024];
                float value[1024];
                if (!is_wanted(&tensor, w, (spec_part)i, layer, &shape)) continue;
                spec_checkpoint_parts_name(name, (spec_part)i, layer, NULL);
                was_changed = was_changed || strcmp(name, w->tensor) == 0;
                if (pass == 0)
                    spec_gguf_writer_tensor(&writer, name, tensor.type, tensor.rows, tensor.cols);
                for (int c = 0; c < tensor.cols; c++) value[c] = tensor.weight;
                spec_tensor_row_write(row, tensor.type, value, tensor.cols);
                for (int r = 0; r < tensor.rows && pass == 1; r++)
                    spec_gguf_writer_data(&writer, row,
                                          spec_tensor_row_bytes(tensor.type, tensor.cols));
                if (pass == 1) assert_works(spec_gguf_writer_tensor_end(&writer, &error));
            }
        }
        const char *extra = w->has_freqs ? "rope_freqs.weight" : was_changed ? NULL : w->tensor;
        const int cols = w->cols > 0 ? w->cols : HEAD / 2;
        const float freqs[8] = {1.0f, 2.0f, 3.0f, w->weight != 0.0f ? w->weight : 4.0f};
        if (extra != NULL && pass == 0) spec_gguf_writer_tensor(&writer, extra, w->type, 1, cols);
        if (extra != NULL && pass == 1)
            spec_gguf_writer_data(&writer, freqs, spec_tensor_row_bytes(w->type, cols));
        if (extra != NULL && pass == 1) assert_works(spec_gguf_writer_tensor_end(&writer, &error));
    }
    assert_works(spec_gguf_writer_close(&writer, &error));
}

static int load(spec_checkpoint *ret, const char *keys, spec_error *error)
{
    char text[256];
    OWNED(spec_settings) settings;
    snprintf(text, sizeof text, "gguf:%s%s", path, keys);
    assert_int_equal(spec_settings_init(&settings, text, error), GSL_SUCCESS);
    const int status = spec_checkpoint_load_gguf(ret, &settings, spec_test_pool(0), error);
    return status;
}

static void loads(spec_checkpoint *ret, const wish *w)
{
    write_model(w);
    assert_works(load(ret, "", &error));
}

/* ---- valid models ---------------------------------------------------------------------------- */

TEST(a_model_is_read_as_it_was_written)
{
    OWNED(spec_checkpoint) model;
    float row[DIM];
    loads(&model, &(wish){.is_untied = true});
    const spec_shape *shape = &model.shape;
    assert_true(shape->dim == DIM && shape->ffn_dim == FFN && shape->n_layers == LAYERS &&
                shape->n_heads == HEADS);
    assert_true(shape->n_kv_heads == KV_HEADS && shape->head_dim == HEAD && shape->vocab == VOCAB);
    assert_true(shape->context == CONTEXT && shape->norm_eps == 1e-6f &&
                shape->rope.base == 10000.0);
    assert_int_equal(shape->rope_pairs, SPEC_ROPE_ADJACENT);
    assert_null(shape->rope.opt_factor);
    assert_true(model.begin_of_text == 1 && model.adds_begin && model.ends.n == 1 &&
                model.ends.token[0] == 2);
    assert_non_null(model.opt_tokenizer);
    int token[8];
    assert_int_equal(spec_tokenizer_encode(model.opt_tokenizer, "B", 1, token, 8),
                     2); /* preceded by a blank, which is unknown */
    assert_int_equal(token[1], 4);
    assert_ptr_not_equal(model.output.data, model.embedding.data);
    assert_true(model.layer[1].down.rows == DIM && model.layer[1].down.cols == FFN);
    spec_tensor_decode_row(row, &model.layer[1].key, KV_HEADS * HEAD - 1);
    for (int i = 0; i < DIM; i++) assert_true(row[i] == 0.5f);
    spec_checkpoint_free(&model);
    assert_works(load(&model, "?context=5", &error));
    assert_int_equal(model.shape.context, 5);
    spec_checkpoint_free(&model);
    loads(&model, &(wish){0});
    assert_ptr_equal(model.output.data, model.embedding.data);
}

TEST(qwen2_has_biases_and_rotates_halves)
{
    OWNED(spec_checkpoint) model;
    loads(&model, &(wish){.architecture = "qwen2",
                          .has_bias = true,
                          .key = "qwen2.rope.freq_base",
                          .change = F32,
                          .number = 1e6});
    assert_int_equal(model.shape.rope_pairs, SPEC_ROPE_HALVES);
    assert_true(model.shape.rope.base == 1e6);
    assert_true(model.layer[1].query_bias.rows == 1 &&
                model.layer[1].query_bias.cols == HEADS * HEAD);
    assert_true(model.layer[0].value_bias.cols == KV_HEADS * HEAD &&
                model.layer[0].value_bias.data != NULL);
}

TEST(rope_is_scaled_by_a_factor_or_by_a_tensor)
{
    OWNED(spec_checkpoint) model;
    const wish linear[] = {
        {.key = "llama.rope.scaling.factor", .change = F32, .number = 4.0},
        {.key = "llama.rope.scale_linear", .change = F32, .number = 4.0},
    };
    for (int i = 0; i < 2; i++) {
        loads(&model, &linear[i]);
        assert_non_null(model.shape.rope.opt_factor);
        for (int k = 0; k < HEAD / 2; k++) assert_true(model.shape.rope.opt_factor[k] == 4.0f);
        spec_checkpoint_free(&model);
    }
    loads(&model, &(wish){.has_freqs = true});
    for (int k = 0; k < HEAD / 2; k++)
        assert_true(model.shape.rope.opt_factor[k] == (float)(k + 1));
    spec_checkpoint_free(&model);
    loads(&model,
          &(wish){
              .has_freqs = true, .key = "llama.rope.scaling.factor", .change = F32, .number = 2.0});
    for (int k = 0; k < HEAD / 2; k++)
        assert_true(model.shape.rope.opt_factor[k] == 2.0f * (float)(k + 1));
    spec_checkpoint_free(&model);
    loads(&model, &(wish){.key = "llama.rope.scaling.type", .change = TEXT, .text = "none"});
    assert_null(model.shape.rope.opt_factor);
}

TEST(texts_begin_and_end_as_the_file_says)
{
    static const struct {
        wish wish;
        int begin, end;
        bool adds;
        int other; /* the other end, by a value or by its spelling </s>, or 0 */
    } cases[] = {
        {{0}, 1, 2, true, 0},
        {{.key = "tokenizer.ggml.bos_token_id", .change = U32, .number = 7}, 7, 2, true, 0},
        {{.key = "tokenizer.ggml.eos_token_id", .change = U32, .number = 39}, 1, 39, true, 2},
        {{.key = "tokenizer.ggml.eos_token_id", .change = U32, .number = 4294967295.0},
         1,
         -1,
         true,
         0},
        {{.key = "tokenizer.ggml.eot_token_id", .change = U32, .number = 8}, 1, 2, true, 8},
        {{.key = "tokenizer.ggml.eom_token_id", .change = U32, .number = 9}, 1, 2, true, 9},
        {{.key = "tokenizer.ggml.add_bos_token", .change = BOOL, .number = 0}, 1, 2, false, 0},
        {{.tokenizer = "none"}, 0, -1, false, 0},
        {{.tokenizer = "none", .key = "tokenizer.ggml.eot_token_id", .change = U32, .number = 9},
         0,
         9,
         false,
         0},
        {{.tokenizer = "none", .key = "tokenizer.ggml.eos_token_id", .change = U32, .number = 9},
         9,
         9,
         false,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        OWNED(spec_checkpoint) model;
        loads(&model, &cases[i].wish);
        assert_int_equal(model.begin_of_text, cases[i].begin);
        spec_text_ends ends = spec_text_ends_one(cases[i].end);
        if (cases[i].other > 0) spec_text_ends_add(&ends, cases[i].other);
        assert_memory_equal(&model.ends, &ends, sizeof ends);
        assert_int_equal(model.adds_begin, cases[i].adds);
        assert_true((model.opt_tokenizer == NULL) == (cases[i].wish.tokenizer != NULL));
    }
}

/* ---- invalid models -------------------------------------------------------------------------- */

static void refused(const wish *w, const char *line)
{
    spec_checkpoint model;
    spec_error error = {""};
    write_model(w);
    assert_int_equal(load(&model, "", &error), GSL_EINVAL);
    if (strncmp(error.text, path, strlen(path)) != 0 ||
        strcmp(error.text + strlen(path), line) != 0)
        fail_msg("'%s' is not '%s'", error.text, line);
    assert_null(model.layer);
    assert_null(model.owned);
}

TEST(models_of_other_kinds_are_refused_by_name)
{
    refused(&(wish){.architecture = "gemma2"}, ": the architecture is 'gemma2'; only llama, qwen2, "
                                               "qwen3, qwen3moe, gemma3, gpt-oss, qwen3next, "
                                               "qwen35 and qwen35moe are supported");
    refused(&(wish){.architecture = "llama4"}, ": the architecture is 'llama4'; only llama, qwen2, "
                                               "qwen3, qwen3moe, gemma3, gpt-oss, qwen3next, "
                                               "qwen35 and qwen35moe are supported");
    refused(&(wish){.key = "split.count", .change = U32, .number = 3},
            ": is one of 3 files that make up a model; merge them first");
    refused(&(wish){.key = "llama.expert_count", .change = U32, .number = 8},
            ": 'llama.expert_count' is 8: a llama model with experts is not supported");
    refused(&(wish){.key = "llama.attention.sliding_window", .change = U32, .number = 8},
            ": attention through a sliding window of 8 tokens is not supported");
    refused(&(wish){.key = "llama.rope.scaling.type", .change = TEXT, .text = "longrope"},
            ": rope scaling of type 'longrope' is not supported; none, linear and yarn are");
    refused(&(wish){.key = "llama.rope.dimension_count", .change = U32, .number = 4},
            ": a rotary embedding of 4 of the 8 dimensions of a head is not supported");
    refused(&(wish){.key = "llama.attention.value_length", .change = U32, .number = 4},
            ": keys of width 8 and values of width 4 are not supported");
    refused(&(wish){.tokenizer = "bert"},
            ": a tokenizer of model 'bert' is not supported; llama (SPM) and gpt2 (BPE) are");
}

TEST(values_that_a_model_needs_are_asked_for)
{
    static const char *const needed[] = {
        "context_length",      "embedding_length",     "block_count",
        "feed_forward_length", "attention.head_count", "attention.layer_norm_rms_epsilon"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        char key[96], line[160];
        snprintf(key, sizeof key, "llama.%s", needed[i]);
        snprintf(line, sizeof line, ": key '%s' is missing", key);
        refused(&(wish){.key = key, .change = LEAVE_OUT}, line);
        if (i == 5) continue;
        const int most = i == 0 ? INT32_MAX : i == 2 ? SPEC_LAYERS_MAX : SPEC_DIM_MAX;
        snprintf(line, sizeof line, ": the value of '%s' is not a whole number between 1 and %d",
                 key, most);
        refused(&(wish){.key = key, .change = U32, .number = 0}, line);
        refused(&(wish){.key = key, .change = U32, .number = 4294967295.0}, line);
        refused(&(wish){.key = key, .change = I32, .number = 4},
                line); /* an array: layers differ */
    }
}

TEST(invalid_shapes_are_refused)
{
    refused(&(wish){.key = "llama.attention.head_count_kv", .change = U32, .number = 3},
            ": 4 heads cannot share 3 key-value heads evenly");
    refused(&(wish){.key = "llama.attention.head_count_kv", .change = U32, .number = 0},
            ": the number of key-value heads is 0, which is not between 1 and 4");
    refused(&(wish){.key = "llama.attention.key_length", .change = U32, .number = 9},
            ": the width of a head is 9, which is odd: rotary embedding pairs its dimensions");
    refused(&(wish){.key = "llama.attention.key_length", .change = U32, .number = 258},
            ": the width of a head is 258, which is not between 1 and 256");
    refused(&(wish){.key = "llama.rope.freq_base", .change = F32, .number = 0.5},
            ": the base of the rotary embedding is 0.5, which is not between 1 and 1e15");
    refused(&(wish){.key = "llama.rope.freq_base", .change = F32, .number = NAN},
            ": the base of the rotary embedding is nan, which is not between 1 and 1e15");
    refused(&(wish){.key = "llama.attention.layer_norm_rms_epsilon", .change = F32, .number = -0.5},
            ": the norm's epsilon is -0.5, which is not between 0 and 1");
    refused(&(wish){.key = "llama.rope.scaling.factor", .change = F32, .number = -2.0},
            ": factor 0 of the rotary embedding is -2, not a positive number");
    refused(&(wish){.has_freqs = true, .weight = INFINITY},
            ": factor 3 of the rotary embedding is inf, not a positive number");
    refused(&(wish){.has_freqs = true, .type = SPEC_TENSOR_F16},
            ": tensor 'rope_freqs.weight' is not 4 weights of type f32");
    refused(&(wish){.has_freqs = true, .cols = 3},
            ": tensor 'rope_freqs.weight' is not 4 weights of type f32");
}

TEST(tensors_that_do_not_fit_are_refused)
{
    refused(&(wish){.tensor = "token_embd.weight", .left_out = true},
            ": tensor 'token_embd.weight' is missing");
    refused(&(wish){.tensor = "blk.1.ffn_up.weight", .left_out = true},
            ": tensor 'blk.1.ffn_up.weight' is missing");
    refused(&(wish){.tensor = "output_norm.weight", .left_out = true},
            ": tensor 'output_norm.weight' is missing");
    refused(&(wish){.tensor = "blk.0.attn_k.weight", .rows = HEADS * HEAD},
            ": tensor 'blk.0.attn_k.weight' has 32 rows of 32 where the model's shape asks for 16 "
            "of 32");
    refused(&(wish){.tensor = "blk.1.ffn_down.weight", .cols = 63},
            ": tensor 'blk.1.ffn_down.weight' has 32 rows of 63 where the model's shape asks for "
            "32 of 64");
    refused(&(wish){.tensor = "blk.0.ffn_norm.weight", .type = SPEC_TENSOR_F16},
            ": tensor 'blk.0.ffn_norm.weight' is of type f16 where a vector is f32");
    refused(&(wish){.tensor = "blk.0.attn_q_norm.weight"},
            ": tensor 'blk.0.attn_q_norm.weight' is not one of a llama "
            "model's");
    refused(&(wish){.tensor = "blk.2.attn_q.weight"},
            ": tensor 'blk.2.attn_q.weight' is not one of a llama model's");
    refused(&(wish){.tensor = "a.weight"}, ": tensor 'a.weight' is not one of a llama model's");
    refused(&(wish){.tensor = "blk.0.attn_v.bias", .left_out = true, .has_bias = true},
            ": block 0 has some of the biases of query, key and value, but not all");
    refused(&(wish){.tensor = "blk.1.attn_k.bias", .left_out = true, .has_bias = true},
            ": block 1 has some of the biases of query, key and value, but not all");
    refused(&(wish){.weight = NAN}, ": row 0 of token_embd.weight has a weight that is not finite");
}

TEST(vocabularies_that_do_not_fit_are_refused)
{
    refused(&(wish){.pieces = VOCAB + 1},
            ": 41 tokens, 40 scores and 40 types for an embedding of 40 rows");
    refused(&(wish){.pieces = VOCAB - 1},
            ": 39 tokens, 40 scores and 40 types for an embedding of 40 rows");
    refused(&(wish){.scores = 7}, ": 40 tokens, 7 scores and 40 types for an embedding of 40 rows");
    static const char *const special[] = {"bos", "eos", "unknown"};
    for (int i = 0; i < 3; i++) {
        char key[64], line[128];
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", special[i]);
        snprintf(line, sizeof line, ": the value of '%s' is not a whole number between 0 and 39",
                 key);
        refused(&(wish){.key = key, .change = U32, .number = VOCAB}, line);
    }
    refused(&(wish){.key = "tokenizer.ggml.add_bos_token", .change = U32, .number = 1},
            ": the value of 'tokenizer.ggml.add_bos_token' is not true or false");
}

SUITE(.setup = make_file, .teardown = remove_file);
