/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model written as GGUF is the same model: weights up to the rounding of their type, shape,
 * vocabulary and values. */
#include "models/transformer/files/gguf_writer.h"
#include "tests/models/transformer/files/conversion_case.h"
#include "tests/support/support.h"

#include "models/model.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(a_model_of_llama2c_becomes_the_same_of_gguf)
{
    static const char *const file[] = {"tied.bin", "untied.bin"};
    for (int has_output = 0; has_output < 2; has_output++) {
        for (const spec_type_recipe *recipe = spec_type_recipes; recipe->name != NULL; recipe++) {
            spec_checkpoint before, after;
            spec_conversion counted;
            const char *spec = spec_of("llama2c", file[has_output]);
            assert_works(convert_by(&counted, in_folder("a.gguf"), spec, recipe, &error));
            load(&before, spec);
            load(&after, spec_of("gguf", "a.gguf"));
            assert_same_model(&before, &after,
                              recipe->mixture == SPEC_MIXTURE_NONE ? recipe->type
                                                                   : SPEC_TENSOR_TYPES);
            spec_checkpoint_free(&before);
            spec_checkpoint_free(&after);
        }
    }
}

/* The keys of a spec are converted too: end of text, context, another tokenizer or none. */
TEST(keys_of_a_spec_are_carried_over)
{
    OWNED(spec_checkpoint) after;
    spec_conversion counted;
    char spec[256];
    snprintf(spec, sizeof spec, "%s?end=-1&context=4&tokenizer=", spec_of("llama2c", "tied.bin"));
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    load(&after, spec_of("gguf", "a.gguf"));
    assert_int_equal(after.ends.n, 0);
    assert_int_equal(after.begin_of_text, 1);
    assert_true(after.adds_begin);
    assert_int_equal(after.shape.context, 4);
    assert_null(after.opt_tokenizer);
}

static char *bytes_of(const char *name, size_t *ret_n)
{
    FILE *file = fopen(in_folder(name), "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 20);
    *ret_n = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void assert_same_file(const char *a, const char *b)
{
    size_t n, m;
    char *x = bytes_of(a, &n), *y = bytes_of(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* Q8_0 made from the model's F32 file equals Q8_0 made from the model, byte for byte; converting
 * from Q8_0 does not round again. */
TEST(conversion_keeps_all_values_of_gguf)
{
    spec_conversion counted;
    const int threads = omp_get_max_threads();
    const char *spec = spec_of("llama2c", "untied.bin");
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_F32, NULL), 0);
    assert_int_equal(
        convert(&counted, in_folder("b.gguf"), spec_of("gguf", "a.gguf"), SPEC_TENSOR_F32, NULL),
        0);
    spec_checkpoint a, b;
    load(&a, spec_of("gguf", "a.gguf"));
    load(&b, spec_of("gguf", "b.gguf"));
    assert_same_model(&a, &b, SPEC_TENSOR_F32);
    spec_checkpoint_free(&a);
    spec_checkpoint_free(&b);
    omp_set_num_threads(3);
    assert_int_equal(
        convert(&counted, in_folder("b.gguf"), spec_of("gguf", "a.gguf"), SPEC_TENSOR_Q8_0, NULL),
        0);
    omp_set_num_threads(1);
    assert_int_equal(
        convert(&counted, in_folder("c.gguf"), spec_of("gguf", "a.gguf"), SPEC_TENSOR_Q8_0, NULL),
        0);
    assert_same_file("b.gguf", "c.gguf");
    omp_set_num_threads(threads);
    assert_int_equal(
        convert(&counted, in_folder("c.gguf"), spec_of("gguf", "b.gguf"), SPEC_TENSOR_Q8_0, NULL),
        0);
    load(&a, spec_of("gguf", "b.gguf"));
    load(&b, spec_of("gguf", "c.gguf"));
    assert_same_model(&a, &b, SPEC_TENSOR_Q8_0);
    spec_checkpoint_free(&a);
    spec_checkpoint_free(&b);
}

TEST(quantisation_errors_are_counted)
{
    spec_conversion counted;
    spec_checkpoint before, after;
    double squared_error = 0.0, squared = 0.0, worst = 0.0;
    const char *spec = spec_of("llama2c", "untied.bin");
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_Q4_0, NULL),
                     GSL_SUCCESS);
    const spec_conversion_count *blocks = &counted.count[SPEC_TENSOR_F32][SPEC_TENSOR_Q4_0];
    const spec_conversion_count *floats = &counted.count[SPEC_TENSOR_F32][SPEC_TENSOR_F32];
    assert_int_equal(blocks->tensors, 2 + 6 * LAYERS);
    assert_int_equal(floats->tensors, 1 + 3 * LAYERS);
    assert_int_equal(blocks->weights,
                     2 * VOCAB * DIM + LAYERS * (2 * DIM * DIM + DIM * DIM + 2 * FFN * DIM));
    assert_int_equal(floats->weights, DIM + LAYERS * (2 * DIM + DIM * FFN));
    assert_int_equal(blocks->bytes_before, 4 * blocks->weights);
    assert_int_equal(blocks->bytes_after, blocks->weights / 32 * 18);
    assert_int_equal(floats->bytes_after, 4 * floats->weights);
    assert_true(floats->squared_error == 0.0 && floats->error_max == 0.0 && floats->squared > 0.0);

    load(&before, spec);
    load(&after, spec_of("gguf", "a.gguf"));
    for (int i = 0; i < SPEC_PARTS; i++) {
        for (int layer = 0; layer < spec_checkpoint_parts_copies((spec_part)i, &before.shape);
             layer++) {
            const spec_tensor *x = spec_checkpoint_parts_tensor_const((spec_part)i, &before, layer);
            const spec_tensor *y = spec_checkpoint_parts_tensor_const((spec_part)i, &after, layer);
            double most = 0.0, largest = 0.0;
            if (x->data == NULL || y->type != SPEC_TENSOR_Q4_0) continue;
            for (int row = 0; row < x->rows; row++) {
                float a[VOCAB], b[VOCAB];
                spec_tensor_decode_row(a, x, row);
                spec_tensor_decode_row(b, y, row);
                for (int c = 0; c < x->cols; c++) {
                    const double error = fabs((double)a[c] - (double)b[c]);
                    squared_error += error * error;
                    squared += (double)a[c] * (double)a[c];
                    most = fmax(most, error);
                    largest = fmax(largest, fabs((double)a[c]));
                }
            }
            worst = fmax(worst, most / largest);
        }
    }
    assert_true(fabs(squared_error / blocks->squared_error - 1.0) < 1e-12);
    assert_true(fabs(squared / blocks->squared - 1.0) < 1e-12);
    assert_true(worst == blocks->error_max);
    spec_checkpoint_free(&before);
    spec_checkpoint_free(&after);
}

