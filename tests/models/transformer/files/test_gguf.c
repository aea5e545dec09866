/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the container, built byte by byte from its format: values, tensors, and invalid files. */
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_value.h"

#include "tests/models/transformer/files/gguf_image.h"
#include "tests/support/support.h"

#include <time.h>

static void refused(const image *from, const char *line)
{
    spec_gguf gguf;
    spec_error error = {""};
    assert_int_equal(open_image(&gguf, from, &error), GSL_EINVAL);
    if (strncmp(error.text, gguf_path, strlen(gguf_path)) != 0 ||
        strcmp(error.text + strlen(gguf_path), line) != 0)
        fail_msg("'%s' is not ': %s'", error.text, line);
    assert_null(gguf.mapping.bytes);
    assert_null(gguf.value);
}

/* ---- valid files ----------------------------------------------------------------------------- */

/* One value with a name of one letter, and one tensor of one weight, without padding. */
TEST(the_smallest_files_are_read)
{
    image file = {0};
    spec_gguf gguf;
    begin(&file, 3, 0, 1);
    put_value(&file, "k", 0, "1", 1);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    assert_non_null(spec_gguf_value_find(&gguf, "k"));
    spec_gguf_free(&gguf);
    begin(&file, 3, 0, 0);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    assert_null(spec_gguf_value_find(&gguf, "k"));
    spec_gguf_free(&gguf);
    begin(&file, 3, 1, 0);
    put_tensor(&file, "t", 1, (uint64_t[]){1}, 1, 0);
    pad(&file, 32);
    put(&file, "\0\74", 2);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    float value;
    spec_tensor_decode_row(&value, &spec_gguf_find_tensor(&gguf, "t")->tensor, 0);
    assert_true(value == 1.0f);
    spec_gguf_free(&gguf);
    free(file.bytes);
}

/* Two tensors whose order in the file is not the order of their names, and a third with quantised
 rows. */
static void make_tensors(image *to, uint32_t alignment)
{
    begin(to, 3, 3, 1);
    put_value(to, "general.alignment", 4, &alignment, 4);
    put_tensor(to, "z", 2, (uint64_t[]){3, 2}, 0, 0);          /* 24 bytes */
    put_tensor(to, "b", 3, (uint64_t[]){5, 1, 2}, 1, 64);      /* 20 */
    put_tensor(to, "a", 4, (uint64_t[]){64, 2, 1, 1}, 8, 128); /* 136 */
    pad(to, alignment);
    const size_t data = to->length;
    for (int i = 0; i < 264; i++) put(to, &(unsigned char){(unsigned char)i}, 1);
    while ((to->length - data) % alignment != 0) put(to, "", 1);
}

TEST(tensors_lie_where_they_say)
{
    image file = {0};
    spec_gguf gguf;
    for (uint32_t alignment = 1; alignment <= 64; alignment *= 2) {
        make_tensors(&file, alignment);
        assert_works(open_image(&gguf, &file, &error));
        assert_int_equal(gguf.n_tensors, 3);
        const spec_gguf_tensor *a = spec_gguf_find_tensor(&gguf, "a"),
                               *b = spec_gguf_find_tensor(&gguf, "b");
        const spec_gguf_tensor *z = spec_gguf_find_tensor(&gguf, "z");
        assert_null(spec_gguf_find_tensor(&gguf, "c"));
        assert_null(spec_gguf_find_tensor(&gguf, ""));
        assert_true(a->tensor.type == SPEC_TENSOR_Q8_0 && a->tensor.rows == 2 &&
                    a->tensor.cols == 64);
        assert_true(b->tensor.type == SPEC_TENSOR_F16 && b->tensor.rows == 2 &&
                    b->tensor.cols == 5);
        assert_true(z->tensor.type == SPEC_TENSOR_F32 && z->tensor.rows == 2 &&
                    z->tensor.cols == 3);
        assert_int_equal(b->n_dimensions, 3);
        assert_true(b->dimension[0] == 5 && b->dimension[1] == 1 && b->dimension[2] == 2 &&
                    b->dimension[3] == 1);
        assert_int_equal(*(const unsigned char *)z->tensor.data, 0);
        assert_int_equal(*(const unsigned char *)b->tensor.data, 64);
        assert_int_equal(*(const unsigned char *)a->tensor.data, 128);
        spec_gguf_free(&gguf);
    }
    free(file.bytes);
}

