/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads windows, rotary embeddings and scales from a GGUF file, refuses wrong ones, and writes
 * files that read the same. */
#include "models/transformer/files/gguf_attention.h"
#include "models/transformer/files/gguf_model.h"

#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/speclab-gguf-attention-XXXXXX";

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

enum { LAYERS = 4, EXTRA = 6 };

/* A value besides those of a shape; a text for type TEXT, `n` flags for an array. */
typedef struct {
    const char *key;
    enum { NONE, U32, F32, TEXT, FLAGS, WORDS } type;
    double number;
    const char *text;
    int n;
} extra;

static void add_extra(spec_gguf_writer *writer, const extra *of)
{
    static const bool flags[] = {true, false, false, true, false};
    static const int words[] = {0, 2, 1, 0, 1};
    switch (of->type) {
    case U32: spec_gguf_writer_u32(writer, of->key, (uint32_t)of->number); break;
    case F32: spec_gguf_writer_f32(writer, of->key, (float)of->number); break;
    case TEXT: spec_gguf_writer_text(writer, of->key, of->text); break;
    case FLAGS: spec_gguf_writer_bools(writer, of->key, flags, (size_t)of->n); break;
    case WORDS: spec_gguf_writer_integers(writer, of->key, words, (size_t)of->n); break;
    case NONE: break;
    }
}

/* Writes a model of zeros and reads it. */
static int load(spec_checkpoint *ret, const char *architecture, const extra *value, int layers,
                spec_error *error)
{
    const spec_architecture *of =
        spec_architecture_find((spec_piece){architecture, strlen(architecture)});
    const bool mixes = of->has_experts;
    const spec_shape shape = {.dim = 32,
                              .n_experts = mixes ? 2 : 0,
                              .n_active = mixes ? 1 : 0,
                              .expert_dim = mixes ? 32 : 0,
                              .n_layers = layers,
                              .n_heads = 4,
                              .n_kv_heads = 2,
                              .head_dim = 16,
                              .ffn_dim = 32,
                              .vocab = 8,
                              .context = 64,
                              .norm_eps = 1e-6f,
                              .rope.base = 10000.0};
    static const float zeros[4096];
    spec_gguf_writer writer;
    OWNED(spec_settings) settings;
    char spec[80];
    assert_int_equal(spec_gguf_writer_init(&writer, error), GSL_SUCCESS);
    spec_gguf_model_shape(&writer, architecture, &shape);
    for (int i = 0; i < EXTRA && value[i].key != NULL; i++) add_extra(&writer, &value[i]);
    spec_gguf_writer_text(&writer, "tokenizer.ggml.model", "none");
    for (int data = 0; data < 2; data++) {
        for (int part = 0; part < SPEC_PARTS; part++) {
            int rows, cols;
            char name[SPEC_PART_NAME_SIZE];
            if (!spec_architecture_must(of, (spec_part)part)) continue;
            spec_checkpoint_parts_shape(&rows, &cols, (spec_part)part, &shape);
            for (int l = 0; l < spec_checkpoint_parts_copies((spec_part)part, &shape); l++) {
                spec_checkpoint_parts_name(name, (spec_part)part, l, of);
                const int n = spec_checkpoint_parts_stacked((spec_part)part) ? 2 : 1;
                if (data == 0) {
                    spec_gguf_writer_stack(&writer, name, SPEC_TENSOR_F32, n, rows / n, cols);
                } else {
                    assert_true(rows * cols <= 4096);
                    spec_gguf_writer_data(&writer, zeros, (size_t)(rows * cols) * sizeof *zeros);
                    assert_int_equal(spec_gguf_writer_tensor_end(&writer, error), GSL_SUCCESS);
                }
            }
        }
        if (data == 0) assert_int_equal(spec_gguf_writer_open(&writer, path, error), GSL_SUCCESS);
    }
    assert_int_equal(spec_gguf_writer_close(&writer, error), GSL_SUCCESS);
    spec_gguf_writer_free(&writer);
    snprintf(spec, sizeof spec, "gguf:%s", path);
    assert_int_equal(spec_settings_init(&settings, spec, error), GSL_SUCCESS);
    const int status = spec_checkpoint_load_gguf(ret, &settings, NULL, error);
    return status;
}

static void reads(spec_checkpoint *ret, const char *architecture, const extra *value)
{
    assert_works(load(ret, architecture, value, LAYERS, &error));
}

