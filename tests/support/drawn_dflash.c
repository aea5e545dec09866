/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/drawn_dflash.h"

#include "base/noise.h"
#include "models/model_open.h"
#include "models/transformer/files/gguf_writer.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

drawn_dflash_config drawn_dflash(spec_dflash_kind kind, const spec_shape *target)
{
    const bool lattice = kind == SPEC_DFLASH_LATTICE;
    drawn_dflash_config config = {
        .shape = {.kind = kind,
                  .shape = {.dim = target->dim,
                            .n_layers = 2,
                            .n_heads = 2,
                            .n_kv_heads = 1,
                            .head_dim = 4,
                            .ffn_dim = 3 * target->dim / 2,
                            .vocab = target->vocab,
                            .norm_eps = 1e-5f,
                            .rope.base = 10000.0},
                  .n_taps = 2,
                  .tap = {target->n_layers, 1},
                  .block = 4,
                  .mask = target->vocab - 2,
                  .from_anchor = kind == SPEC_DFLASH_MARKOV,
                  .draft_vocab = target->vocab,
                  .windowed = {false, true},
                  .markov_rank = kind == SPEC_DFLASH_MARKOV ? 3 : 0,
                  .selector_rank = lattice ? 3 : 0,
                  .candidates = lattice ? 2 : 0,
                  .kernel = lattice ? 2 : 0,
                  .group = lattice ? target->dim / 2 : 0},
        .seed = 5,
    };
    static const spec_dflash_part lacks[] = {
        SPEC_DFLASH_EMBEDDING,     SPEC_DFLASH_OUTPUT,      SPEC_DFLASH_ATTENTION_POST_NORM,
        SPEC_DFLASH_FFN_POST_NORM, SPEC_DFLASH_LAYER_SCALE, SPEC_DFLASH_SINKS,
    };
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++)
        config.lacks |= UINT64_C(1) << lacks[i];
    return config;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct {
    spec_gguf_writer writer;
    const drawn_dflash_config *config;
} file;

static bool has_key(const file *f, const char *key)
{
    return f->config->opt_lacks_key == NULL || strcmp(f->config->opt_lacks_key, key) != 0;
}

static void number(file *f, const char *key, int value)
{
    if (has_key(f, key)) spec_gguf_writer_u32(&f->writer, key, (uint32_t)value);
}

static void scale(file *f, const char *key, float value)
{
    if (value != 0.0f) spec_gguf_writer_f32(&f->writer, key, value);
}

static void write_windows(file *f)
{
    static const char key[] = "dflash.attention.sliding_window_pattern";
    const spec_dflash_shape *shape = &f->config->shape;
    unsigned char windowed[SPEC_DFLASH_LAYERS_MAX];
    if (shape->window == 0) return;
    number(f, "dflash.attention.sliding_window", shape->window);
    for (int i = 0; i < shape->shape.n_layers; i++) windowed[i] = shape->windowed[i];
    if (has_key(f, key))
        spec_gguf_writer_value(&f->writer,
                               &(spec_gguf_value){.key = {key, sizeof key - 1},
                                                  .is_array = true,
                                                  .type = SPEC_GGUF_BOOL,
                                                  .n = (uint64_t)shape->shape.n_layers,
                                                  .bytes = windowed,
                                                  .length = (size_t)shape->shape.n_layers});
}