TEST(types_of_tensors_have_the_numbers_of_the_format)
{
    static const struct {
        spec_tensor_type type;
        uint32_t number;
    } known[] = {{SPEC_TENSOR_F32, 0},     {SPEC_TENSOR_F16, 1},     {SPEC_TENSOR_Q4_0, 2},
                 {SPEC_TENSOR_Q4_1, 3},    {SPEC_TENSOR_Q5_0, 6},    {SPEC_TENSOR_Q5_1, 7},
                 {SPEC_TENSOR_Q8_0, 8},    {SPEC_TENSOR_Q2_K, 10},   {SPEC_TENSOR_Q3_K, 11},
                 {SPEC_TENSOR_Q4_K, 12},   {SPEC_TENSOR_Q5_K, 13},   {SPEC_TENSOR_Q6_K, 14},
                 {SPEC_TENSOR_IQ4_NL, 20}, {SPEC_TENSOR_IQ4_XS, 23}, {SPEC_TENSOR_BF16, 30},
                 {SPEC_TENSOR_MXFP4, 39}};
    enum { KNOWN = sizeof known / sizeof known[0] };
    assert_int_equal(KNOWN, SPEC_TENSOR_ALL_TYPES - 1);
    for (int k = 0; k < KNOWN; k++) {
        assert_int_equal(spec_gguf_tensor_number(known[k].type), known[k].number);
        assert_int_equal(spec_gguf_tensor_type(known[k].number), known[k].type);
    }
    static const uint32_t unread[] = {4,  5,  9,  15, 16, 17, 18, 19, 21, 22, 24, 25,        26,
                                      27, 28, 29, 31, 34, 35, 38, 40, 41, 42, 43, UINT32_MAX};
    for (size_t k = 0; k < sizeof unread / sizeof unread[0]; k++)
        assert_int_equal(spec_gguf_tensor_type(unread[k]), SPEC_TENSOR_TYPES);
}

/* ---- invalid files --------------------------------------------------------------------------- */

TEST(files_of_another_kind_are_refused)
{
    image file = {0};
    put(&file, "GGU", 3);
    refused(&file, ": is not a GGUF file");
    put(&file, "f", 1);
    refused(&file, ": is not a GGUF file");
    begin(&file, 1, 0, 0);
    refused(&file, ": is GGUF version 1; only 2 and 3 are supported");
    begin(&file, 4, 0, 0);
    refused(&file, ": is GGUF version 4; only 2 and 3 are supported");
    begin(&file, 0x03000000, 0, 0);
    refused(&file, ": is a big-endian GGUF file");
    begin(&file, 3, 0, 0);
    file.length = 0;
    refused(&file, ": the file is empty");
    free(file.bytes);
}

/* A file cut anywhere is refused, unless only padding after the last tensor is missing. */
TEST(a_file_that_is_cut_short_is_refused)
{
    image file = {0};
    spec_error error = {""};
    spec_gguf gguf;
    make_values(&file);
    for (size_t whole = file.length--; file.length >= 8; file.length--) {
        refused(&file, ": is cut short: it ends within its header");
        assert_true(file.length < whole);
    }
    make_tensors(&file, 32);
    const size_t data = file.length - 288, whole = data + 264;
    for (file.length = whole - 1; file.length >= 8; file.length--) {
        assert_int_equal(open_image(&gguf, &file, &error), GSL_EINVAL);
        const bool header = file.length < data - 32;
        if (strstr(error.text, header ? ": is cut short: it ends within its header"
                                      : ": is cut short: ") == NULL)
            fail_msg("%zu bytes: %s", file.length, error.text);
    }
    file.length = whole;
    assert_works(open_image(&gguf, &file, &error));
    spec_gguf_free(&gguf);
    make_tensors(&file, 32);
    put(&file, "x", 1);
    refused(&file, ": 1 bytes follow its last tensor");
    free(file.bytes);
}

TEST(counts_and_lengths_beyond_the_file_are_refused)
{
    const uint64_t huge[] = {UINT64_MAX, UINT64_MAX / 8, INT64_MAX, (uint64_t)1 << 32, UINT32_MAX};
    image file = {0};
    begin(&file, 3, 0, SPEC_GGUF_COUNT_MAX + 1);
    refused(&file, ": claims 1048577 values and 0 tensors; at most 1048576 of each are supported");
    begin(&file, 3, UINT64_MAX, 1);
    refused(&file, ": claims 1 values and 18446744073709551615 tensors; at most 1048576 of each "
                   "are supported");
    begin(&file, 3, 0, SPEC_GGUF_COUNT_MAX);
    refused(&file, ": is cut short: it ends within its header");
    begin(&file, 3, SPEC_GGUF_COUNT_MAX, 0);
    refused(&file, ": is cut short: it ends within its header");
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        begin(&file, 3, 0, 1); /* of a key, a string, an array of bytes, of numbers, of strings */
        put_u64(&file, huge[i]);
        put(&file, "key and more", 12);
        refused(&file, ": is cut short: it ends within its header");
        begin(&file, 3, 0, 1);
        put_value(&file, "key", 8, &huge[i], 8);
        refused(&file, ": is cut short: it ends within its header");
        for (uint32_t type = 0; type <= 12; type++) {
            if (type == 9) continue;
            begin(&file, 3, 0, 1);
            put_value(&file, "key", 9, &type, 4);
            put_u64(&file, huge[i]);
            put(&file, "0123456789", 10);
            refused(&file, ": is cut short: it ends within its header");
        }
    }
    free(file.bytes);
}

