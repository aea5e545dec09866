/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads folders with one file, with shards, and with files that cannot be read. */
#include "models/import/tensor_folder.h"

#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put_file(const char *path, const char *first, const char *second)
{
    spec_hf_file file = {0};
    const float value[] = {1.0f, 2.0f, 3.0f, 4.0f};
    spec_hf_folder_put(&file, first, "F32", 2, (int[]){2, 2}, value, sizeof value);
    if (second != NULL)
        spec_hf_folder_put(&file, second, "BF16", 1, (int[]){3}, NULL, 3 * sizeof(uint16_t));
    spec_hf_folder_write(&file, path);
}

static void refused(const char *path, const char *expected)
{
    spec_tensor_folder folder;
    spec_error error = {""};
    assert_int_not_equal(spec_tensor_folder_init(&folder, path, &error), GSL_SUCCESS);
    assert_memory_equal(error.text, path, strlen(path));
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_null(strchr(error.text, '\n'));
    assert_null(folder.file);
    assert_null(folder.taken);
}

TEST(weights_of_one_file_are_taken)
{
    OWNED(spec_tensor_folder) folder;
    spec_tensor tensor;
    mkdir("one", 0700);
    put_file("one/anything.safetensors", "m", "v");
    assert_works(spec_tensor_folder_init(&folder, "one", &error));
    assert_string_equal(spec_tensor_folder_left(&folder), "m");
    assert_non_null(spec_tensor_folder_look(&folder, "m"));
    assert_string_equal(spec_tensor_folder_left(&folder), "m");
    assert_works(spec_tensor_folder_weights(&tensor, &folder, "m", 2, 2, &error));
    assert_int_equal(tensor.type, SPEC_TENSOR_F32);
    float row[2];
    spec_tensor_decode_row(row, &tensor, 1);
    assert_true(row[0] == 3.0f && row[1] == 4.0f);
    assert_string_equal(spec_tensor_folder_left(&folder), "v");
    assert_works(spec_tensor_folder_weights(&tensor, &folder, "v", 1, 3, &error));
    assert_int_equal(tensor.type, SPEC_TENSOR_BF16);
    assert_null(spec_tensor_folder_left(&folder));
}

TEST(weights_of_another_shape_or_type_are_refused)
{
    static const struct {
        const char *name;
        int rows, cols;
        const char *expected;
    } cases[] = {
        {"w", 2, 2, "one: tensor 'w' is missing"},
        {"m", 4, 1, "one: tensor 'm' has 2 dimensions, 2 x 2, where the shape asks for 4 x 1"},
        {"m", 1, 4, "one: tensor 'm' has 2 dimensions, 2 x 2, where the shape asks for 1 x 4"},
        {"v", 3, 1, "one: tensor 'v' has 1 dimensions, 1 x 3, where the shape asks for 3 x 1"},
        {"i", 1, 1, "one: tensor 'i' is of dtype I64; only F32, F16 and BF16 are supported"},
        {"s", 1, 1, "one: tensor 's' has 0 dimensions"},
        {"t", 1, 1, "one: tensor 't' has 3 dimensions"},
        {"c", 3, 2, "one: tensor 'c' has 3 dimensions, 2 x 3, where the shape asks for 3 x 2"},
    };
    OWNED(spec_tensor_folder) folder;
    spec_error error = {""};
    spec_hf_file file = {0};
    spec_hf_folder_put(&file, "m", "F32", 2, (int[]){2, 2}, NULL, 16);
    spec_hf_folder_put(&file, "v", "F16", 1, (int[]){3}, NULL, 6);
    spec_hf_folder_put(&file, "i", "I64", 1, (int[]){1}, NULL, 8);
    spec_hf_folder_put(&file, "s", "F32", 0, NULL, NULL, 4);
    spec_hf_folder_put(&file, "t", "F32", 3, (int[]){1, 2, 1}, NULL, 8);
    spec_hf_folder_put(&file, "c", "F32", 3, (int[]){2, 1, 3}, NULL, 24);
    spec_hf_folder_write(&file, "one/anything.safetensors");
    assert_works(spec_tensor_folder_init(&folder, "one", &error));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_tensor tensor;
        assert_int_equal(spec_tensor_folder_weights(&tensor, &folder, cases[i].name, cases[i].rows,
                                                    cases[i].cols, &error),
                         GSL_EINVAL);
        if (strstr(error.text, cases[i].expected) != error.text)
            fail_msg("'%s' lacks '%s'", error.text, cases[i].expected);
        assert_null(tensor.data);
    }
    spec_tensor convolution;
    assert_works(spec_tensor_folder_weights(&convolution, &folder, "c", 2, 3, &error));
}