static void refused(const char *architecture, const extra *value, const char *line)
{
    spec_checkpoint c;
    spec_error error = {""};
    if (load(&c, architecture, value, LAYERS, &error) == GSL_SUCCESS) fail_msg("read: %s", line);
    if (strncmp(error.text, path, strlen(path)) != 0 ||
        strcmp(error.text + strlen(path) + 2, line) != 0)
        fail_msg("'%s' is not '%s'", error.text, line);
}

#define WITH(...) ((const extra[EXTRA]){__VA_ARGS__})

/* ---- reading --------------------------------------------------------------------------------- */

TEST(windows_are_those_of_a_period_or_a_list)
{
    OWNED(spec_checkpoint) c;
    const extra window = {"gemma3.attention.sliding_window", U32, 7, NULL, 0};
    reads(&c, "gemma3", WITH({0}));
    assert_int_equal(c.shape.window, 0);
    assert_true(c.shape.gate == SPEC_GATE_GELU && c.shape.embedding_scale == sqrtf(32.0f));
    assert_true(c.shape.query_scale == 0.0f && c.shape.logit_cap == 0.0f);
    spec_checkpoint_free(&c);
    reads(&c, "gemma3", WITH(window));
    assert_int_equal(c.shape.window, 7);
    for (int i = 0; i < LAYERS; i++) assert_true(c.layer[i].has_window); /* one in six has none */
    assert_true(c.shape.window_rope.base == 10000.0);
    spec_checkpoint_free(&c);
    reads(&c, "gemma3", WITH(window, {"gemma3.attention.sliding_window_pattern", U32, 2, NULL, 0}));
    for (int i = 0; i < LAYERS; i++) assert_int_equal(c.layer[i].has_window, i % 2 == 0);
    spec_checkpoint_free(&c);
    reads(&c, "gemma3",
          WITH(window, {"gemma3.attention.sliding_window_pattern", FLAGS, 0, NULL, LAYERS}));
    for (int i = 0; i < LAYERS; i++) assert_int_equal(c.layer[i].has_window, i % 3 == 0);
    spec_checkpoint_free(&c);
    reads(&c, "gemma3",
          WITH(window, {"gemma3.attention.sliding_window_pattern", WORDS, 0, NULL, LAYERS}));
    for (int i = 0; i < LAYERS; i++) assert_int_equal(c.layer[i].has_window, i == 1 || i == 2);
    spec_checkpoint_free(&c);
    reads(&c, "gemma3", WITH(window, {"gemma3.attention.sliding_window_pattern", U32, 1, NULL, 0}));
    assert_int_equal(c.shape.window, 0); /* no layer has a window */
    spec_checkpoint_free(&c);
    /* every second layer, as in gpt-oss, which has the rotary embedding of the others */
    reads(&c, "gpt-oss",
          WITH({"gpt-oss.attention.sliding_window", U32, 7, NULL, 0},
               {"gpt-oss.rope.scaling.type", TEXT, 0, "yarn", 0},
               {"gpt-oss.rope.scaling.factor", F32, 4, NULL, 0}));
    for (int i = 0; i < LAYERS; i++) assert_int_equal(c.layer[i].has_window, i % 2 == 0);
    assert_true(c.shape.rope.yarn.keeps_fractions && c.shape.window_rope.magnitude > 1.0f);
    assert_memory_equal(c.shape.rope.opt_factor, c.shape.window_rope.opt_factor, 8 * sizeof(float));
}

