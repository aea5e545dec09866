/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imports one hybrid model from the two layouts of folders, qwen3_next's and qwen3_5_moe's. They
 * become files of two architectures with different orders of heads, but their rows are the same,
 * and so are their drafts'.
 */
#include "models/import/import_model.h"

#include "models/model.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DIM = 32,
    HEADS = 2,
    HEAD = 16,
    FFN = 24,
    VOCAB = 20,
    EXPERTS = 3,
    EXPERT = 16,
    KEY_HEADS = 2,
    PER_KEY = 3,
    KEY = 8,
    VALUE = 12,
    KERNEL = 4,
    KEYS = KEY_HEADS * KEY,
    VALUES = KEY_HEADS * PER_KEY * VALUE,
    CHANNELS = 2 * KEYS + VALUES,
    TEXT = 120,
    NODES = 3
};

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);

static gsl_rng *rng;

static float *draw(size_t n, double spread)
{
    float *values = malloc(n * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n; i++) values[i] = (float)(spread * 3.4 * (gsl_rng_uniform(rng) - 0.5));
    return values;
}

static void put(spec_hf_file *file, const char *prefix, const char *name, int n_dimensions,
                const int *size, const float *values)
{
    char whole[120];
    size_t n = 1;
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    for (int i = 0; i < n_dimensions; i++) n *= (size_t)size[i];
    spec_hf_folder_put(file, whole, "F32", n_dimensions, size, values, n * sizeof *values);
}

/* Draws the same values for both files. */
static void put_both(spec_hf_file *file, const char *prefix, const char *name, int rows, int cols,
                     double spread)
{
    const int size[] = {rows, cols}, vector = rows == 1 && strstr(name, "_gate.") == NULL;
    FREED float *values = draw((size_t)rows * (size_t)cols, spread);
    for (int f = 0; f < 2; f++)
        put(&file[f], prefix, name, vector ? 1 : 2, vector ? &size[1] : size, values);
}

static void put_matrix(spec_hf_file *file, const char *prefix, const char *name, int rows, int cols)
{
    put_both(file, prefix, name, rows, cols, 1.5 / sqrt(cols));
}

static void put_experts(spec_hf_file *file, const char *prefix)
{
    const int wide[] = {EXPERTS, 2 * EXPERT, DIM}, down[] = {EXPERTS, DIM, EXPERT};
    FREED float *gate_up = draw((size_t)EXPERTS * 2 * EXPERT * DIM, 0.4);
    FREED float *back = draw((size_t)EXPERTS * EXPERT * DIM, 0.4);
    for (int f = 0; f < 2; f++) {
        put(&file[f], prefix, "mlp.experts.gate_up_proj", 3, wide, gate_up);
        put(&file[f], prefix, "mlp.experts.down_proj", 3, down, back);
    }
    put_matrix(file, prefix, "mlp.gate.weight", EXPERTS, DIM);
    put_matrix(file, prefix, "mlp.shared_expert.gate_proj.weight", FFN, DIM);
    put_matrix(file, prefix, "mlp.shared_expert.up_proj.weight", FFN, DIM);
    put_matrix(file, prefix, "mlp.shared_expert.down_proj.weight", DIM, FFN);
    put_matrix(file, prefix, "mlp.shared_expert_gate.weight", 1, DIM);
}

static void put_attention(spec_hf_file *file, const char *prefix)
{
    put_matrix(file, prefix, "self_attn.q_proj.weight", 2 * HEADS * HEAD, DIM);
    put_matrix(file, prefix, "self_attn.k_proj.weight", HEAD, DIM);
    put_matrix(file, prefix, "self_attn.v_proj.weight", HEAD, DIM);
    put_matrix(file, prefix, "self_attn.o_proj.weight", DIM, HEADS * HEAD);
    put_both(file, prefix, "self_attn.q_norm.weight", 1, HEAD, 0.3);
    put_both(file, prefix, "self_attn.k_norm.weight", 1, HEAD, 0.3);
}

static void put_rest(spec_hf_file *file, const char *prefix)
{
    put_both(file, prefix, "input_layernorm.weight", 1, DIM, 0.3);
    put_both(file, prefix, "post_attention_layernorm.weight", 1, DIM, 0.3);
    put_experts(file, prefix);
}