TEST(invalid_values_are_refused)
{
    image file = {0};
    begin(&file, 3, 0, 1);
    put_value(&file, "", 0, "1", 1);
    put(&file, "padding", 7);
    refused(&file, ": value 0 has no name");
    begin(&file, 3, 0, 1);
    put_value(&file, "key", 13, "12345678", 8);
    refused(&file, ": the value of 'key' is of type 13, which is not known");
    begin(&file, 3, 0, 1);
    put_value(&file, "key", 9, "\r\0\0\0\1\0\0\0\0\0\0\0?", 13);
    refused(&file, ": the value of 'key' is of type 13, which is not known");
    begin(&file, 3, 0, 1);
    put_value(&file, "key", 9, "\t\0\0\0\1\0\0\0\0\0\0\0?", 13);
    refused(&file, ": the value of 'key' is an array of arrays");
    begin(&file, 3, 0, 3);
    put_value(&file, "same", 0, "1", 1);
    put_value(&file, "other", 0, "1", 1);
    put_value(&file, "same", 4, "1234", 4);
    refused(&file, ": the value of 'same' occurs twice");
    begin(&file, 3, 0, 1);
    put_value(&file, "tell\033[2J\n", 13, "12345678", 8); /* must not reach the terminal */
    refused(&file, ": the value of 'tell?[2J?' is of type 13, which is not known");
    const uint32_t alignment[] = {0, 3, 48, 1 << 21};
    for (int i = 0; i < 4; i++) {
        make_tensors(&file, 32);
        memcpy(file.bytes + 24 + 8 + 17 + 4, &alignment[i], 4);
        char line[128];
        snprintf(
            line, sizeof line,
            i == 1 || i == 2
                ? ": an alignment of %u is not a power of two"
                : ": the value of 'general.alignment' is not a whole number between 1 and 1048576",
            alignment[i]);
        refused(&file, line);
    }
    free(file.bytes);
}

static void refused_tensor(int n, const uint64_t *size, uint32_t type, uint64_t offset,
                           const char *line)
{
    image file = {0};
    begin(&file, 3, 1, 0);
    put_tensor(&file, "name", n, size, type, offset);
    pad(&file, 32);
    for (int i = 0; i < 4; i++) put(&file, "0123456789abcdef0123456789abcdef", 32);
    refused(&file, line);
    free(file.bytes);
}

