/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model written as GGUF is the same model: weights up to the rounding of their type, shape,
 * vocabulary and values. */
#include "base/new_file.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/conversion.h"
#include "models/transformer/files/gguf_writer.h"

#include "base/noise.h"
#include "models/model.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A width that is a multiple of a block, and a feed-forward width that is not. */
enum { DIM = 64, FFN = 80, LAYERS = 2, HEADS = 4, KV_HEADS = 2, VOCAB = 300, CONTEXT = 6 };

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[16][128];
    static int next;
    char *room = path[next++ % 16];
    snprintf(room, sizeof path[0], "%s/%s", folder, name);
    return room;
}

static void put_tokenizer(void)
{
    FILE *file = fopen(in_folder("tokenizer.bin"), "wb");
    assert_non_null(file);
    fwrite(&(int32_t){8}, 4, 1, file);
    for (int i = 0; i < VOCAB; i++) {
        char piece[16];
        if (i < 3)
            strcpy(piece, i == 0 ? "<unk>" : i == 1 ? "\n<s>\n" : "\n</s>\n");
        else if (i < 259)
            snprintf(piece, sizeof piece, "<0x%02X>", i - 3);
        else if (i < 285)
            snprintf(piece, sizeof piece, "%c", 'a' + i - 259);
        else
            snprintf(piece, sizeof piece, i == 285 ? " " : " %c", 'a' + i - 286);
        fwrite(&(float){0.5f - (float)i}, 4, 1, file);
        fwrite(&(int32_t){(int32_t)strlen(piece)}, 4, 1, file);
        fwrite(piece, 1, strlen(piece), file);
    }
    assert_int_equal(fclose(file), 0);
}

static int make_models(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/speclab-conversion-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    put_tokenizer();
    for (int has_output = 0; has_output < 2; has_output++) {
        const int32_t head[] = {DIM,    FFN, LAYERS, HEADS, KV_HEADS, has_output ? -VOCAB : VOCAB,
                                CONTEXT};
        FILE *file = fopen(in_folder(has_output ? "untied.bin" : "tied.bin"), "wb");
        if (file == NULL) return -1;
        fwrite(head, sizeof head, 1, file);
        const int n =
            (has_output ? 2 : 1) * VOCAB * DIM + CONTEXT * DIM / HEADS + DIM +
            LAYERS * (2 * DIM + 2 * DIM * DIM + 2 * DIM * (DIM / HEADS) * KV_HEADS + 3 * FFN * DIM);
        for (int i = 0; i < n; i++) {
            const float weight =
                (float)((double)(spec_noise_word(42, (uint64_t)i) >> 11) * 0x1p-53 - 0.5);
            fwrite(&weight, sizeof weight, 1, file);
        }
        if (fclose(file) != 0) return -1;
    }
    return 0;
}

static int remove_models(void **state)
{
    (void)state;
    static const char *const files[] = {"tokenizer.bin", "tied.bin", "untied.bin", "a.gguf",
                                        "b.gguf",        "c.gguf",   "link.gguf",  "huge.bin"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) unlink(in_folder(files[i]));
    for (const char *name = "abc"; *name != '\0'; name++) {
        bool more = true;
        for (int i = 1; more; i++) { /* older files are kept under consecutive numbers */
            char path[8] = {*name, '.', 'g', 'g', 'u', 'f'},
                 *former = spec_new_file_former(in_folder(path), i);
            more = unlink(former) == 0;
            free(former);
        }
    }
    return rmdir(folder); /* fails if an unfinished file is left */
}

static int convert_by(spec_conversion *ret, const char *out, const char *spec,
                      const spec_type_recipe *recipe, spec_error *error)
{
    spec_settings settings;
    assert_int_equal(spec_settings_init(&settings, spec, error), GSL_SUCCESS);
    const spec_conversion_watch watch = {.opt_pool = spec_test_pool(0)};
    const int status = spec_conversion_write(ret, out, &settings, recipe, &watch, error);
    spec_settings_free(&settings);
    return status;
}

static int convert(spec_conversion *ret, const char *out, const char *spec, spec_tensor_type type,
                   spec_error *error)
{
    return convert_by(ret, out, spec, spec_type_recipe_of_type(type), error);
}

static const char *spec_of(const char *kind, const char *name)
{
    static char spec[16][160];
    static int next;
    char *room = spec[next++ % 16];
    snprintf(room, sizeof spec[0], "%s:%s", kind, in_folder(name));
    return room;
}