/* Copies the rows of q, k, v and z, then those of b and a, to the layout that has them together for
 * each key head. */
static void mix(float *to, float *to_both, const float *qkv, const float *z, const float *b,
                const float *a)
{
    for (int g = 0; g < KEY_HEADS; g++) {
        const struct {
            const float *from;
            int rows;
        } parts[] = {{qkv + g * KEY * DIM, KEY},
                     {qkv + (KEYS + g * KEY) * DIM, KEY},
                     {qkv + (2 * KEYS + g * PER_KEY * VALUE) * DIM, PER_KEY * VALUE},
                     {z + g * PER_KEY * VALUE * DIM, PER_KEY * VALUE}};
        for (int i = 0; i < 4; to += parts[i++].rows * DIM)
            memcpy(to, parts[i].from, (size_t)parts[i].rows * DIM * sizeof *to);
        for (int i = 0; i < 2; i++, to_both += PER_KEY * DIM)
            memcpy(to_both, (i == 0 ? b : a) + g * PER_KEY * DIM, PER_KEY * DIM * sizeof *to);
    }
}

static void put_recurrence(spec_hf_file *file, const char *prefix)
{
    enum { VALUE_HEADS = KEY_HEADS * PER_KEY };
    const int all[] = {CHANNELS + VALUES, DIM}, both[] = {2 * VALUE_HEADS, DIM},
              in[] = {CHANNELS, DIM}, gate[] = {VALUES, DIM}, one[] = {VALUE_HEADS, DIM},
              kernel[] = {CHANNELS, 1, KERNEL};
    const double spread = 1.5 / sqrt(DIM);
    FREED float *qkv = draw(CHANNELS * DIM, spread);
    FREED float *z = draw(VALUES * DIM, spread);
    FREED float *b = draw(VALUE_HEADS * DIM, spread);
    FREED float *a = draw(VALUE_HEADS * DIM, spread);
    FREED float *conv = draw(CHANNELS * KERNEL, 0.7);
    FREED float *mixed = draw((CHANNELS + VALUES) * DIM, 1.0);
    FREED float *mixed_both = draw(2 * VALUE_HEADS * DIM, 1.0);
    mix(mixed, mixed_both, qkv, z, b, a);
    put(&file[0], prefix, "linear_attn.in_proj_qkvz.weight", 2, all, mixed);
    put(&file[0], prefix, "linear_attn.in_proj_ba.weight", 2, both, mixed_both);
    put(&file[1], prefix, "linear_attn.in_proj_qkv.weight", 2, in, qkv);
    put(&file[1], prefix, "linear_attn.in_proj_z.weight", 2, gate, z);
    put(&file[1], prefix, "linear_attn.in_proj_b.weight", 2, one, b);
    put(&file[1], prefix, "linear_attn.in_proj_a.weight", 2, one, a);
    for (int f = 0; f < 2; f++) put(&file[f], prefix, "linear_attn.conv1d.weight", 3, kernel, conv);
    put_both(file, prefix, "linear_attn.A_log", 1, VALUE_HEADS, 1.0);
    put_both(file, prefix, "linear_attn.dt_bias", 1, VALUE_HEADS, 1.0);
    put_both(file, prefix, "linear_attn.norm.weight", 1, VALUE, 1.0);
    put_matrix(file, prefix, "linear_attn.out_proj.weight", DIM, VALUES);
}