TEST(ropes_are_scaled_without_a_window_alone)
{
    OWNED(spec_checkpoint) c;
    reads(&c, "gemma3",
          WITH({"gemma3.attention.sliding_window", U32, 7, NULL, 0},
               {"gemma3.rope.scaling.type", TEXT, 0, "linear", 0},
               {"gemma3.rope.scaling.factor", F32, 8, NULL, 0},
               {"gemma3.rope.freq_base_swa", F32, 500, NULL, 0}));
    assert_true(c.shape.rope.base == 10000.0 && c.shape.window_rope.base == 500.0);
    for (int i = 0; i < 8; i++) assert_true(c.shape.rope.opt_factor[i] == 8.0f);
    assert_null(c.shape.window_rope.opt_factor);
    spec_checkpoint_free(&c);
    reads(&c, "qwen3",
          WITH({"qwen3.rope.scaling.type", TEXT, 0, "yarn", 0},
               {"qwen3.rope.scaling.factor", F32, 4, NULL, 0},
               {"qwen3.rope.scaling.original_context_length", U32, 16, NULL, 0}));
    assert_true(fabs((double)c.shape.rope.magnitude - 1.138629436) < 1e-6);
    /* d(32) < 0 is 0, d(1) = 16 ln(16 / 2 pi) / (2 ln 10000) = 0.81 is 1 */
    assert_true(c.shape.rope.opt_factor[0] == 1.0f && c.shape.rope.opt_factor[1] == 4.0f);
    assert_int_equal(c.shape.window, 0);
    spec_checkpoint_free(&c);
    reads(&c, "qwen3",
          WITH({"qwen3.rope.scaling.type", TEXT, 0, "yarn", 0},
               {"qwen3.rope.scaling.factor", F32, 4, NULL, 0},
               {"qwen3.rope.scaling.yarn_beta_fast", F32, 2, NULL, 0},
               {"qwen3.rope.scaling.yarn_beta_slow", F32, 0.1, NULL, 0},
               {"qwen3.rope.scaling.yarn_attn_factor", F32, 0.75, NULL, 0},
               {"qwen3.rope.scaling.attn_factor", F32, 2, NULL, 0}));
    assert_true(c.shape.rope.magnitude == 1.5f);
    assert_true(c.shape.rope.yarn.context == 64 && c.shape.rope.yarn.fast == 2.0);
}

TEST(scales_are_read)
{
    OWNED(spec_checkpoint) c;
    reads(&c, "gemma3",
          WITH({"gemma3.attention.scale", F32, 0.25, NULL, 0},
               {"gemma3.final_logit_softcapping", F32, 30, NULL, 0}));
    assert_true(c.shape.query_scale == 0.25f && c.shape.logit_cap == 30.0f);
    spec_checkpoint_free(&c);
    /* 27B has 62 layers, and scales by 1/sqrt(dim/n_heads), not by 1/sqrt(head_dim) */
    assert_works(load(&c, "gemma3", WITH({0}), 62, &error));
    assert_true(c.shape.query_scale == (float)(1.0 / sqrt(8.0)));
}

TEST(values_that_make_no_sense_are_refused)
{
    const extra window = {"gemma3.attention.sliding_window", U32, 7, NULL, 0},
                yarn = {"qwen3.rope.scaling.type", TEXT, 0, "yarn", 0},
                four = {"qwen3.rope.scaling.factor", F32, 4, NULL, 0};
    refused("gemma3", WITH(window, {"gemma3.attention.sliding_window_pattern", U32, 0, NULL, 0}),
            "the value of 'gemma3.attention.sliding_window_pattern' is not a whole number between "
            "1 and 2147483647");
    refused("gemma3", WITH(window, {"gemma3.attention.sliding_window_pattern", FLAGS, 0, NULL, 5}),
            "'gemma3.attention.sliding_window_pattern' is about 5 layers, not about 4");
    refused("gemma3",
            WITH(window, {"gemma3.attention.sliding_window_pattern", TEXT, 0, "often", 0}),
            "the value of 'gemma3.attention.sliding_window_pattern' is not a whole number between "
            "1 and 2147483647");
    refused("gemma3", WITH({"gemma3.attention.sliding_window", U32, 4294967295.0, NULL, 0}),
            "the value of 'gemma3.attention.sliding_window' is not a whole number between 0 and "
            "2147483647");
    refused("gemma3", WITH(window, {"gemma3.rope.freq_base_swa", F32, 0.27, NULL, 0}),
            "the base of the rotary embedding is 0.27, which is not between 1 and 1e15");
    refused("gemma3", WITH({"gemma3.attention.scale", F32, -1, NULL, 0}),
            "'gemma3.attention.scale' is -1, not a number above 0");
    refused("gemma3", WITH({"gemma3.final_logit_softcapping", F32, INFINITY, NULL, 0}),
            "'gemma3.final_logit_softcapping' is inf, not a number above 0");
    refused("gemma3", WITH({"gemma3.attn_logit_softcapping", F32, 50, NULL, 0}),
            "attention with scores capped at 50 cannot be computed");
    refused("gpt-oss", WITH({0}), "key 'gpt-oss.attention.sliding_window' is missing");
    refused("gpt-oss", WITH({"gpt-oss.attention.sliding_window", U32, 0, NULL, 0}),
            "the value of 'gpt-oss.attention.sliding_window' is not a whole number between 1 and "
            "2147483647");
    refused("qwen3", WITH({"qwen3.attention.sliding_window", U32, 7, NULL, 0}),
            "attention through a sliding window of 7 tokens is not supported");
    refused("qwen3", WITH(yarn, {"qwen3.rope.scaling.factor", F32, 0.5, NULL, 0}),
            "YaRN by a factor of 0.5 is not possible: it must be from 1 to 1048576");
    refused("qwen3", WITH(yarn, {"qwen3.rope.scaling.factor", F32, NAN, NULL, 0}),
            "YaRN by a factor of nan is not possible: it must be from 1 to 1048576");
    refused(
        "qwen3", WITH(yarn, four, {"qwen3.rope.scaling.yarn_beta_fast", F32, 0.5, NULL, 0}),
        "YaRN with beta_fast 0.5 and beta_slow 1 is not possible: beta_slow must be above 0 and "
        "below beta_fast");
    refused("qwen3", WITH(yarn, four, {"qwen3.rope.scaling.yarn_attn_factor", F32, -2, NULL, 0}),
            "YaRN with attention scaled by -2 is not possible");
    refused("qwen3", WITH(yarn, four, {"qwen3.rope.scaling.yarn_ext_factor", F32, 0.5, NULL, 0}),
            "YaRN with an extrapolation of 0.5 is not supported; only 1 is");
    refused("qwen3", WITH(four, {"qwen3.rope.scaling.attn_factor", F32, 0, NULL, 0}),
            "'qwen3.rope.scaling.attn_factor' is 0, not a number above 0");
    refused("qwen3",
            WITH(yarn, four, {"qwen3.rope.scaling.original_context_length", U32, 0, NULL, 0}),
            "the value of 'qwen3.rope.scaling.original_context_length' is not a whole number "
            "between 1 and 2147483647");
}

