/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads valid safetensors files, and files that are wrong in each way, with one line for each. */
#include "models/import/safetensors.h"

#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

TEST(tensors_are_found_by_name_with_their_shapes)
{
    static const float matrix[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    static const int64_t offsets[] = {7, -7};
    spec_hf_file file = {0};
    OWNED(spec_safetensors) read;
    spec_hf_folder_put(&file, "zeta", "F32", 2, (int[]){2, 3}, matrix, sizeof matrix);
    spec_hf_folder_put(&file, "d2t", "I64", 1, (int[]){2}, offsets, sizeof offsets);
    spec_hf_folder_put(&file, "one", "BOOL", 0, NULL, NULL, 1);
    spec_hf_folder_put(&file, "alpha", "BF16", 4, (int[]){1, 2, 1, 3}, NULL, 12);
    spec_hf_folder_write(&file, "a.safetensors");
    assert_works(spec_safetensors_init(&read, "a.safetensors", &error));
    assert_int_equal(read.n_tensors, 4);
    for (size_t i = 1; i < 4; i++)
        assert_true(strcmp(read.tensor[i - 1].name, read.tensor[i].name) < 0);
    const spec_safetensors_tensor *zeta = spec_safetensors_find(&read, "zeta");
    assert_string_equal(zeta->type, "F32");
    assert_int_equal(zeta->n_dimensions, 2);
    assert_int_equal(zeta->dimension[0], 2);
    assert_int_equal(zeta->dimension[1], 3);
    assert_memory_equal(zeta->data, matrix, sizeof matrix);
    assert_memory_equal(spec_safetensors_find(&read, "d2t")->data, offsets, sizeof offsets);
    assert_int_equal(spec_safetensors_find(&read, "one")->n_dimensions, 0);
    assert_int_equal(spec_safetensors_find(&read, "alpha")->dimension[3], 3);
    assert_null(spec_safetensors_find(&read, "beta"));
}

static void refused(const char *expected)
{
    spec_safetensors read;
    spec_error error = {""};
    assert_int_equal(spec_safetensors_init(&read, "bad.safetensors", &error), GSL_EINVAL);
    assert_memory_equal(error.text, "bad.safetensors: ", 17);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_null(strchr(error.text, '\n'));
    assert_null(read.tensor);
    assert_null(read.mapping.bytes);
}

static void refused_header(const char *header, size_t data_bytes, const char *expected)
{
    spec_hf_folder_write_header("bad.safetensors", header, data_bytes);
    refused(expected);
}

static void write_bytes(const void *bytes, size_t n)
{
    FILE *out = fopen("bad.safetensors", "wb");
    assert_non_null(out);
    fwrite(bytes, 1, n, out);
    assert_int_equal(fclose(out), 0);
}

TEST(files_that_are_cut_short_are_refused)
{
    const uint64_t huge = UINT64_MAX, eleven = 11;
    unsigned char bytes[18] = "????????0123456789";
    write_bytes(bytes, 9);
    refused("is cut short: it has 9 bytes");
    write_bytes("PK\3\4 a pickled file of torch", 28);
    refused("is cut short, or not a safetensors file: its header of ");
    memcpy(bytes, &huge, sizeof huge);
    write_bytes(bytes, sizeof bytes);
    refused("its header of 18446744073709551615 bytes ends beyond its 18 bytes");
    memcpy(bytes, &eleven, sizeof eleven);
    write_bytes(bytes, sizeof bytes);
    refused("its header of 11 bytes ends beyond its 18 bytes");
    refused_header("{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}", 7,
                   "is cut short: tensor 'a' ends beyond its 69 bytes");
    refused_header("{'a':{'dtype':'F32','shape':[2],'data_offsets':[4611686018427387896,"
                   "4611686018427387904]}}",
                   8, "is cut short: tensor 'a' ends beyond");
}

/* A sparse file. */
TEST(a_header_beyond_the_formats_limit_is_refused)
{
    const uint64_t bytes = 100000001;
    write_bytes(&bytes, sizeof bytes);
    assert_int_equal(truncate("bad.safetensors", (off_t)(sizeof bytes + bytes)), 0);
    refused("its header has 100000001 bytes, and may have 100000000");
}

TEST(headers_that_are_no_json_are_refused)
{
    refused_header("{'a':", 0, "is not valid JSON: line 1: ");
    refused_header("{'a\nb': 1}", 0, "is not valid JSON: line 1: ");
    refused_header("['a']  ", 0, "is JSON, but not an object");
    refused_header("{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4]},"
                   "'a':{'dtype':'F32','shape':[1],'data_offsets':[4,8]}}",
                   8, "duplicate object key");
    refused_header("{'a':{'dtype':'F32','shape':[99999999999999999999],'data_offsets':[0,4]}}", 4,
                   "is not valid JSON: line 1: too big integer");
}

TEST(tensors_that_cannot_be_are_refused)
{
    refused_header("{'a': 3}", 0, "tensor 'a' has no dtype");
    refused_header("{'a':{'dtype':'F33','shape':[1],'data_offsets':[0,4]}}", 4,
                   "tensor 'a' is of dtype 'F33', which is not known");
    refused_header("{'a':{'dtype':'F32','data_offsets':[0,4]}}", 4,
                   "tensor 'a' has no shape of 0 to 4 dimensions");
    refused_header("{'a':{'dtype':'F32','shape':[1,1,1,1,1],'data_offsets':[0,4]}}", 4,
                   "tensor 'a' has no shape of 0 to 4 dimensions");
    refused_header("{'a':{'dtype':'F32','shape':[1,0],'data_offsets':[0,0]}}", 0,
                   "dimension 1 of tensor 'a' is not a whole number between 1 and 2147483647");
    refused_header("{'a':{'dtype':'F32','shape':[-1],'data_offsets':[0,4]}}", 4,
                   "dimension 0 of tensor 'a' is not a whole number");
    refused_header("{'a':{'dtype':'F32','shape':[2147483648],'data_offsets':[0,4]}}", 4,
                   "dimension 0 of tensor 'a' is not a whole number");
    refused_header("{'a':{'dtype':'F32','shape':['1'],'data_offsets':[0,4]}}", 4,
                   "dimension 0 of tensor 'a' is not a whole number");
    refused_header("{'a':{'dtype':'F64','shape':[2147483647,2147483647,2147483647],"
                   "'data_offsets':[0,4]}}",
                   4, "the shape of tensor 'a' has more than 2^64 bytes");
    refused_header("{'a':{'dtype':'F32','shape':[1],'data_offsets':[0]}}", 4,
                   "the data_offsets of tensor 'a' are not a begin and an end");
    refused_header("{'a':{'dtype':'F32','shape':[1],'data_offsets':[4,0]}}", 4,
                   "the data_offsets of tensor 'a' are not a begin and an end");
    refused_header("{'a':{'dtype':'F32','shape':[1],'data_offsets':[-4,0]}}", 4,
                   "the data_offsets of tensor 'a' are not a begin and an end");
    refused_header("{'a':{'dtype':'F32','shape':[3],'data_offsets':[0,8]}}", 8,
                   "tensor 'a' has 8 bytes where its shape asks for 12");
}

TEST(the_data_are_filled_without_gaps)
{
    refused_header("{'b':{'dtype':'F32','shape':[2],'data_offsets':[4,12]},"
                   "'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}",
                   12, "tensors 'a' and 'b' overlap");
    refused_header("{'b':{'dtype':'F32','shape':[1],'data_offsets':[0,4]},"
                   "'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4]}}",
                   4, "overlap");
    refused_header("{'b':{'dtype':'F32','shape':[1],'data_offsets':[8,12]},"
                   "'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4]}}",
                   12, "4 bytes before tensor 'b' belong to no tensor");
    refused_header("{'__metadata__':{'format':'pt'},"
                   "'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4]}}",
                   9, "5 bytes follow its last tensor");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