static void write_folders(void)
{
    static const char *const name[] = {"next", "five"};
    static const char *const type[] = {"qwen3_next", "qwen3_5_moe_text"};
    spec_hf_file file[2] = {{0}};
    char path[60], config[1000];
    rng = spec_test_rng(gsl_rng_taus2, 21);
    put_both(file, "model.", "embed_tokens.weight", VOCAB, DIM, 1.0);
    put_both(file, "model.", "norm.weight", 1, DIM, 0.3);
    put_recurrence(file, "model.layers.0.");
    put_rest(file, "model.layers.0.");
    put_attention(file, "model.layers.1.");
    put_rest(file, "model.layers.1.");
    put_attention(file, "mtp.layers.0.");
    put_rest(file, "mtp.layers.0.");
    put_matrix(file, "mtp.", "fc.weight", DIM, 2 * DIM);
    put_both(file, "mtp.", "pre_fc_norm_embedding.weight", 1, DIM, 0.3);
    put_both(file, "mtp.", "pre_fc_norm_hidden.weight", 1, DIM, 0.3);
    put_both(file, "mtp.", "norm.weight", 1, DIM, 0.3);
    gsl_rng_free(rng);
    for (int f = 0; f < 2; f++) {
        mkdir(name[f], 0700);
        snprintf(path, sizeof path, "%s/model.safetensors", name[f]);
        spec_hf_folder_write(&file[f], path);
        snprintf(path, sizeof path, "%s/config.json", name[f]);
        snprintf(config, sizeof config,
                 "{'model_type': '%s', 'hidden_size': %d, 'num_hidden_layers': 2, "
                 "'num_attention_heads': %d, 'num_key_value_heads': 1, 'head_dim': %d, "
                 "'intermediate_size': 99, 'vocab_size': %d, 'max_position_embeddings': 256, "
                 "'full_attention_interval': 2, 'num_experts': %d, 'num_experts_per_tok': 2, "
                 "'moe_intermediate_size': %d, 'shared_expert_intermediate_size': %d, "
                 "'linear_num_key_heads': %d, 'linear_num_value_heads': %d, "
                 "'linear_key_head_dim': %d, 'linear_value_head_dim': %d, "
                 "'linear_conv_kernel_dim': %d, 'rope_theta': 500.0, "
                 "'tie_word_embeddings': true}",
                 type[f], DIM, HEADS, HEAD, VOCAB, EXPERTS, EXPERT, FFN, KEY_HEADS,
                 KEY_HEADS * PER_KEY, KEY, VALUE, KERNEL);
        spec_hf_folder_text(path, config);
    }
}

static void import(const char *folder, const char *to)
{
    spec_import_model model;
    int kept;
    assert_works(spec_import_model_open(&model, folder, &error));
    assert_works(spec_import_model_write(&kept, &model, to, NULL, &error));
    spec_import_model_free(&model);
}

static void list_text(int *ret_text)
{
    for (int t = 0; t < TEXT; t++) ret_text[t] = (7 * t * t + 3 * t + 1) % VOCAB;
}

/* Computes the rows after a text and a path of NODES tokens. */
static void rows_of(double *ret_rows, const spec_model *model)
{
    const double *row[NODES + 1];
    int text[TEXT], path[NODES] = {5, 0, 8};
    OWNED(spec_session) session;
    list_text(text);
    const spec_score_request request = {.context = text,
                                        .n_context = TEXT,
                                        .token = path,
                                        .n_nodes = NODES,
                                        .ret_row = row,
                                        .scratch = ret_rows};
    assert_works(spec_session_init(&session, model, &error));
    assert_works(spec_session_score(&session, &request, &error));
}

static float same(float x)
{
    return x;
}

static float plus_one(float x)
{
    return 1.0f + x;
}

static float rate(float x)
{
    return -expf(x);
}

/* The rows of the two files would agree even if both had the same wrong unit. */
TEST(vectors_of_a_hybrid_have_the_units_of_a_file)
{
    OWNED(spec_tensor_folder) folder;
    write_folders();
    import("next", "next.gguf");
    OWNED_MODEL *model = model_of("gguf:next.gguf", NULL);
    const spec_checkpoint_layer *layer = &spec_transformer_of(model)->checkpoint->layer[0];
    const struct {
        const char *name;
        const spec_tensor *found;
        float (*expected)(float);
    } vectors[] = {{"linear_attn.A_log", &layer->delta_rate, rate},
                   {"linear_attn.dt_bias", &layer->delta_bias, same},
                   {"linear_attn.norm.weight", &layer->delta_norm, same},
                   {"input_layernorm.weight", &layer->attention_norm, plus_one},
                   {"post_attention_layernorm.weight", &layer->ffn_norm, plus_one}};
    assert_works(spec_tensor_folder_init(&folder, "next", &error));
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char name[80];
        spec_tensor in;
        float from[DIM], to[DIM];
        const int n = vectors[i].found->cols;
        snprintf(name, sizeof name, "model.layers.0.%s", vectors[i].name);
        assert_works(spec_tensor_folder_weights(&in, &folder, name, 1, n, &error));
        spec_tensor_decode_row(from, &in, 0);
        spec_tensor_decode_row(to, vectors[i].found, 0);
        for (int k = 0; k < n; k++) assert_true(to[k] == vectors[i].expected(from[k]));
    }
}