#define INDEX(map) spec_hf_folder_text("shards/model.safetensors.index.json", map)

TEST(shards_are_one_folder)
{
    OWNED(spec_tensor_folder) folder;
    mkdir("shards", 0700);
    put_file("shards/x-1.safetensors", "a", "b");
    put_file("shards/x-2.safetensors", "c", NULL);
    put_file("shards/other.safetensors", "a", NULL); /* not in the index */
    INDEX("{'metadata':{},'weight_map':{'a':'x-1.safetensors','b':'x-1.safetensors','c':"
          "'x-2.safetensors'}}");
    assert_works(spec_tensor_folder_init(&folder, "shards", &error));
    assert_int_equal(folder.n_files, 2);
    assert_int_equal(folder.n_tensors, 3);
    assert_non_null(spec_tensor_folder_find(&folder, "c"));
}

TEST(an_index_must_be_right)
{
    INDEX("{'metadata':{}}");
    refused("shards", "key 'weight_map' is missing");
    INDEX("{'weight_map':3}");
    refused("shards", "the value of 'weight_map' is not an object");
    INDEX("{'weight_map':{'a':'../shards/x-1.safetensors'}}");
    refused("shards", "tensor 'a' is in no file of this folder that ends with .safetensors");
    INDEX("{'weight_map':{'a':1}}");
    refused("shards", "tensor 'a' is in no file of this folder");
    INDEX("{'weight_map':{'a':'x-1.bin'}}");
    refused("shards", "tensor 'a' is in no file of this folder");
    INDEX("{'weight_map':{'a':'x-2.safetensors'}}");
    refused("shards", "tensor 'a' is not in x-2.safetensors");
    INDEX("{'weight_map':{'a':'x-3.safetensors'}}");
    refused("shards", "x-3.safetensors: No such file");
    INDEX("{'weight_map':{'a':'x-1.safetensors','c':'x-2.safetensors','d':'x-4.safetensors'}}");
    put_file("shards/x-4.safetensors", "d", "b");
    refused("shards", "tensor 'b' is in two files");
    INDEX("{'weight_map'");
    refused("shards", "is not valid JSON");
}

TEST(folders_without_safetensors_are_refused)
{
    refused("none", "No such file");
    mkdir("empty", 0700);
    refused("empty", "has no file that ends with .safetensors");
    spec_hf_folder_text("empty/config.json", "{}");
    refused("empty/config.json", "Not a directory");
    spec_hf_folder_text("empty/pytorch_model.bin", "x");
    refused("empty",
            "pytorch_model.bin is pickled, which is not supported: type python3 -c 'import "
            "sys, torch, safetensors.torch as s; s.save_file(");
    refused("empty", "torch.load(sys.argv[1], weights_only=True).items()}, \"model.safetensors\")' "
                     "pytorch_model.bin");
    /* Neither Python nor the shell reads a name as code. */
    unlink("empty/pytorch_model.bin");
    spec_hf_folder_text("empty/\");x(\"';touch P;.bin", "x");
    refused("empty", "\"model.safetensors\")' '\");x(\"'\\'';touch P;.bin'");
    unlink("empty/\");x(\"';touch P;.bin");
    put_file("empty/a.safetensors", "a", NULL);
    put_file("empty/b.safetensors", "b", NULL);
    refused("empty", "has 2 files that end with .safetensors, and no model.safetensors.index.json");
    spec_hf_folder_text("empty/model.safetensors", "x");
    refused("empty", "empty/model.safetensors: is cut short: it has 1 bytes");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