static void fails(const char *out, const char *spec, spec_tensor_type type, const char *line)
{
    spec_conversion counted;
    spec_error error = {""};
    assert_int_not_equal(convert(&counted, out, spec, type, &error), GSL_SUCCESS);
    if (strstr(error.text, line) == NULL) fail_msg("'%s' lacks '%s'", error.text, line);
    assert_int_equal(counted.count[SPEC_TENSOR_F32][SPEC_TENSOR_F32].tensors, 0);
}

TEST(the_model_itself_is_never_written_over)
{
    size_t before, after;
    free(bytes_of("tied.bin", &before));
    assert_int_equal(symlink(in_folder("tied.bin"), in_folder("link.gguf")), 0);
    fails(in_folder("tied.bin"), spec_of("llama2c", "tied.bin"), SPEC_TENSOR_F32,
          "is the model's own file");
    fails(in_folder("link.gguf"), spec_of("llama2c", "tied.bin"), SPEC_TENSOR_F32,
          "is the model's own file");
    fails(in_folder("tied.bin"), spec_of("llama2c", "link.gguf"), SPEC_TENSOR_F32,
          "is the model's own file");
    unlink(in_folder("link.gguf"));
    assert_int_equal(link(in_folder("tied.bin"), in_folder("link.gguf")), 0);
    fails(in_folder("link.gguf"), spec_of("llama2c", "tied.bin"), SPEC_TENSOR_F32,
          "is the model's own file");
    free(bytes_of("tied.bin", &after));
    assert_int_equal(before, after);
}

