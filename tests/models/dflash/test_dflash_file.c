/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dflash file is read as it was written; a wrong file is refused in one line. */
#include "models/dflash/dflash_file.h"
#include "models/transformer/files/gguf_writer.h"
#include "tests/support/drawn_dflash.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

enum { VOCAB = 11, DIM = 16 };

static char path[] = "/tmp/speclab-dflash-XXXXXX";
static const spec_checkpoint target = {.shape = {.dim = DIM,
                                                 .n_layers = 4,
                                                 .n_heads = 4,
                                                 .n_kv_heads = 2,
                                                 .head_dim = 4,
                                                 .ffn_dim = 24,
                                                 .vocab = VOCAB,
                                                 .context = 32,
                                                 .norm_eps = 1e-5f,
                                                 .rope.base = 1e4,
                                                 .embedding_scale = 4.0f,
                                                 .window = 8}};

static int make_path(void **state)
{
    (void)state;
    const int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void refuse(const spec_checkpoint *to, const char *expected)
{
    spec_dflash read;
    spec_error error = {""};
    assert_int_equal(spec_dflash_file_load(&read, path, to, &error), GSL_EINVAL);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_memory_equal(error.text, path, sizeof path - 1);
    assert_null(strchr(error.text, '\n'));
    assert_null(read.owned);
    assert_null(read.opt_token);
}

static void reject(const drawn_dflash_config *config, const char *expected)
{
    drawn_dflash_write(path, config);
    refuse(&target, expected);
}

static drawn_dflash_config drawn(spec_dflash_kind kind)
{
    return drawn_dflash(kind, &target.shape);
}

/* ---- what is read ---------------------------------------------------------------------------- */

TEST(a_file_is_read_as_it_says)
{
    for (int kind = SPEC_DFLASH_PLAIN; kind <= SPEC_DFLASH_LATTICE; kind++) {
        drawn_dflash_config config = drawn((spec_dflash_kind)kind);
        OWNED(spec_dflash) read;
        config.shape.shape.logit_cap = 30.0f;
        config.shape.window = 5;
        config.shape.draft_vocab = 5;
        config.lacks &= ~(UINT64_C(1) << SPEC_DFLASH_OUTPUT);
        drawn_dflash_write(path, &config);
        assert_works(spec_dflash_file_load(&read, path, &target, &error));
        const spec_dflash_shape *shape = &read.shape;
        assert_int_equal(shape->kind, kind);
        assert_int_equal(shape->shape.n_layers, 2);
        assert_int_equal(shape->shape.n_heads, 2);
        assert_int_equal(shape->shape.context, target.shape.context);
        assert_int_equal(shape->shape.rope_pairs, SPEC_ROPE_HALVES);
        assert_true(shape->shape.embedding_scale == 0.0f && shape->shape.window == 0);
        assert_true(shape->shape.query_scale == 0.0f && shape->value_scale == 1.0f);
        assert_true(shape->shape.logit_cap == 30.0f && shape->logit_scale == 1.0f);
        assert_int_equal(shape->window, 5);
        assert_true(!shape->windowed[0] && shape->windowed[1]);
        assert_int_equal(shape->block, 4);
        assert_int_equal(shape->mask, VOCAB - 2);
        assert_int_equal(spec_dflash_reach(shape), kind == SPEC_DFLASH_MARKOV ? 4 : 3);
        assert_int_equal(shape->markov_rank, kind == SPEC_DFLASH_MARKOV ? 3 : 0);
        assert_int_equal(shape->draft_vocab, 5);
        for (int i = 0; i < 5; i++) assert_int_equal(read.opt_token[i], 9 - 2 * i);
        for (int part = 0; part < SPEC_DFLASH_PARTS; part++)
            for (int i = 0; i < SPEC_DFLASH_LAYERS_MAX; i++) {
                const bool has = i < spec_dflash_copies((spec_dflash_part)part, shape) &&
                                 (config.lacks >> part & 1) == 0;
                assert_int_equal(read.tensor[part][i].data != NULL, has);
            }
    }
}

/* ---- wrong files ----------------------------------------------------------------------------- */

TEST(another_target_is_refused)
{
    const drawn_dflash_config config = drawn(SPEC_DFLASH_PLAIN);
    spec_checkpoint other = target;
    drawn_dflash_write(path, &config);
    other.shape.vocab = 12;
    refuse(&other, "is for a vocabulary of 11 tokens, but the target has 12");
    other = target;
    other.shape.dim = 32;
    refuse(&other, "'dflash.embedding_length' is 16, but the target's is 32");
    other = target;
    other.shape.n_layers = 3;
    refuse(&other, "reads the target after layer 4, which is not within 0..3");
}

TEST(a_lacking_value_is_named)
{
    static const struct {
        spec_dflash_kind kind;
        const char *key, *expected;
    } lacking[] = {
        {SPEC_DFLASH_PLAIN, "dflash.embedding_length", "is missing"},
        {SPEC_DFLASH_PLAIN, "dflash.block_count", "is missing"},
        {SPEC_DFLASH_PLAIN, "dflash.feed_forward_length", "is missing"},
        {SPEC_DFLASH_PLAIN, "dflash.attention.head_count", "is missing"},
        {SPEC_DFLASH_PLAIN, "dflash.attention.layer_norm_rms_epsilon", "is missing"},
        {SPEC_DFLASH_PLAIN, "dflash.target_layers", "lists 0 layers of the target, not 1 to 16"},
        {SPEC_DFLASH_PLAIN, "tokenizer.ggml.mask_token_id", "is missing"},
        {SPEC_DFLASH_MARKOV, "dflash.block_size", "is missing"},
        {SPEC_DFLASH_LATTICE, "dflash.selector_rank", "is missing"},
        {SPEC_DFLASH_LATTICE, "dflash.selector_top_k", "is missing"},
        {SPEC_DFLASH_LATTICE, "dflash.conv_kernel_size", "is missing"},
        {SPEC_DFLASH_LATTICE, "dflash.conv_group_size", "is missing"},
        {SPEC_DFLASH_PLAIN, "dflash.attention.sliding_window_pattern",
         "does not say which layers have a window"},
    };
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        drawn_dflash_config config = drawn(lacking[i].kind);
        config.shape.window = 5;
        config.opt_lacks_key = lacking[i].key;
        reject(&config, lacking[i].expected);
        refuse(&target, lacking[i].key);
    }
    drawn_dflash_config config = drawn(SPEC_DFLASH_PLAIN);
    OWNED(spec_dflash) read;
    config.opt_lacks_key = "dflash.block_size"; /* llama.cpp's default */
    drawn_dflash_write(path, &config);
    assert_works(spec_dflash_file_load(&read, path, &target, &error));
    assert_int_equal(read.shape.block, 16);
}