static void load(spec_checkpoint *ret, const char *spec)
{
    spec_settings settings;
    spec_error error = {""};
    assert_int_equal(spec_settings_init(&settings, spec, &error), GSL_SUCCESS);
    if ((strncmp(spec, "gguf", 4) == 0 ? spec_checkpoint_load_gguf : spec_checkpoint_load_llama2c)(
            ret, &settings, spec_test_pool(0), &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    spec_settings_free(&settings);
}

/* The expected value of a converted weight, by the types' own conversions. */
static void assert_row(const spec_tensor *before, const spec_tensor *after, int row)
{
    float wanted[VOCAB], found[VOCAB];
    unsigned char bytes[4 * VOCAB];
    spec_tensor_decode_row(wanted, before, row);
    spec_tensor_row_write(bytes, after->type, wanted, before->cols);
    spec_tensor_decode_row(wanted, &(spec_tensor){after->type, 1, before->cols, bytes}, 0);
    spec_tensor_decode_row(found, after, row);
    assert_memory_equal(found, wanted, (size_t)before->cols * sizeof *found);
}

/* The type of a matrix whose rows of 64 or 80 weights fill no block of 256, and of 80 none of 32.
 */
static spec_tensor_type type_that_fits(spec_tensor_type type, int cols)
{
    const bool is_wide = spec_tensor_block_weights(type) == 256;
    if (!spec_tensor_is_quantised(type) || (!is_wide && cols % 32 == 0)) return type;
    if (cols % 32 != 0) return is_wide ? SPEC_TENSOR_F16 : SPEC_TENSOR_F32;
    return type == SPEC_TENSOR_Q4_K   ? SPEC_TENSOR_Q5_0
           : type == SPEC_TENSOR_Q5_K ? SPEC_TENSOR_Q5_1
                                      : SPEC_TENSOR_Q8_0;
}

static void assert_same_model(const spec_checkpoint *before, const spec_checkpoint *after,
                              spec_tensor_type type)
{
    assert_memory_equal(&before->shape, &after->shape, sizeof before->shape);
    assert_true(before->begin_of_text == after->begin_of_text &&
                before->end_of_text == after->end_of_text);
    assert_int_equal(before->adds_begin, after->adds_begin);
    assert_true((before->output.data == before->embedding.data) ==
                (after->output.data == after->embedding.data));
    for (int i = 0; i < SPEC_PARTS; i++) {
        for (int layer = 0; layer < spec_checkpoint_parts_copies((spec_part)i, &before->shape);
             layer++) {
            const spec_tensor *x = spec_checkpoint_parts_tensor_const((spec_part)i, before, layer);
            const spec_tensor *y = spec_checkpoint_parts_tensor_const((spec_part)i, after, layer);
            assert_true((x->data == NULL) == (y->data == NULL));
            if (x->data == NULL) continue;
            if (type != SPEC_TENSOR_TYPES) /* not a mixture */
                assert_int_equal(y->type, spec_checkpoint_parts_is_vector((spec_part)i)
                                              ? SPEC_TENSOR_F32
                                              : type_that_fits(type, x->cols));
            assert_true(x->rows == y->rows && x->cols == y->cols);
            for (int row = 0; row < x->rows; row++) assert_row(x, y, row);
        }
    }
    const char text[] = "a cab zoo\n\xc3\xa9";
    int one[64], other[64];
    const size_t n = spec_tokenizer_encode(before->opt_tokenizer, text, sizeof text - 1, one, 64);
    assert_int_equal(spec_tokenizer_encode(after->opt_tokenizer, text, sizeof text - 1, other, 64),
                     n);
    assert_memory_equal(one, other, n * sizeof one[0]);
    for (int token = 0; token < VOCAB; token++) {
        char a[32], b[32];
        assert_int_equal(spec_tokenizer_text(before->opt_tokenizer, token, a, sizeof a),
                         spec_tokenizer_text(after->opt_tokenizer, token, b, sizeof b));
        assert_string_equal(a, b);
    }
}

static void a_model_of_llama2c_becomes_the_same_of_gguf(void **state)
{
    (void)state;
    static const char *const file[] = {"tied.bin", "untied.bin"};
    for (int has_output = 0; has_output < 2; has_output++) {
        for (const spec_type_recipe *recipe = spec_type_recipes; recipe->name != NULL; recipe++) {
            spec_checkpoint before, after;
            spec_conversion counted;
            spec_error error = {""};
            const char *spec = spec_of("llama2c", file[has_output]);
            if (convert_by(&counted, in_folder("a.gguf"), spec, recipe, &error) != GSL_SUCCESS)
                fail_msg("%s", error.text);
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
static void keys_of_a_spec_are_carried_over(void **state)
{
    (void)state;
    spec_checkpoint after;
    spec_conversion counted;
    char spec[256];
    snprintf(spec, sizeof spec, "%s?end=-1&context=4&tokenizer=", spec_of("llama2c", "tied.bin"));
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    load(&after, spec_of("gguf", "a.gguf"));
    assert_int_equal(after.end_of_text, -1);
    assert_int_equal(after.begin_of_text, 1);
    assert_true(after.adds_begin);
    assert_int_equal(after.shape.context, 4);
    assert_null(after.opt_tokenizer);
    spec_checkpoint_free(&after);
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
static void conversion_keeps_all_values_of_gguf(void **state)
{
    (void)state;
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

static void quantisation_errors_are_counted(void **state)
{
    (void)state;
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

static void the_model_itself_is_never_written_over(void **state)
{
    (void)state;
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

static void failed_writes_leave_no_file(void **state)
{
    (void)state;
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

static void an_interrupted_conversion_leaves_nothing_behind(void **state)
{
    (void)state;
    spec_settings settings;
    spec_conversion counted;
    spec_error error = {""};
    const volatile int stop = 1;
    unlink(in_folder("b.gguf"));
    assert_int_equal(spec_settings_init(&settings, spec_of("llama2c", "tied.bin"), NULL),
                     GSL_SUCCESS);
    assert_int_equal(spec_conversion_write(&counted, in_folder("b.gguf"), &settings,
                                           spec_type_recipe_of_type(SPEC_TENSOR_F32),
                                           &(spec_conversion_watch){.opt_stop = &stop}, &error),
                     GSL_EFAILED);
    assert_string_equal(error.text, "interrupted");
    assert_int_not_equal(access(in_folder("b.gguf"), F_OK), 0);
    spec_settings_free(&settings);
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

static void its_size_is_announced_to_the_byte_and_may_be_refused(void **state)
{
    (void)state;
    static const spec_tensor_type types[] = {SPEC_TENSOR_F32, SPEC_TENSOR_Q8_0, SPEC_TENSOR_Q4_0};
    spec_settings settings;
    spec_conversion counted;
    spec_error error = {""};
    audience of = {0};
    const spec_listener listener = {hear_share, &of};
    const spec_conversion_watch watch = {
        .opt_announce = hear_bytes, .opt_listener = &listener, .self = &of};
    assert_int_equal(spec_settings_init(&settings, spec_of("llama2c", "untied.bin"), NULL),
                     GSL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        struct stat info;
        of = (audience){0};
        assert_int_equal(spec_conversion_write(&counted, in_folder("b.gguf"), &settings,
                                               spec_type_recipe_of_type(types[i]), &watch, &error),
                         0);
        assert_int_equal(stat(in_folder("b.gguf"), &info), 0);
        assert_int_equal(of.bytes, info.st_size);
        assert_true(of.share > 0.9);
    }
    unlink(in_folder("b.gguf"));
    of = (audience){.refuses = true};
    assert_int_equal(spec_conversion_write(&counted, in_folder("b.gguf"), &settings,
                                           spec_type_recipe_of_type(SPEC_TENSOR_F32), &watch,
                                           &error),
                     GSL_EFAILED);
    assert_string_equal(error.text, "too much");
    assert_int_not_equal(access(in_folder("b.gguf"), F_OK), 0);
    spec_settings_free(&settings);
}

/* Types that the Python package gguf writes. */
static const struct {
    spec_tensor_type type;
    const char *name;
} of_package[] = {{SPEC_TENSOR_F32, "F32"},   {SPEC_TENSOR_F16, "F16"},
                  {SPEC_TENSOR_BF16, "BF16"}, {SPEC_TENSOR_Q8_0, "Q8_0"},
                  {SPEC_TENSOR_Q4_0, "Q4_0"}, {SPEC_TENSOR_Q4_1, "Q4_1"},
                  {SPEC_TENSOR_Q5_0, "Q5_0"}, {SPEC_TENSOR_Q5_1, "Q5_1"}};
enum { PACKAGE_TYPES = sizeof of_package / sizeof of_package[0] };

/* It reads the same names, shapes and types, and dequantises to the same
 * weights. Its quantisation of the floats gives our bytes. */
static void the_python_package_reads_the_same(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, numpy as np, gguf\n"
        "floats = {t.name: t for t in gguf.GGUFReader(sys.argv[1]).tensors}\n"
        "read = gguf.GGUFReader(sys.argv[2])\n"
        "assert read.fields['general.architecture'].contents() == 'llama'\n"
        "assert read.fields['tokenizer.ggml.tokens'].contents()[285] == '\\u2581'\n"
        "assert len(read.tensors) == len(floats)\n"
        "for t in read.tensors:\n"
        "    f = floats[t.name]\n"
        "    assert list(t.shape) == list(f.shape), t.name\n"
        "    assert t.tensor_type.name == (sys.argv[3] if f.data.ndim > 1 and t.shape[0] % 32 == 0 "
        "or "
        "f.data.ndim > 1 and sys.argv[3] in ('F16', 'BF16') else 'F32'), t.name\n"
        "    wanted = gguf.quants.quantize(np.array(f.data), t.tensor_type)\n"
        "    assert np.array_equal(np.asarray(t.data).view(np.uint8), wanted.view(np.uint8)), "
        "t.name\n";
    if (system("python3 -c 'import gguf' 2>/dev/null") != 0) {
        printf("skipped: %s: python3 has no package gguf\n", __func__);
        skip();
    }
    spec_conversion counted;
    const char *spec = spec_of("llama2c", "untied.bin");
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    for (size_t i = 0; i < PACKAGE_TYPES; i++) {
        char command[4096];
        assert_int_equal(convert(&counted, in_folder("b.gguf"), spec, of_package[i].type, NULL),
                         GSL_SUCCESS);
        snprintf(command, sizeof command, "python3 - %s %s %s <<'END'\n%sEND\n",
                 in_folder("a.gguf"), in_folder("b.gguf"), of_package[i].name, script);
        assert_int_equal(system(command), 0);
    }
}

/* Its writer, given the floats of our file, makes files that read like ours. */
static void the_python_package_writes_the_same(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, numpy as np, gguf\n"
        "read = gguf.GGUFReader(sys.argv[1])\n"
        "out = gguf.GGUFWriter(sys.argv[2], 'llama')\n"
        "for name, field in read.fields.items():\n"
        "    if name.startswith('GGUF.') or name == 'general.architecture': continue\n"
        "    kind, item = field.types[0], field.types[-1]\n"
        "    if kind == gguf.GGUFValueType.ARRAY: out.add_key_value(name, field.contents(), kind, "
        "item)\n"
        "    else: out.add_key_value(name, field.contents(), kind)\n"
        "type = gguf.GGMLQuantizationType[sys.argv[3]]\n"
        "for t in read.tensors:\n"
        "    data = np.array(t.data)\n"
        "    if data.ndim == 1 or t.shape[0] % 32 != 0 and sys.argv[3][0] == 'Q': "
        "out.add_tensor(t.name, data)\n"
        "    else: out.add_tensor(t.name, gguf.quants.quantize(data, type), raw_dtype=type)\n"
        "out.write_header_to_file(); out.write_kv_data_to_file(); out.write_tensors_to_file(); "
        "out.close()\n";
    if (system("python3 -c 'import gguf' 2>/dev/null") != 0) {
        printf("skipped: %s: python3 has no package gguf\n", __func__);
        skip();
    }
    spec_conversion counted;
    spec_checkpoint before, after;
    const char *spec = spec_of("llama2c", "tied.bin");
    assert_int_equal(convert(&counted, in_folder("a.gguf"), spec, SPEC_TENSOR_F32, NULL),
                     GSL_SUCCESS);
    load(&before, spec);
    for (size_t i = 0; i < PACKAGE_TYPES; i++) {
        char command[4096];
        snprintf(command, sizeof command, "python3 - %s %s %s <<'END'\n%sEND\n",
                 in_folder("a.gguf"), in_folder("b.gguf"), of_package[i].name, script);
        assert_int_equal(system(command), 0);
        load(&after, spec_of("gguf", "b.gguf"));
        assert_same_model(&before, &after, of_package[i].type);
        spec_checkpoint_free(&after);
    }
    spec_checkpoint_free(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_of_llama2c_becomes_the_same_of_gguf),
        cmocka_unit_test(keys_of_a_spec_are_carried_over),
        cmocka_unit_test(conversion_keeps_all_values_of_gguf),
        cmocka_unit_test(quantisation_errors_are_counted),
        cmocka_unit_test(the_model_itself_is_never_written_over),
        cmocka_unit_test(failed_writes_leave_no_file),
        cmocka_unit_test(an_interrupted_conversion_leaves_nothing_behind),
        cmocka_unit_test(its_size_is_announced_to_the_byte_and_may_be_refused),
        cmocka_unit_test(the_python_package_reads_the_same),
        cmocka_unit_test(the_python_package_writes_the_same),
    };
    return cmocka_run_group_tests(tests, make_models, remove_models);
}