static void write_values(file *f)
{
    const spec_dflash_shape *shape = &f->config->shape;
    const spec_shape *s = &shape->shape;
    const char *other = f->config->opt_architecture;
    spec_gguf_writer_text(&f->writer, "general.architecture", other != NULL ? other : "dflash");
    number(f, "dflash.embedding_length", s->dim);
    number(f, "dflash.vocab_size", s->vocab);
    number(f, "dflash.block_count", s->n_layers);
    number(f, "dflash.feed_forward_length", s->ffn_dim);
    number(f, "dflash.attention.head_count", s->n_heads);
    number(f, "dflash.attention.head_count_kv", s->n_kv_heads);
    number(f, "dflash.attention.key_length", s->head_dim);
    number(f, "dflash.block_size", shape->block);
    number(f, "tokenizer.ggml.mask_token_id", shape->mask);
    if (has_key(f, "dflash.target_layers"))
        spec_gguf_writer_integers(&f->writer, "dflash.target_layers", shape->tap,
                                  (size_t)shape->n_taps);
    if (has_key(f, "dflash.attention.layer_norm_rms_epsilon"))
        scale(f, "dflash.attention.layer_norm_rms_epsilon", s->norm_eps);
    scale(f, "dflash.rope.freq_base", (float)s->rope.base);
    if (shape->causal) spec_gguf_writer_bool(&f->writer, "dflash.attention.causal", true);
    if (shape->kind == SPEC_DFLASH_MARKOV)
        spec_gguf_writer_bool(&f->writer, "dflash.sample_from_anchor", shape->from_anchor);
    if (shape->kind == SPEC_DFLASH_LATTICE) {
        number(f, "dflash.selector_rank", shape->selector_rank);
        number(f, "dflash.selector_top_k", shape->candidates);
        number(f, "dflash.conv_kernel_size", shape->kernel);
        number(f, "dflash.conv_group_size", shape->group);
    }
    if (s->gate == SPEC_GATE_GELU)
        spec_gguf_writer_text(&f->writer, "dflash.hidden_activation", "gelu");
    scale(f, "dflash.embedding_scale", s->embedding_scale);
    scale(f, "dflash.attention.scale", s->query_scale);
    scale(f, "dflash.attention.value_scale", shape->value_scale);
    scale(f, "dflash.logit_scale", shape->logit_scale);
    scale(f, "dflash.final_logit_softcapping", s->logit_cap);
    write_windows(f);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static double uniform(uint64_t key, uint64_t i)
{
    return 2.0 * ((double)(spec_noise_word(key, i) >> 11) * 0x1p-53) - 1.0;
}

static void write_tensor(file *f, spec_dflash_part part, int layer, int rows, int cols)
{
    char name[SPEC_DFLASH_NAME_SIZE];
    const bool gain = strstr(spec_dflash_part_name(name, part, layer), "norm") != NULL ||
                      part == SPEC_DFLASH_LAYER_SCALE;
    const double spread = spec_dflash_part_is_vector(part) ? 0.3 : 1.7 / sqrt(cols);
    const uint64_t key = spec_noise_key(f->config->seed, (int[]){(int)part, layer}, 2, -1);
    const int last = f->config->shape.kind == SPEC_DFLASH_PLAIN ? SPEC_DFLASH_DOWN : -1;
    for (int i = 0; i < rows * cols; i++) {
        float weight = (float)((gain ? 1.0 : 0.0) + spread * uniform(key, (uint64_t)i));
        if (f->config->not_finite && i == 0 && (int)part == last) weight = INFINITY;
        spec_gguf_writer_data(&f->writer, &weight, sizeof weight);
    }
}

static void end_tensor(file *f)
{
    assert_works(spec_gguf_writer_tensor_end(&f->writer, &error));
}

/* Names all tensors or, with `data`, writes them. */
static void visit(file *f, bool data)
{
    const spec_dflash_shape *shape = &f->config->shape;
    for (int i = 0; i < SPEC_DFLASH_PARTS; i++) {
        const spec_dflash_part part = (spec_dflash_part)i;
        if (f->config->lacks >> i & 1) continue;
        for (int layer = 0; layer < spec_dflash_copies(part, shape); layer++) {
            char name[SPEC_DFLASH_NAME_SIZE];
            int rows, cols;
            spec_dflash_part_shape(&rows, &cols, part, shape);
            if (!data) {
                spec_gguf_writer_tensor(&f->writer, spec_dflash_part_name(name, part, layer),
                                        SPEC_TENSOR_F32, rows, cols);
                continue;
            }
            write_tensor(f, part, layer, rows, cols);
            end_tensor(f);
        }
    }
}

static void write_map(file *f)
{
    const spec_dflash_shape *shape = &f->config->shape;
    const int vocab = shape->shape.vocab;
    for (int i = 0, token = (vocab - 2) | 1; i < shape->draft_vocab; i++, token -= 2) {
        if (token < 0) token = (vocab - 1) & ~1;
        const int64_t written = i == 1 && f->config->bad_token != 0 ? f->config->bad_token : token;
        spec_gguf_writer_data(&f->writer, &written, sizeof written);
    }
    end_tensor(f);
}

void drawn_dflash_write(const char *path, const drawn_dflash_config *config)
{
    file f = {.config = config};
    const spec_dflash_shape *shape = &config->shape;
    const float *factor = shape->shape.rope.opt_factor;
    const int n_factors = shape->shape.head_dim / 2;
    const bool few = shape->draft_vocab < shape->shape.vocab;
    (void)unlink(path);
    assert_works(spec_gguf_writer_init(&f.writer, &error));
    write_values(&f);
    visit(&f, false);
    if (few) spec_gguf_writer_integer_tensor(&f.writer, "d2t", shape->draft_vocab);
    if (factor != NULL)
        spec_gguf_writer_tensor(&f.writer, "rope_freqs.weight", SPEC_TENSOR_F32, 1, n_factors);
    if (config->opt_extra_tensor != NULL)
        spec_gguf_writer_tensor(&f.writer, config->opt_extra_tensor, SPEC_TENSOR_F32, 1, 1);
    assert_works(spec_gguf_writer_open(&f.writer, path, &error));
    visit(&f, true);
    if (few) write_map(&f);
    if (factor != NULL) {
        spec_gguf_writer_data(&f.writer, factor, (size_t)n_factors * sizeof *factor);
        end_tensor(&f);
    }
    if (config->opt_extra_tensor != NULL) {
        spec_gguf_writer_data(&f.writer, &(float){1.0f}, sizeof(float));
        end_tensor(&f);
    }
    assert_works(spec_gguf_writer_close(&f.writer, &error));
    spec_gguf_writer_free(&f.writer);
}

spec_model *drawn_dflash_open(const drawn_dflash_config *config, const char *keys,
                              const spec_model *target)
{
    char path[] = "/tmp/speclab-drawn-dflash-XXXXXX", spec[160];
    spec_model *model = NULL;
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(close(descriptor), 0);
    drawn_dflash_write(path, config);
    snprintf(spec, sizeof spec, "dflash:%s?%s", path, keys[0] != '\0' ? keys : "block=0");
    model = model_of(spec, target);
    assert_int_equal(unlink(path), 0);
    return model;
}