#define REJECT(kind, change, expected)                                                             \
    do {                                                                                           \
        drawn_dflash_config config = drawn(kind);                                                  \
        spec_dflash_shape *shape = &config.shape;                                                  \
        change;                                                                                    \
        (void)shape;                                                                               \
        reject(&config, expected);                                                                 \
    } while (0)

TEST(values_out_of_range_are_refused)
{
    REJECT(SPEC_DFLASH_PLAIN, shape->block = 1,
           "'dflash.block_size' is 1, which is not within 2..64");
    REJECT(SPEC_DFLASH_PLAIN, shape->block = 65,
           "'dflash.block_size' is 65, which is not within 2..64");
    REJECT(SPEC_DFLASH_MARKOV, shape->block = 0,
           "'dflash.block_size' is 0, which is not within 1..64");
    REJECT(SPEC_DFLASH_PLAIN, shape->tap[0] = 5, "after layer 5, which is not within 0..4");
    REJECT(SPEC_DFLASH_PLAIN, shape->tap[1] = -1, "after layer -1, which is not within 0..4");
    REJECT(SPEC_DFLASH_PLAIN, shape->mask = VOCAB, "tokenizer.ggml.mask_token_id");
    REJECT(SPEC_DFLASH_PLAIN, shape->shape.n_kv_heads = 3, "the number of key-value heads is 3");
    REJECT(SPEC_DFLASH_PLAIN, shape->shape.head_dim = 5, "head");
    REJECT(SPEC_DFLASH_PLAIN, shape->shape.n_layers = 33, "dflash.block_count");
    REJECT(SPEC_DFLASH_PLAIN, shape->shape.logit_cap = -2.0f, "is -2, not a number above 0");
    REJECT(SPEC_DFLASH_PLAIN, shape->shape.embedding_scale = 1e7f,
           "'dflash.embedding_scale' is 1e+07");
    REJECT(SPEC_DFLASH_LATTICE, shape->candidates = VOCAB + 1,
           "'dflash.selector_top_k' is 12, and its vocabulary has 11 tokens");
    REJECT(SPEC_DFLASH_LATTICE, shape->candidates = 257, "dflash.selector_top_k");
    REJECT(SPEC_DFLASH_LATTICE, shape->kernel = 65, "dflash.conv_kernel_size");
    REJECT(SPEC_DFLASH_LATTICE, shape->group = 3,
           "'dflash.conv_group_size' is 3, which does not divide the width 16");
}

