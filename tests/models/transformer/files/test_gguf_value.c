/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads values of a GGUF file as C types, and values of other types. */
#include "models/transformer/files/gguf_value.h"

#include "tests/models/transformer/files/gguf_image.h"
#include "tests/support/support.h"

TEST(values_of_every_type_are_read)
{
    static const struct {
        const char *key;
        int value;
    } whole[] = {{"u8", 254}, {"i8", -2},  {"u16", 65534}, {"i16", -2},
                 {"i32", -2}, {"i64", -2}, {"absent", 77}};
    image file = {0};
    spec_gguf gguf;
    spec_error error = {""};
    int n;
    double x;
    bool is;
    spec_piece text;
    make_values(&file);
    for (uint32_t version = 2; version <= 3; version++) {
        memcpy(file.bytes + 4, &version, 4);
        assert_works(open_image(&gguf, &file, &error));
        for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
            const int status =
                spec_gguf_value_integer(&n, &gguf, whole[i].key, 77, -100, 100000, &error);
            assert_int_equal(status, GSL_SUCCESS);
            assert_int_equal(n, whole[i].value);
        }
        assert_works(spec_gguf_value_real(&x, &gguf, "f32", 0.0, &error));
        assert_true(x == (double)0.27f);
        assert_works(spec_gguf_value_real(&x, &gguf, "f64", 0.0, &error));
        assert_true(x == 2.385);
        assert_works(spec_gguf_value_real(&x, &gguf, "absent", 0.5, &error));
        assert_true(x == 0.5);
        assert_works(spec_gguf_value_bool(&is, &gguf, "yes", false, &error));
        assert_true(is);
        assert_works(spec_gguf_value_bool(&is, &gguf, "no", true, &error));
        assert_false(is);
        assert_works(spec_gguf_value_bool(&is, &gguf, "absent", true, &error));
        assert_true(is);
        assert_works(spec_gguf_value_text(&text, &gguf, "text", "", &error));
        assert_int_equal(text.length, 5);
        assert_memory_equal(text.bytes, "caf\xc3\xa9", 5);
        assert_works(spec_gguf_value_text(&text, &gguf, "absent", "default", &error));
        assert_int_equal(text.length, 7);
        spec_gguf_free(&gguf);
        spec_gguf_free(&gguf);
    }
    free(file.bytes);
}

TEST(arrays_are_read)
{
    image file = {0};
    spec_gguf gguf;
    spec_piece *text;
    float *real;
    int *integer;
    size_t n;
    make_values(&file);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    assert_int_equal(spec_gguf_value_texts(&text, &n, &gguf, "texts", NULL), GSL_SUCCESS);
    assert_int_equal(n, 3);
    assert_true(text[0].length == 1 && text[0].bytes[0] == 'a' && text[1].length == 0 &&
                text[2].length == 2);
    assert_memory_equal(text[2].bytes, "bc", 2);
    free(text);
    assert_int_equal(spec_gguf_value_reals(&real, &n, &gguf, "reals", NULL), GSL_SUCCESS);
    assert_true(n == 2 && real[0] == 1.0f && real[1] == 2.0f);
    free(real);
    assert_int_equal(spec_gguf_value_integers(&integer, &n, &gguf, "integers", NULL), GSL_SUCCESS);
    assert_true(n == 2 && integer[0] == 7 && integer[1] == -1);
    free(integer);
    assert_int_equal(spec_gguf_value_integers(&integer, &n, &gguf, "none", NULL), GSL_SUCCESS);
    assert_null(integer);
    assert_int_equal(spec_gguf_value_reals(&real, &n, &gguf, "absent", NULL), GSL_SUCCESS);
    assert_null(real);
    assert_int_equal(n, 0);
    spec_gguf_free(&gguf);
    free(file.bytes);
}

TEST(values_of_another_kind_are_refused)
{
    image file = {0};
    spec_gguf gguf;
    spec_error error = {""};
    int n, *integers;
    float *reals;
    double x;
    bool is;
    size_t size;
    spec_piece text, *texts;
    make_values(&file);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    static const char *const not_whole[] = {"u64", "u32", "f32", "yes", "text", "integers"};
    for (size_t i = 0; i < sizeof not_whole / sizeof not_whole[0]; i++) {
        char line[128];
        snprintf(line, sizeof line, ": the value of '%s' is not a whole number between 0 and 9",
                 not_whole[i]);
        assert_int_equal(spec_gguf_value_integer(&n, &gguf, not_whole[i], 5, 0, 9, &error),
                         GSL_EINVAL);
        ends_so(&error, line);
        assert_int_equal(n, 0);
    }
    assert_int_equal(spec_gguf_value_integer(&n, &gguf, "i8", 5, -1, 9, &error), GSL_EINVAL);
    assert_int_equal(spec_gguf_value_real(&x, &gguf, "u8", 0.5, &error), GSL_EINVAL);
    ends_so(&error, ": the value of 'u8' is not a number of type F32 or F64");
    assert_int_equal(spec_gguf_value_real(&x, &gguf, "reals", 0.5, &error), GSL_EINVAL);
    assert_int_equal(spec_gguf_value_bool(&is, &gguf, "u8", true, &error), GSL_EINVAL);
    ends_so(&error, ": the value of 'u8' is not true or false");
    assert_false(is);
    assert_int_equal(spec_gguf_value_text(&text, &gguf, "texts", "x", &error), GSL_EINVAL);
    ends_so(&error, ": the value of 'texts' is not a text");
    assert_int_equal(text.length, 0);
    assert_int_equal(spec_gguf_value_texts(&texts, &size, &gguf, "text", &error), GSL_EINVAL);
    ends_so(&error, ": the value of 'text' is not an array");
    assert_int_equal(spec_gguf_value_texts(&texts, &size, &gguf, "reals", &error), GSL_EINVAL);
    ends_so(&error, ": the value of 'reals' is not an array of texts");
    assert_true(texts == NULL && size == 0);
    assert_int_equal(spec_gguf_value_reals(&reals, &size, &gguf, "texts", &error), GSL_EINVAL);
    ends_so(&error, ": the value of 'texts' is not an array of F32");
    assert_int_equal(spec_gguf_value_integers(&integers, &size, &gguf, "reals", &error),
                     GSL_EINVAL);
    ends_so(&error, ": the value of 'reals' is not an array of I32");
    spec_gguf_free(&gguf);
    free(file.bytes);
}

SUITE(.setup = make_file, .teardown = remove_file);
