/* The container, written here by hand from its format: values of every type, tensors, and what cannot be. */
#include "models/transformer/gguf.h"
#include "models/transformer/gguf_value.h"

#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char path[] = "/tmp/speclab-gguf-XXXXXX";

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

/* ---- a file in memory -------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bytes;
    size_t length, capacity;
} image;

static void put(image *to, const void *bytes, size_t n)
{
    if (to->length + n > to->capacity) {
        to->capacity = 2 * (to->length + n);
        to->bytes = realloc(to->bytes, to->capacity);
        assert_non_null(to->bytes);
    }
    if (n > 0) memcpy(to->bytes + to->length, bytes, n);
    to->length += n;
}

static void put_u32(image *to, uint32_t value) { put(to, &value, sizeof value); }
static void put_u64(image *to, uint64_t value) { put(to, &value, sizeof value); }

static void put_text(image *to, const char *text)
{
    put_u64(to, strlen(text));
    put(to, text, strlen(text));
}

static void put_value(image *to, const char *key, uint32_t type, const void *bytes, size_t n)
{
    put_text(to, key);
    put_u32(to, type);
    put(to, bytes, n);
}

static void put_tensor(image *to, const char *name, int n, const uint64_t *size, uint32_t type, uint64_t offset)
{
    put_text(to, name);
    put_u32(to, (uint32_t)n);
    for (int i = 0; i < n; i++) put_u64(to, size[i]);
    put_u32(to, type);
    put_u64(to, offset);
}

static void begin(image *to, uint32_t version, uint64_t n_tensors, uint64_t n_values)
{
    to->length = 0;
    put(to, "GGUF", 4);
    put_u32(to, version);
    put_u64(to, n_tensors);
    put_u64(to, n_values);
}

static void pad(image *to, size_t alignment)
{
    while (to->length % alignment != 0) put(to, "", 1);
}

static int open_image(spec_gguf *gguf, const image *from, spec_error *error)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(from->bytes, 1, from->length, file), from->length);
    fclose(file);
    return spec_gguf_init(gguf, path, error);
}

static void refused(const image *from, const char *line)
{
    spec_gguf gguf;
    spec_error error = {""};
    assert_int_equal(open_image(&gguf, from, &error), GSL_EINVAL);
    if (strncmp(error.text, path, strlen(path)) != 0 || strcmp(error.text + strlen(path), line) != 0)
        fail_msg("'%s' is not ': %s'", error.text, line);
    assert_null(gguf.mapping.bytes);
    assert_null(gguf.value);
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* Every type of value, in an order that is not that of the keys. */
static void make_values(image *to)
{
    begin(to, 3, 0, 17);
    put_value(to, "u8", 0, "\xfe", 1);
    put_value(to, "i8", 1, "\xfe", 1);
    put_value(to, "u16", 2, "\xfe\xff", 2);
    put_value(to, "i16", 3, "\xfe\xff", 2);
    put_value(to, "u32", 4, "\xfe\xff\xff\xff", 4);
    put_value(to, "i32", 5, "\xfe\xff\xff\xff", 4);
    put_value(to, "f32", 6, &(float){0.27f}, 4);
    put_value(to, "yes", 7, "\1", 1);
    put_value(to, "no", 7, "\0", 1);
    put_value(to, "text", 8, "\5\0\0\0\0\0\0\0caf\xc3\xa9", 13);
    put_value(to, "u64", 10, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    put_value(to, "i64", 11, "\xfe\xff\xff\xff\xff\xff\xff\xff", 8);
    put_value(to, "f64", 12, &(double){2.385}, 8);
    put_value(to, "texts", 9, "\10\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0bc", 39);
    put_value(to, "reals", 9, "\6\0\0\0\2\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100", 20);
    put_value(to, "integers", 9, "\5\0\0\0\2\0\0\0\0\0\0\0\7\0\0\0\377\377\377\377", 20);
    put_value(to, "none", 9, "\5\0\0\0\0\0\0\0\0\0\0\0", 12);
}

static void values_of_every_type_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        int value;
    } whole[] = {{"u8", 254}, {"i8", -2}, {"u16", 65534}, {"i16", -2}, {"i32", -2}, {"i64", -2}, {"absent", 77}};
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
        if (open_image(&gguf, &file, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
        for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
            const int status = spec_gguf_value_integer(&n, &gguf, whole[i].key, 77, -100, 100000, &error);
            assert_int_equal(status, GSL_SUCCESS);
            assert_int_equal(n, whole[i].value);
        }
        assert_int_equal(spec_gguf_value_real(&x, &gguf, "f32", 0.0, &error), GSL_SUCCESS);
        assert_true(x == (double)0.27f);
        assert_int_equal(spec_gguf_value_real(&x, &gguf, "f64", 0.0, &error), GSL_SUCCESS);
        assert_true(x == 2.385);
        assert_int_equal(spec_gguf_value_real(&x, &gguf, "absent", 0.5, &error), GSL_SUCCESS);
        assert_true(x == 0.5);
        assert_int_equal(spec_gguf_value_bool(&is, &gguf, "yes", false, &error), GSL_SUCCESS);
        assert_true(is);
        assert_int_equal(spec_gguf_value_bool(&is, &gguf, "no", true, &error), GSL_SUCCESS);
        assert_false(is);
        assert_int_equal(spec_gguf_value_bool(&is, &gguf, "absent", true, &error), GSL_SUCCESS);
        assert_true(is);
        assert_int_equal(spec_gguf_value_text(&text, &gguf, "text", "", &error), GSL_SUCCESS);
        assert_int_equal(text.length, 5);
        assert_memory_equal(text.bytes, "caf\xc3\xa9", 5);
        assert_int_equal(spec_gguf_value_text(&text, &gguf, "absent", "default", &error), GSL_SUCCESS);
        assert_int_equal(text.length, 7);
        spec_gguf_free(&gguf);
        spec_gguf_free(&gguf);
    }
    free(file.bytes);
}