/* ---- writing --------------------------------------------------------------------------------- */

static void same_rope(const spec_rope *a, const spec_rope *b, int head_dim)
{
    assert_true(a->base == b->base && a->magnitude == b->magnitude);
    assert_true((a->opt_factor == NULL) == (b->opt_factor == NULL));
    if (a->opt_factor != NULL)
        assert_memory_equal(a->opt_factor, b->opt_factor, (size_t)head_dim / 2 * sizeof(float));
}

/* A model with all options is still the same after it is written and read, twice. */
TEST(a_written_model_reads_the_same)
{
    spec_checkpoint first, again;
    spec_settings settings;
    char spec[80];
    int kept;
    snprintf(spec, sizeof spec, "gguf:%s", path);
    for (int is_scaled = 0; is_scaled < 2; is_scaled++) {
        const extra window = {"gemma3.attention.sliding_window", U32, 7, NULL, 0},
                    pattern = {"gemma3.attention.sliding_window_pattern", FLAGS, 0, NULL, LAYERS},
                    base = {"gemma3.rope.freq_base_swa", F32, 500, NULL, 0};
        reads(&first, "gemma3",
              is_scaled
                  ? WITH(window, pattern, base, {"gemma3.rope.scaling.type", TEXT, 0, "yarn", 0},
                         {"gemma3.rope.scaling.factor", F32, 4, NULL, 0},
                         {"gemma3.rope.scaling.yarn_beta_slow", F32, 0.25, NULL, 0})
                  : WITH(window, base, {"gemma3.attention.scale", F32, 0.27, NULL, 0},
                         {"gemma3.final_logit_softcapping", F32, 23.85, NULL, 0}));
        /* the file being read is mapped, and the new one takes its name */
        assert_works(spec_gguf_model_write(&kept, &first, &(spec_gguf_model_vocabulary){0}, path,
                                           NULL, &error));
        assert_works(spec_settings_init(&settings, spec, &error));
        assert_works(spec_checkpoint_load_gguf(&again, &settings, NULL, &error));
        spec_settings_free(&settings);
        const spec_shape *a = &first.shape, *b = &again.shape;
        assert_true(a->window == 7 && b->window == 7 && a->query_scale == b->query_scale &&
                    a->logit_cap == b->logit_cap && a->embedding_scale == b->embedding_scale);
        same_rope(&a->rope, &b->rope, a->head_dim);
        same_rope(&a->window_rope, &b->window_rope, a->head_dim);
        for (int i = 0; i < LAYERS; i++)
            assert_int_equal(first.layer[i].has_window, again.layer[i].has_window);
        spec_checkpoint_free(&first);
        spec_checkpoint_free(&again);
        char old[100];
        for (int i = 1; i <= kept; i++) {
            snprintf(old, sizeof old, i == 1 ? "%s.bak" : "%s.bak%d", path, i);
            unlink(old);
        }
    }
}

SUITE(.setup = make_file, .teardown = remove_file);