TEST(two_layouts_of_one_hybrid_have_the_same_rows)
{
    double rows[2][2][(NODES + 1) * VOCAB]; /* of both files; of the model and its draft */
    write_folders();
    import("next", "next.gguf");
    import("five", "five.gguf");
    for (int f = 0; f < 2; f++) {
        spec_model *target = model_of(f == 0 ? "gguf:next.gguf" : "gguf:five.gguf", NULL),
                   *draft = model_of("mtp", target);
        rows_of(rows[f][0], target);
        rows_of(rows[f][1], draft);
        spec_model_close(draft);
        spec_model_close(target);
    }
    for (int which = 0; which < 2; which++)
        for (int i = 0; i < (NODES + 1) * VOCAB; i++)
            if (!(fabs(log(rows[0][which][i] / rows[1][which][i])) < 1e-4))
                fail_msg("%s, %d: %g, not %g", which == 0 ? "model" : "draft", i, rows[1][which][i],
                         rows[0][which][i]);
}

/* Computes the draft's row after the text, in double precision. Position j of the block reads
 * projection [norm(e(x_j)); norm(h_j)], where h_j is the model's state at j - 1 after its final
 * norm, and 0 at the first position. Its layer is that of a model whose embedding has these
 * values. */
static void reference_draft(double *ret_row, const spec_checkpoint *c)
{
    const spec_checkpoint_nextn *block = &c->nextn[0];
    const double eps = (double)c->shape.norm_eps;
    const int state = (c->shape.n_layers + 1) * DIM;
    FREED double *logits = reference_vector(TEXT * VOCAB);
    FREED double *states = reference_vector(TEXT * state);
    FREED float *input = malloc(TEXT * DIM * sizeof *input);
    int text[TEXT], place[TEXT];
    double sum = 0.0;
    assert_non_null(input);
    list_text(text);
    reference_states(logits, states, c, text, TEXT, false);
    for (int j = 0; j < TEXT; j++) {
        float row[DIM];
        double e[DIM], joined[2 * DIM] = {0.0}, x[DIM];
        place[j] = j;
        spec_tensor_decode_row(row, &c->embedding, text[j]);
        for (int i = 0; i < DIM; i++) e[i] = (double)row[i];
        reference_norm(joined, e, &block->embedding_norm, eps);
        if (j > 0) {
            reference_norm(x, states + (j - 1) * state + c->shape.n_layers * DIM, &c->final_norm,
                           eps);
            reference_norm(joined + DIM, x, &block->feature_norm, eps);
        }
        reference_product(x, &block->projection, NULL, joined, false, false);
        for (int i = 0; i < DIM; i++) input[j * DIM + i] = (float)x[i];
    }
    spec_checkpoint_layer layer = block->layer;
    spec_checkpoint alone = {.shape = c->shape,
                             .layer = &layer,
                             .embedding = {SPEC_TENSOR_F32, TEXT, DIM, input},
                             .output = c->output,
                             .final_norm = block->final_norm};
    alone.shape.n_layers = 1;
    alone.shape.delta = (spec_delta_shape){0};
    reference_pass(logits, &alone, place, TEXT, false);
    const double *last = logits + (TEXT - 1) * VOCAB;
    for (int i = 0; i < VOCAB; i++) sum += ret_row[i] = exp(last[i]);
    for (int i = 0; i < VOCAB; i++) ret_row[i] /= sum;
}

TEST(a_draft_block_of_a_hybrid_computes_its_definition)
{
    double rows[(NODES + 1) * VOCAB], expected[VOCAB];
    write_folders();
    import("next", "next.gguf");
    spec_model *target = model_of("gguf:next.gguf", NULL), *draft = model_of("mtp", target);
    rows_of(rows, draft);
    reference_draft(expected, spec_transformer_of(target)->checkpoint);
    double worst = 0.0;
    for (int i = 0; i < VOCAB; i++) worst = fmax(worst, fabs(log(rows[i] / expected[i])));
    printf("error %.2g of the logarithm of a probability\n", worst);
    assert_true(worst < 1e-4);
    spec_model_close(draft);
    spec_model_close(target);
}