/* One value of a name of one letter, and one tensor of one weight, its padding left out. */
static void the_smallest_files_are_read(void **state)
{
    (void)state;
    image file = {0};
    spec_gguf gguf;
    begin(&file, 3, 0, 1);
    put_value(&file, "k", 0, "1", 1);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    assert_non_null(spec_gguf_find(&gguf, "k"));
    spec_gguf_free(&gguf);
    begin(&file, 3, 0, 0);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    assert_null(spec_gguf_find(&gguf, "k"));
    spec_gguf_free(&gguf);
    begin(&file, 3, 1, 0);
    put_tensor(&file, "t", 1, (uint64_t[]){1}, 1, 0);
    pad(&file, 32);
    put(&file, "\0\74", 2);
    assert_int_equal(open_image(&gguf, &file, NULL), GSL_SUCCESS);
    float value;
    spec_tensor_row(&value, &spec_gguf_find_tensor(&gguf, "t")->tensor, 0);
    assert_true(value == 1.0f);
    spec_gguf_free(&gguf);
    free(file.bytes);
}

static void arrays_are_read(void **state)
{
    (void)state;
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
    assert_true(text[0].length == 1 && text[0].bytes[0] == 'a' && text[1].length == 0 && text[2].length == 2);
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

static void ends_so(const spec_error *error, const char *line)
{
    const size_t n = strlen(error->text), m = strlen(line);
    if (n < m || strcmp(error->text + n - m, line) != 0) fail_msg("'%s' does not end in '%s'", error->text, line);
}

static void values_of_another_kind_are_refused(void **state)
{
    (void)state;
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
        snprintf(line, sizeof line, ": the value of '%s' is not a whole number between 0 and 9", not_whole[i]);
        assert_int_equal(spec_gguf_value_integer(&n, &gguf, not_whole[i], 5, 0, 9, &error), GSL_EINVAL);
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
    assert_int_equal(spec_gguf_value_integers(&integers, &size, &gguf, "reals", &error), GSL_EINVAL);
    ends_so(&error, ": the value of 'reals' is not an array of I32");
    spec_gguf_free(&gguf);
    free(file.bytes);
}

/* Two tensors, in the file in one order and by name in the other; a third, of quantised rows. */
static void make_tensors(image *to, uint32_t alignment)
{
    begin(to, 3, 3, 1);
    put_value(to, "general.alignment", 4, &alignment, 4);
    put_tensor(to, "z", 2, (uint64_t[]){3, 2}, 0, 0);                           /* 24 bytes */
    put_tensor(to, "b", 3, (uint64_t[]){5, 1, 2}, 1, 64);                        /* 20 */
    put_tensor(to, "a", 4, (uint64_t[]){64, 2, 1, 1}, 8, 128);                   /* 136 */
    pad(to, alignment);
    const size_t data = to->length;
    for (int i = 0; i < 264; i++) put(to, &(unsigned char){(unsigned char)i}, 1);
    while ((to->length - data) % alignment != 0) put(to, "", 1);
}

static void tensors_lie_where_they_say(void **state)
{
    (void)state;
    image file = {0};
    spec_gguf gguf;
    spec_error error = {""};
    for (uint32_t alignment = 1; alignment <= 64; alignment *= 2) {
        make_tensors(&file, alignment);
        if (open_image(&gguf, &file, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
        assert_int_equal(gguf.n_tensors, 3);
        const spec_gguf_tensor *a = spec_gguf_find_tensor(&gguf, "a"), *b = spec_gguf_find_tensor(&gguf, "b");
        const spec_gguf_tensor *z = spec_gguf_find_tensor(&gguf, "z");
        assert_null(spec_gguf_find_tensor(&gguf, "c"));
        assert_null(spec_gguf_find_tensor(&gguf, ""));
        assert_true(a->tensor.type == SPEC_TENSOR_Q8_0 && a->tensor.rows == 2 && a->tensor.cols == 64);
        assert_true(b->tensor.type == SPEC_TENSOR_F16 && b->tensor.rows == 2 && b->tensor.cols == 5);
        assert_true(z->tensor.type == SPEC_TENSOR_F32 && z->tensor.rows == 2 && z->tensor.cols == 3);
        assert_int_equal(b->n_dimensions, 3);
        assert_true(b->dimension[0] == 5 && b->dimension[1] == 1 && b->dimension[2] == 2 && b->dimension[3] == 1);
        assert_int_equal(*(const unsigned char *)z->tensor.data, 0);
        assert_int_equal(*(const unsigned char *)b->tensor.data, 64);
        assert_int_equal(*(const unsigned char *)a->tensor.data, 128);
        spec_gguf_free(&gguf);
    }
    free(file.bytes);
}

static void types_of_tensors_have_the_numbers_of_the_format(void **state)
{
    (void)state;
    static const uint32_t number[] = {0, 1, 30, 8, 2};
    for (int type = 0; type < SPEC_TENSOR_TYPES; type++) {
        assert_int_equal(spec_gguf_tensor_number((spec_tensor_type)type), number[type]);
        assert_int_equal(spec_gguf_tensor_type(number[type]), type);
    }
    assert_int_equal(spec_gguf_tensor_type(12), SPEC_TENSOR_TYPES);
}

/* ---- what cannot be ---------------------------------------------------------------------------------------------- */

static void files_of_another_kind_are_refused(void **state)
{
    (void)state;
    image file = {0};
    put(&file, "GGU", 3);
    refused(&file, ": is no GGUF file");
    put(&file, "f", 1);
    refused(&file, ": is no GGUF file");
    begin(&file, 1, 0, 0);
    refused(&file, ": is GGUF version 1; 2 and 3 can be read");
    begin(&file, 4, 0, 0);
    refused(&file, ": is GGUF version 4; 2 and 3 can be read");
    begin(&file, 0x03000000, 0, 0);
    refused(&file, ": is a big-endian GGUF file");
    begin(&file, 3, 0, 0);
    file.length = 0;
    refused(&file, ": the file is empty");
    free(file.bytes);
}

/* Wherever a file is cut, it is told; but within the padding after the last tensor nothing is missing. */
static void a_file_that_is_cut_short_is_refused(void **state)
{
    (void)state;
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
        if (strstr(error.text, header ? ": is cut short: it ends within its header" : ": is cut short: ") == NULL)
            fail_msg("%zu bytes: %s", file.length, error.text);
    }
    file.length = whole;
    assert_int_equal(open_image(&gguf, &file, &error), GSL_SUCCESS);
    spec_gguf_free(&gguf);
    make_tensors(&file, 32);
    put(&file, "x", 1);
    refused(&file, ": 1 bytes follow its last tensor");
    free(file.bytes);
}

static void counts_and_lengths_beyond_the_file_are_refused(void **state)
{
    (void)state;
    const uint64_t huge[] = {UINT64_MAX, UINT64_MAX / 8, INT64_MAX, (uint64_t)1 << 32, UINT32_MAX};
    image file = {0};
    begin(&file, 3, 0, SPEC_GGUF_COUNT_MAX + 1);
    refused(&file, ": claims 1048577 values and 0 tensors; 1048576 of each can be read");
    begin(&file, 3, UINT64_MAX, 1);
    refused(&file, ": claims 1 values and 18446744073709551615 tensors; 1048576 of each can be read");
    begin(&file, 3, 0, SPEC_GGUF_COUNT_MAX);
    refused(&file, ": is cut short: it ends within its header");
    begin(&file, 3, SPEC_GGUF_COUNT_MAX, 0);
    refused(&file, ": is cut short: it ends within its header");
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        begin(&file, 3, 0, 1); /* of a key, a text, an array of bytes, of numbers, of texts */
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

static void values_that_cannot_be_are_refused(void **state)
{
    (void)state;
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
    refused(&file, ": the value of 'same' is there twice");
    begin(&file, 3, 0, 1);
    put_value(&file, "tell\033[2J\n", 13, "12345678", 8); /* no terminal obeys it */
    refused(&file, ": the value of 'tell?[2J?' is of type 13, which is not known");
    const uint32_t alignment[] = {0, 3, 48, 1 << 21};
    for (int i = 0; i < 4; i++) {
        make_tensors(&file, 32);
        memcpy(file.bytes + 24 + 8 + 17 + 4, &alignment[i], 4);
        char line[128];
        snprintf(line, sizeof line,
                 i == 1 || i == 2 ? ": an alignment of %u is no power of two"
                                  : ": the value of 'general.alignment' is not a whole number between 1 and 1048576",
                 alignment[i]);
        refused(&file, line);
    }
    free(file.bytes);
}

static void refused_tensor(int n, const uint64_t *size, uint32_t type, uint64_t offset, const char *line)
{
    image file = {0};
    begin(&file, 3, 1, 0);
    put_tensor(&file, "name", n, size, type, offset);
    pad(&file, 32);
    for (int i = 0; i < 4; i++) put(&file, "0123456789abcdef0123456789abcdef", 32);
    refused(&file, line);
    free(file.bytes);
}

static void tensors_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const uint64_t five[] = {1, 1, 1, 1, 1}, fits[] = {32};
    refused_tensor(0, five, 0, 0, ": tensor 'name' has 0 dimensions, not 1 to 4");
    refused_tensor(5, five, 0, 0, ": tensor 'name' has 5 dimensions, not 1 to 4");
    refused_tensor(1, (uint64_t[]){0}, 0, 0, ": dimension 0 of tensor 'name' is 0, which cannot be");
    refused_tensor(2, (uint64_t[]){1, 0}, 0, 0, ": dimension 1 of tensor 'name' is 0, which cannot be");
    refused_tensor(1, (uint64_t[]){(uint64_t)1 << 31}, 0, 0,
                   ": dimension 0 of tensor 'name' is 2147483648, which cannot be");
    refused_tensor(2, (uint64_t[]){1, UINT64_MAX}, 0, 0,
                   ": dimension 1 of tensor 'name' is 18446744073709551615, which cannot be");
    refused_tensor(3, (uint64_t[]){1, 65536, 65536}, 0, 0, ": dimension 2 of tensor 'name' is 65536, which cannot be");
    refused_tensor(1, fits, 12, 0, ": tensor 'name' is of type Q4_K; F32, F16, BF16, Q8_0 and Q4_0 can be read");
    refused_tensor(1, fits, 14, 0, ": tensor 'name' is of type Q6_K; F32, F16, BF16, Q8_0 and Q4_0 can be read");
    refused_tensor(1, fits, 39, 0, ": tensor 'name' is of type MXFP4; F32, F16, BF16, Q8_0 and Q4_0 can be read");
    refused_tensor(1, fits, 40, 0, ": tensor 'name' is of type 40; F32, F16, BF16, Q8_0 and Q4_0 can be read");
    refused_tensor(1, fits, UINT32_MAX, 0,
                   ": tensor 'name' is of type 4294967295; F32, F16, BF16, Q8_0 and Q4_0 can be read");
    refused_tensor(1, (uint64_t[]){33}, 8, 0,
                   ": the rows of tensor 'name' have 33 weights, no multiple of the 32 of a block");
    refused_tensor(1, fits, 0, 1, ": tensor 'name' lies off the alignment of 32 bytes");
    refused_tensor(1, (uint64_t[]){33}, 0, 0, ": is cut short: tensor 'name' ends beyond its 192 bytes");
    refused_tensor(1, fits, 0, 32, ": is cut short: tensor 'name' ends beyond its 192 bytes");
    refused_tensor(1, fits, 0, UINT64_MAX - 31, ": is cut short: tensor 'name' ends beyond its 192 bytes");
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
        if (second == 0) { /* either may come first, they begin together */
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
    refused(&file, ": tensor 'one' is there twice");
    begin(&file, 3, 1, 0);
    put_tensor(&file, "", 1, (uint64_t[]){8}, 0, 0);
    pad(&file, 32);
    refused(&file, ": tensor 0 has no name");
    free(file.bytes);
}

/* As many values as there may be, of one name but for its end, and the last two the same: a second for all. A pairwise
 * comparison would take 5e11 of them. */
static void a_million_values_take_no_quadratic_time(void **state)
{
    (void)state;
    image file = {0};
    char key[32];
    begin(&file, 3, 0, SPEC_GGUF_COUNT_MAX);
    for (int i = 0; i < SPEC_GGUF_COUNT_MAX; i++) {
        snprintf(key, sizeof key, "the.same.%07d", i == 1 ? 0 : (int)((unsigned)i * 7919u % SPEC_GGUF_COUNT_MAX));
        put_value(&file, key, 0, "1", 1);
    }
    const clock_t start = clock();
    refused(&file, ": the value of 'the.same.0000000' is there twice");
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 5.0) fail_msg("%.1f s", seconds);
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_are_read),
        cmocka_unit_test(the_smallest_files_are_read),
        cmocka_unit_test(arrays_are_read),
        cmocka_unit_test(values_of_another_kind_are_refused),
        cmocka_unit_test(tensors_lie_where_they_say),
        cmocka_unit_test(types_of_tensors_have_the_numbers_of_the_format),
        cmocka_unit_test(files_of_another_kind_are_refused),
        cmocka_unit_test(a_file_that_is_cut_short_is_refused),
        cmocka_unit_test(counts_and_lengths_beyond_the_file_are_refused),
        cmocka_unit_test(values_that_cannot_be_are_refused),
        cmocka_unit_test(tensors_that_cannot_be_are_refused),
        cmocka_unit_test(a_million_values_take_no_quadratic_time),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