TEST(failed_writes_leave_no_file)
{
    const char *spec = spec_of("llama2c", "tied.bin");
    fails(folder, spec, SPEC_TENSOR_F32, "exists, and is not a regular file");
    fails("/dev/null", spec, SPEC_TENSOR_F32, "/dev/null: exists, and is not a regular file");
    fails(in_folder("none/a.gguf"), spec, SPEC_TENSOR_F32, "a.gguf: No such file or directory");
    fails(in_folder("a.gguf"), spec_of("llama2c", "none.bin"), SPEC_TENSOR_F32,
          "none.bin: No such file or directory");
    fails(in_folder("a.gguf"), spec_of("gguf", "tied.bin"), SPEC_TENSOR_F32,
          "tied.bin: is not a GGUF file");

    /* A weight of 1e6 exceeds F16, as does a scale of 1e7 / 127; BF16 holds both. The previous file
     * stays. */
    size_t n;
    char *bytes = bytes_of("tied.bin", &n);
    memcpy(bytes + 28 + 5 * 4, &(float){1e7f}, 4);
    FILE *file = fopen(in_folder("huge.bin"), "wb");
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
    free(bytes);
    spec_conversion counted;
    assert_int_equal(convert(&counted, in_folder("c.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    assert_int_equal(convert(&counted, in_folder("b.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    fails(in_folder("b.gguf"), spec_of("llama2c", "huge.bin"), SPEC_TENSOR_F16,
          "b.gguf: token_embd.weight has weights beyond the range of f16");
    fails(in_folder("b.gguf"), spec_of("llama2c", "huge.bin"), SPEC_TENSOR_Q8_0,
          "b.gguf: token_embd.weight has weights beyond the range of q8_0");
    fails(in_folder("b.gguf"), spec_of("llama2c", "huge.bin"), SPEC_TENSOR_Q5_1,
          "b.gguf: token_embd.weight has weights beyond the range of q5_1");
    assert_same_file("b.gguf", "c.gguf");
    assert_int_equal(convert(&counted, in_folder("b.gguf"), spec_of("llama2c", "huge.bin"),
                             SPEC_TENSOR_BF16, NULL),
                     0);
}

TEST(an_interrupted_conversion_leaves_nothing_behind)
{
    OWNED(spec_settings) settings;
    spec_conversion counted;
    const volatile int stop = 1;
    unlink(in_folder("b.gguf"));
    assert_int_equal(spec_settings_init(&settings, spec_of("llama2c", "tied.bin"), NULL),
                     GSL_SUCCESS);
    assert_fails(spec_conversion_write(&counted, in_folder("b.gguf"), &settings,
                                       spec_type_recipe_find("f32"),
                                       &(spec_conversion_watch){.opt_stop = &stop}, &error),
                 GSL_EFAILED, "interrupted");
    assert_int_not_equal(access(in_folder("b.gguf"), F_OK), 0);
}

typedef struct {
    uint64_t bytes;
    double share;
    bool refuses;
} audience;

static int hear_bytes(void *self, uint64_t bytes, spec_error *error)
{
    audience *of = self;
    of->bytes = bytes;
    return of->refuses ? spec_fail(error, GSL_EFAILED, "too much") : GSL_SUCCESS;
}

static void hear_share(void *self, double share)
{
    audience *of = self;
    assert_true(share >= of->share && share <= 1.0);
    of->share = share;
}

TEST(its_size_is_announced_to_the_byte_and_may_be_refused)
{
    static const spec_tensor_type types[] = {SPEC_TENSOR_F32, SPEC_TENSOR_Q8_0, SPEC_TENSOR_Q4_0};
    OWNED(spec_settings) settings;
    spec_conversion counted;
    audience of = {0};
    const spec_listener listener = {hear_share, &of};
    const spec_conversion_watch watch = {
        .opt_announce = hear_bytes, .opt_listener = &listener, .self = &of};
    assert_int_equal(spec_settings_init(&settings, spec_of("llama2c", "untied.bin"), NULL),
                     GSL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        struct stat info;
        of = (audience){0};
        assert_works(spec_conversion_write(&counted, in_folder("b.gguf"), &settings,
                                           spec_type_recipe_find(spec_tensor_type_names[types[i]]),
                                           &watch, &error));
        assert_int_equal(stat(in_folder("b.gguf"), &info), 0);
        assert_int_equal(of.bytes, info.st_size);
        assert_true(of.share > 0.9);
    }
    unlink(in_folder("b.gguf"));
    of = (audience){.refuses = true};
    assert_fails(spec_conversion_write(&counted, in_folder("b.gguf"), &settings,
                                       spec_type_recipe_find("f32"), &watch, &error),
                 GSL_EFAILED, "too much");
    assert_int_not_equal(access(in_folder("b.gguf"), F_OK), 0);
}

SUITE(.setup = make_models, .teardown = remove_models);
