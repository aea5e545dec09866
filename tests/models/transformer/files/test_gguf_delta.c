/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of hybrids: what is written is read back, and values that make no sense are refused. */
#include "models/transformer/files/gguf_delta.h"

#include "base/settings.h"
#include "models/transformer/files/gguf_model.h"
#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);

static char path[] = "hybrid.gguf";

static const odd_form form = {{.dim = 32,
                               .n_layers = 5,
                               .n_heads = 2,
                               .n_kv_heads = 1,
                               .head_dim = 16,
                               .ffn_dim = 24,
                               .vocab = 30,
                               .context = 80,
                               .norm_eps = 1e-6f,
                               .rope.base = 1e4,
                               .rope_pairs = SPEC_ROPE_HALVES,
                               .rotated = 4,
                               .gates_attention = true,
                               .delta = {.n_layers = 3,
                                         .n_key_heads = 2,
                                         .n_value_heads = 4,
                                         .key_dim = 8,
                                         .value_dim = 12,
                                         .kernel = 3,
                                         .is_tiled = true}},
                              .tied = true,
                              .normed_heads = true,
                              .recurrent_period = 2};

static void write_form(spec_checkpoint *model, const odd_form *of)
{
    int kept;
    make_odd_checkpoint(model, of, SPEC_TENSOR_F32);
    model->opt_architecture = spec_architecture_find((spec_piece){"qwen35", 6});
    assert_works(
        spec_gguf_model_write(&kept, model, &(spec_gguf_model_vocabulary){0}, path, NULL, &error));
}

static int load(spec_checkpoint *ret, spec_error *error)
{
    spec_settings settings = {.name = "gguf", .path = path};
    return spec_checkpoint_load_gguf(ret, &settings, NULL, error);
}

TEST(what_is_written_of_a_hybrid_is_read)
{
    OWNED(spec_checkpoint) written;
    OWNED(spec_checkpoint) read;
    spec_error error = {""};
    write_form(&written, &form);
    if (load(&read, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    const spec_delta_shape *a = &written.shape.delta, *b = &read.shape.delta;
    assert_true(a->n_layers == b->n_layers && a->n_key_heads == b->n_key_heads &&
                a->n_value_heads == b->n_value_heads && a->key_dim == b->key_dim &&
                a->value_dim == b->value_dim && a->kernel == b->kernel &&
                a->is_tiled == b->is_tiled);
    assert_true(read.shape.gates_attention && read.shape.rotated == 4);
    for (int layer = 0; layer < form.shape.n_layers; layer++)
        assert_int_equal(read.layer[layer].is_recurrent, layer % 2 == 0);
    for (int i = 0; i < SPEC_PARTS; i++)
        for (int l = 0; l < spec_checkpoint_parts_copies((spec_part)i, &read.shape); l++) {
            const spec_tensor *from = spec_checkpoint_parts_tensor_const((spec_part)i, &written, l),
                              *to = spec_checkpoint_parts_tensor_const((spec_part)i, &read, l);
            assert_int_equal(from->data != NULL, to->data != NULL);
            if (to->data == NULL) continue;
            assert_true(from->rows == to->rows && from->cols == to->cols);
            assert_memory_equal(from->data, to->data,
                                (size_t)to->rows * (size_t)to->cols * sizeof(float));
        }
}

/* Overwrites bytes `at` bytes after a key of the file. */
static void change(const char *key, size_t at, const void *bytes, size_t n)
{
    static char image[1 << 20];
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    const size_t size = fread(image, 1, sizeof image, file);
    char *found = memmem(image, size, key, strlen(key));
    assert_non_null(found);
    assert_int_equal(fseek(file, found - image + (long)(strlen(key) + at), SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

TEST(values_of_recurrent_layers_that_make_no_sense_are_refused)
{
    enum { NUMBER = 4, FLAGS = 4 + 4 + 8 }; /* after a type; after that of an array and its size */
    static const struct {
        const char *key;
        uint32_t value;
        const char *expected;
    } numbers[] = {
        {"qwen35.ssm.conv_kernel", 0,
         "'qwen35.ssm.conv_kernel' is not a whole number between 1 and 16"},
        {"qwen35.ssm.conv_kernel", 17,
         "'qwen35.ssm.conv_kernel' is not a whole number between 1 and 16"},
        {"qwen35.ssm.conv_kernel", 4, "tensor 'blk.0.ssm_conv1d.weight'"},
        {"qwen35.ssm.state_size", 4000,
         "'qwen35.ssm.state_size' is not a whole number between 1 and 256"},
        {"qwen35.ssm.inner_size", 47, "47 values ('qwen35.ssm.inner_size') cannot be those of 4"},
        {"qwen35.ssm.group_count", 3, "4 value heads cannot share 3 key heads evenly"},
        {"qwen35.rope.dimension_count", 5, "5 of the 16 dimensions of a head cannot rotate"},
    };
    spec_error error = {""};
    for (size_t i = 0; i <= sizeof numbers / sizeof *numbers; i++) {
        OWNED(spec_checkpoint) written;
        OWNED(spec_checkpoint) read;
        const char *expected = "none of the layers of this qwen35 model is recurrent";
        write_form(&written, &form);
        if (i < sizeof numbers / sizeof *numbers) {
            change(numbers[i].key, NUMBER, &numbers[i].value, sizeof numbers[i].value);
            expected = numbers[i].expected;
        } else {
            change("qwen35.attention.recurrent_layers", FLAGS, (const char[5]){0}, 5);
        }
        assert_int_equal(load(&read, &error), GSL_EINVAL);
        if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    }
}

TEST(a_file_that_does_not_say_which_layers_are_recurrent_has_three_of_four)
{
    odd_form three_of_four = form;
    OWNED(spec_checkpoint) written;
    OWNED(spec_checkpoint) read;
    spec_error error = {""};
    three_of_four.shape.delta.n_layers = three_of_four.recurrent_period = 4; /* of 5 layers */
    write_form(&written, &three_of_four);
    change("qwen35.attention.recurrent_layer", 0, "?", 1);
    if (load(&read, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    assert_int_equal(read.shape.delta.n_layers, 4);
    for (int layer = 0; layer < form.shape.n_layers; layer++)
        assert_int_equal(read.layer[layer].is_recurrent, layer != 3);
}