TEST(wrong_tensors_are_refused)
{
    const uint64_t key = UINT64_C(1) << SPEC_DFLASH_KEY, output = UINT64_C(1) << SPEC_DFLASH_OUTPUT;
    REJECT(SPEC_DFLASH_PLAIN, config.lacks |= key, "tensor 'blk.0.attn_k.weight' is missing");
    REJECT(SPEC_DFLASH_PLAIN, config.opt_extra_tensor = "markov_w2.weight",
           "tensor 'markov_w2.weight' is not one of a draft of dflash");
    REJECT(SPEC_DFLASH_PLAIN, config.opt_extra_tensor = "conf_proj.bias",
           "tensor 'conf_proj.bias' is not one of a draft of dflash");
    REJECT(SPEC_DFLASH_MARKOV, config.opt_extra_tensor = "selector_hidden.weight",
           "has both a Markov head and a selector, but a draft has only one of them");
    REJECT(SPEC_DFLASH_PLAIN, config.not_finite = true,
           "row 0 of blk.0.ffn_down.weight has a weight that is not finite");
    REJECT(SPEC_DFLASH_PLAIN, shape->draft_vocab = 5,
           "tensor 'output.weight' is missing, which a vocabulary of 5 tokens needs");
    REJECT(SPEC_DFLASH_PLAIN,
           (config.lacks &= ~output, shape->draft_vocab = 5, config.bad_token = VOCAB),
           "row 1 of its output is token 11, which the target does not have");
    REJECT(SPEC_DFLASH_PLAIN,
           (config.lacks &= ~output, shape->draft_vocab = 5, config.bad_token = -3),
           "row 1 of its output is token -3, which the target does not have");
    REJECT(SPEC_DFLASH_PLAIN,
           (config.lacks &= ~output, shape->draft_vocab = 5, config.bad_token = 9),
           "row 1 of its output is token 9, which occurs twice");
    REJECT(SPEC_DFLASH_PLAIN, config.opt_extra_tensor = "d2t",
           "tensor 'd2t' is not a list of at most 11 tokens of type I64");
}

/* Writes a file that has only these values. */
static void write_values(const char *architecture, const char *key, uint32_t value)
{
    OWNED(spec_gguf_writer) writer;
    assert_int_equal(unlink(path), 0);
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_writer_text(&writer, "general.architecture", architecture);
    spec_gguf_writer_u32(&writer, key, value);
    spec_gguf_writer_tensor(&writer, "x", SPEC_TENSOR_F32, 1, 1);
    assert_works(spec_gguf_writer_open(&writer, path, &error));
    spec_gguf_writer_data(&writer, &(float){1.0f}, sizeof(float));
    assert_works(spec_gguf_writer_tensor_end(&writer, &error));
    assert_works(spec_gguf_writer_close(&writer, &error));
}

TEST(what_cannot_be_read_is_refused_by_name)
{
    write_values("llama", "x", 1);
    refuse(&target, "is of architecture 'llama', not a draft of dflash");
    write_values("dflash", "dflash.hyper_connection.count", 4);
    refuse(&target, "a backbone of DeepSeek-V4, with 4 hyper connections, is not supported");
    write_values("dflash", "dflash.expert_count", 8);
    refuse(&target, "is a mixture of 8 experts, which is not supported");
    REJECT(SPEC_DFLASH_PLAIN, config.opt_architecture = "eagle3", "not a draft of dflash");
}

SUITE(.setup = make_path, .teardown = remove_path);
