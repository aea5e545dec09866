/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conversion_case: small models in a folder of their own, and their conversion, for tests.
 * make_models and remove_models are the set-up and the teardown of a program. */
#ifndef SPECLAB_TESTS_CONVERSION_CASE_H
#define SPECLAB_TESTS_CONVERSION_CASE_H

#include "base/new_file.h"
#include "base/noise.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/conversion.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* The width is a multiple of a block, and the feed-forward width is not. */
enum { DIM = 64, FFN = 80, LAYERS = 2, HEADS = 4, KV_HEADS = 2, VOCAB = 300, CONTEXT = 6 };

static char folder[64];

static inline const char *in_folder(const char *name)
{
    static char path[16][128];
    static int next;
    char *room = path[next++ % 16];
    snprintf(room, sizeof path[0], "%s/%s", folder, name);
    return room;
}

static inline void put_tokenizer(void)
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

static inline int make_models(void **state)
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

static inline int remove_models(void **state)
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

static inline int convert_by(spec_conversion *ret, const char *out, const char *spec,
                             const spec_type_recipe *recipe, spec_error *error)
{
    OWNED(spec_settings) settings;
    assert_int_equal(spec_settings_init(&settings, spec, error), GSL_SUCCESS);
    const spec_conversion_watch watch = {.opt_pool = spec_test_pool(0)};
    const int status = spec_conversion_write(ret, out, &settings, recipe, &watch, error);
    return status;
}

static inline int convert(spec_conversion *ret, const char *out, const char *spec,
                          spec_tensor_type type, spec_error *error)
{
    return convert_by(ret, out, spec, spec_type_recipe_find(spec_tensor_type_names[type]), error);
}

static inline const char *spec_of(const char *kind, const char *name)
{
    static char spec[16][160];
    static int next;
    char *room = spec[next++ % 16];
    snprintf(room, sizeof spec[0], "%s:%s", kind, in_folder(name));
    return room;
}

static inline void load(spec_checkpoint *ret, const char *spec)
{
    OWNED(spec_settings) settings;
    assert_works(spec_settings_init(&settings, spec, &error));
    assert_works((strncmp(spec, "gguf", 4) == 0
                      ? spec_checkpoint_load_gguf
                      : spec_checkpoint_load_llama2c)(ret, &settings, spec_test_pool(0), &error));
}

/* Returns the expected value of a converted weight, by the types' own conversions. */
static inline void assert_row(const spec_tensor *before, const spec_tensor *after, int row)
{
    float wanted[VOCAB], found[VOCAB];
    unsigned char bytes[4 * VOCAB];
    spec_tensor_decode_row(wanted, before, row);
    spec_tensor_row_write(bytes, after->type, wanted, before->cols);
    spec_tensor_decode_row(wanted, &(spec_tensor){after->type, 1, before->cols, bytes}, 0);
    spec_tensor_decode_row(found, after, row);
    assert_memory_equal(found, wanted, (size_t)before->cols * sizeof *found);
}

/* Returns the type of a matrix whose rows of 64 or 80 weights do not fill blocks of 256, nor those
 of 80 blocks of 32. */
static inline spec_tensor_type type_that_fits(spec_tensor_type type, int cols)
{
    const bool is_wide = spec_tensor_block_weights(type) == 256;
    if (!spec_tensor_is_quantised(type) || (!is_wide && cols % 32 == 0)) return type;
    if (cols % 32 != 0) return is_wide ? SPEC_TENSOR_F16 : SPEC_TENSOR_F32;
    return type == SPEC_TENSOR_Q4_K   ? SPEC_TENSOR_Q5_0
           : type == SPEC_TENSOR_Q5_K ? SPEC_TENSOR_Q5_1
                                      : SPEC_TENSOR_Q8_0;
}

static inline void assert_same_model(const spec_checkpoint *before, const spec_checkpoint *after,
                                     spec_tensor_type type)
{
    assert_memory_equal(&before->shape, &after->shape, sizeof before->shape);
    assert_int_equal(before->begin_of_text, after->begin_of_text);
    assert_int_equal(before->ends.n > 0, after->ends.n > 0);
    for (int i = 0; i < before->ends.n; i++) /* tokens spelled like ends are added */
        assert_true(spec_text_ends_has(&after->ends, before->ends.token[i]));
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

#endif