TEST(invalid_tensors_are_refused)
{
    const uint64_t five[] = {1, 1, 1, 1, 1}, fits[] = {32};
    refused_tensor(0, five, 0, 0, ": tensor 'name' has 0 dimensions, not 1 to 4");
    refused_tensor(5, five, 0, 0, ": tensor 'name' has 5 dimensions, not 1 to 4");
    refused_tensor(1, (uint64_t[]){0}, 0, 0,
                   ": dimension 0 of tensor 'name' is 0, which is not possible");
    refused_tensor(2, (uint64_t[]){1, 0}, 0, 0,
                   ": dimension 1 of tensor 'name' is 0, which is not possible");
    refused_tensor(1, (uint64_t[]){(uint64_t)1 << 31}, 0, 0,
                   ": dimension 0 of tensor 'name' is 2147483648, which is not possible");
    refused_tensor(2, (uint64_t[]){1, UINT64_MAX}, 0, 0,
                   ": dimension 1 of tensor 'name' is 18446744073709551615, which is not possible");
    refused_tensor(3, (uint64_t[]){1, 65536, 65536}, 0, 0,
                   ": dimension 2 of tensor 'name' is 65536, which is not possible");
    static const struct {
        uint32_t number;
        const char *name;
    } unread[] = {{9, "Q8_1"},   {15, "Q8_K"}, {21, "IQ3_S"}, {34, "TQ1_0"},
                  {40, "NVFP4"}, {42, "Q2_0"}, {43, "43"},    {UINT32_MAX, "4294967295"}};
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++) {
        char line[160];
        snprintf(line, sizeof line,
                 ": tensor 'name' is of type %s; F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, "
                 "IQ4_NL, IQ4_XS, MXFP4 and Q2_K to Q6_K are supported",
                 unread[i].name);
        refused_tensor(1, fits, unread[i].number, 0, line);
    }
    static const uint32_t wide[] = {10, 11, 12, 13, 14, 23}, narrow[] = {2, 3, 6, 7, 8, 20, 39};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
        refused_tensor(
            1, fits, wide[i], 0,
            ": the rows of tensor 'name' have 32 weights, not a multiple of the 256 of a block");
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++)
        refused_tensor(
            1, (uint64_t[]){48}, narrow[i], 0,
            ": the rows of tensor 'name' have 48 weights, not a multiple of the 32 of a block");
    refused_tensor(1, (uint64_t[]){256}, 14, 0,
                   ": is cut short: tensor 'name' ends beyond its 192 bytes");
    refused_tensor(1, (uint64_t[]){INT32_MAX - 255}, 12, 0,
                   ": is cut short: tensor 'name' ends beyond its 192 bytes");
    refused_tensor(1, (uint64_t[]){33}, 8, 0,
                   ": the rows of tensor 'name' have 33 weights, not a multiple of the 32 of a "
                   "block");
    refused_tensor(1, fits, 0, 1, ": tensor 'name' lies off the alignment of 32 bytes");
    refused_tensor(1, (uint64_t[]){33}, 0, 0,
                   ": is cut short: tensor 'name' ends beyond its 192 bytes");
    refused_tensor(1, fits, 0, 32, ": is cut short: tensor 'name' ends beyond its 192 bytes");
    refused_tensor(1, fits, 0, UINT64_MAX - 31,
                   ": is cut short: tensor 'name' ends beyond its 192 bytes");
    refused_tensor(2, (uint64_t[]){INT32_MAX, INT32_MAX}, 0, 0,
                   ": is cut short: tensor 'name' ends beyond its 224 bytes");
    refused_tensor(1, (uint64_t[]){16}, 0, 0, ": 64 bytes follow its last tensor");

    image file = {0};
    for (uint64_t second = 0; second <= 32; second += 32) {
        begin(&file, 3, 2, 0);
        put_tensor(&file, "one", 1, (uint64_t[]){9}, 0, 0);
        put_tensor(&file, "two", 1, (uint64_t[]){8}, 0, second);
        pad(&file, 32);
        for (int i = 0; i < 2; i++) put(&file, "0123456789abcdef0123456789abcdef", 32);
        if (second == 0) { /* both begin at the same offset, so either may come first */
            spec_gguf gguf;
            spec_error error = {""};
            assert_int_equal(open_image(&gguf, &file, &error), GSL_EINVAL);
            ends_so(&error, " overlap");
        } else {
            refused(&file, ": tensors 'one' and 'two' overlap");
        }
    }
    begin(&file, 3, 2, 0);
    put_tensor(&file, "one", 1, (uint64_t[]){8}, 0, 0);
    put_tensor(&file, "one", 1, (uint64_t[]){8}, 0, 32);
    pad(&file, 32);
    for (int i = 0; i < 2; i++) put(&file, "0123456789abcdef0123456789abcdef", 32);
    refused(&file, ": tensor 'one' occurs twice");
    begin(&file, 3, 1, 0);
    put_tensor(&file, "", 1, (uint64_t[]){8}, 0, 0);
    pad(&file, 32);
    refused(&file, ": tensor 0 has no name");
    free(file.bytes);
}

/* Has the maximum number of values, with names that differ only at the end, except the last two,
 * which are equal. Reading takes about a second; comparing all pairs would take 5e11 steps. */
TEST(a_million_values_take_no_quadratic_time)
{
    image file = {0};
    char key[32];
    begin(&file, 3, 0, SPEC_GGUF_COUNT_MAX);
    for (int i = 0; i < SPEC_GGUF_COUNT_MAX; i++) {
        snprintf(key, sizeof key, "the.same.%07d",
                 i == 1 ? 0 : (int)((unsigned)i * 7919u % SPEC_GGUF_COUNT_MAX));
        put_value(&file, key, 0, "1", 1);
    }
    const clock_t start = clock();
    refused(&file, ": the value of 'the.same.0000000' occurs twice");
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 5.0) fail_msg("%.1f s", seconds);
    free(file.bytes);
}

SUITE(.setup = make_file, .teardown = remove_file);
