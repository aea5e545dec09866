/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads checkpoints and vocabularies of llama2.c, written by hand in the order of its export; and
 * invalid ones. */
#include "models/transformer/files/checkpoint.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/llama2c_vocabulary.h"

#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DIM = 8,
    FFN = 12,
    LAYERS = 2,
    HEADS = 4,
    KV_HEADS = 2,
    VOCAB = 10,
    CONTEXT = 6,
    HEAD = DIM / HEADS
};

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/speclab-llama2c-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const files[] = {"a.bin", "tokenizer.bin", "other.bin", "fifo", "shut"};
    char path[128];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t length)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

/* ---- a checkpoint ---------------------------------------------------------------------------- */

/* Makes a file in memory in which every weight is its own index, so that a tensor shows where it
 * was read. */
typedef struct {
    unsigned char bytes[16384];
    size_t length;
} image;

static void put(image *to, const void *bytes, size_t length)
{
    assert_true(length <= sizeof to->bytes - to->length);
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static float put_weights(image *to, int n)
{
    const float first = (float)to->length;
    for (int i = 0; i < n; i++) put(to, &(float){first + (float)i}, sizeof(float));
    return first;
}

static void make_v0(image *to, bool has_output)
{
    const int32_t head[] = {DIM,    FFN, LAYERS, HEADS, KV_HEADS, has_output ? -VOCAB : VOCAB,
                            CONTEXT};
    to->length = 0;
    put(to, head, sizeof head);
    put_weights(to,
                VOCAB * DIM +
                    LAYERS * (2 * DIM + 2 * DIM * DIM + 2 * DIM * HEAD * KV_HEADS + 3 * FFN * DIM) +
                    DIM);
    put_weights(to, CONTEXT * HEAD);
    if (has_output) put_weights(to, VOCAB * DIM);
}

static void make_v1(image *to, bool has_output)
{
    const int32_t head[] = {1, DIM, FFN, LAYERS, HEADS, KV_HEADS, VOCAB, CONTEXT};
    const unsigned char rest[256 - 36] = {!has_output};
    to->length = 0;
    put(to, "24ka", 4);
    put(to, head, sizeof head);
    put(to, rest, sizeof rest);
    put_weights(to,
                VOCAB * DIM +
                    LAYERS * (2 * DIM + 2 * DIM * DIM + 2 * DIM * HEAD * KV_HEADS + 3 * FFN * DIM) +
                    DIM);
    if (has_output) put_weights(to, VOCAB * DIM);
}

static int load(spec_checkpoint *ret, const char *name, const char *keys, spec_error *error)
{
    char text[1024];
    OWNED(spec_settings) settings;
    snprintf(text, sizeof text, "llama2c:%s%s", name[0] == '/' ? name : in_folder(name), keys);
    assert_int_equal(spec_settings_init(&settings, text, error), GSL_SUCCESS);
    const int status = spec_checkpoint_load_llama2c(ret, &settings, spec_test_pool(0), error);
    return status;
}

/* Returns the first weight of a tensor, after checking its shape and that the other weights are the
 * next numbers. */
static float first_of(const spec_tensor *tensor, int rows, int cols)
{
    float row[64], first = 0.0f;
    assert_int_equal(tensor->type, SPEC_TENSOR_F32);
    assert_int_equal(tensor->rows, rows);
    assert_int_equal(tensor->cols, cols);
    for (int r = 0; r < rows; r++) {
        spec_tensor_decode_row(row, tensor, r);
        if (r == 0) first = row[0];
        for (int c = 0; c < cols; c++) assert_true(row[c] == first + (float)(r * cols + c));
    }
    return first;
}

/* Checks that the tensors are contiguous from `*at` on. Weights are numbered from the start of
 * their run. */
static void follows(size_t *at, const spec_tensor *tensor, int rows, int cols)
{
    assert_true(first_of(tensor, rows, cols) == (float)*at);
    *at += (size_t)rows * (size_t)cols;
}

TEST(a_checkpoint_of_version_0_is_read_in_its_order)
{
    image file;
    spec_checkpoint model;
    for (int has_output = 0; has_output < 2; has_output++) {
        make_v0(&file, has_output);
        write_file("a.bin", file.bytes, file.length);
        assert_works(load(&model, "a.bin", "", &error));
        const spec_checkpoint_layer *layer = model.layer;
        size_t at = 28;
        follows(&at, &model.embedding, VOCAB, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].attention_norm, 1, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].query, DIM, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].key, KV_HEADS * HEAD, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].value, KV_HEADS * HEAD, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].attention_output, DIM, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].ffn_norm, 1, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].gate, FFN, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].down, DIM, FFN);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].up, FFN, DIM);
        follows(&at, &model.final_norm, 1, DIM);
        assert_ptr_equal(model.output.data == model.embedding.data ? (void *)1 : NULL,
                         has_output ? NULL : (void *)1);
        if (has_output) {
            size_t end = file.length - VOCAB * DIM * sizeof(float);
            follows(&end, &model.output, VOCAB, DIM);
        }
        assert_null(layer[0].query_bias.data);
        spec_checkpoint_free(&model);
        spec_checkpoint_free(&model);
    }
}

TEST(a_checkpoint_of_version_1_is_read_in_its_order)
{
    image file;
    spec_checkpoint model;
    for (int has_output = 0; has_output < 2; has_output++) {
        make_v1(&file, has_output);
        write_file("a.bin", file.bytes, file.length);
        assert_works(load(&model, "a.bin", "", &error));
        const spec_checkpoint_layer *layer = model.layer;
        size_t at = 256;
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].attention_norm, 1, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].ffn_norm, 1, DIM);
        follows(&at, &model.final_norm, 1, DIM);
        follows(&at, &model.embedding, VOCAB, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].query, DIM, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].key, KV_HEADS * HEAD, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].value, KV_HEADS * HEAD, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].attention_output, DIM, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].gate, FFN, DIM);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].down, DIM, FFN);
        for (int i = 0; i < LAYERS; i++) follows(&at, &layer[i].up, FFN, DIM);
        assert_true((model.output.data == model.embedding.data) == !has_output);
        spec_checkpoint_free(&model);
    }
}

TEST(shape_and_keys_are_as_they_are_given)
{
    image file;
    spec_checkpoint model;
    make_v0(&file, true);
    write_file("a.bin", file.bytes, file.length);
    assert_works(load(&model, "a.bin", "", &error));
    const spec_shape *shape = &model.shape;
    assert_int_equal(shape->dim, DIM);
    assert_int_equal(shape->ffn_dim, FFN);
    assert_int_equal(shape->n_layers, LAYERS);
    assert_int_equal(shape->n_heads, HEADS);
    assert_int_equal(shape->n_kv_heads, KV_HEADS);
    assert_int_equal(shape->head_dim, HEAD);
    assert_int_equal(shape->vocab, VOCAB);
    assert_int_equal(shape->context, CONTEXT);
    assert_true(shape->norm_eps == 1e-5f && shape->rope.base == 10000.0);
    assert_int_equal(shape->rope_pairs, SPEC_ROPE_ADJACENT);
    assert_null(shape->rope.opt_factor);
    assert_int_equal(model.begin_of_text, 1);
    assert_true(model.adds_begin);
    assert_true(model.ends.n == 1 && model.ends.token[0] == 1);
    assert_null(model.opt_tokenizer);
    spec_checkpoint_free(&model);
    assert_works(load(&model, "a.bin", "?end=-1&context=4", &error));
    assert_int_equal(model.ends.n, 0);
    assert_int_equal(model.shape.context, 4);
    spec_checkpoint_free(&model);
    assert_works(load(&model, "a.bin", "?end=9&context=100", &error));
    assert_true(model.ends.n == 1 && model.ends.token[0] == 9);
    assert_int_equal(model.shape.context, CONTEXT);
    spec_checkpoint_free(&model);
    assert_status(load(&model, "a.bin", "?end=10", &error), GSL_EINVAL);
    assert_status(load(&model, "a.bin", "?context=-1", &error), GSL_EINVAL);
    assert_fails(load(&model, "a.bin", "?context=1", &error), GSL_EINVAL,
                 "llama2c: context=1 leaves no room for a text");
}

/* ---- invalid files --------------------------------------------------------------------------- */

static void refused(const char *name, const char *keys, const char *line)
{
    spec_checkpoint model;
    spec_error error = {""};
    assert_int_not_equal(load(&model, name, keys, &error), GSL_SUCCESS);
    if (strstr(error.text, line) == NULL) fail_msg("'%s' lacks '%s'", error.text, line);
    if (strstr(error.text, folder) != error.text)
        fail_msg("'%s' does not begin with the file", error.text);
    assert_null(model.layer);
    assert_null(model.owned);
}

/* Makes a file in which one number of the header is changed. */
static void refused_header(int at, int32_t value, const char *line)
{
    image file;
    make_v0(&file, false);
    memcpy(file.bytes + 4 * at, &value, sizeof value);
    write_file("a.bin", file.bytes, file.length);
    refused("a.bin", "", line);
}

TEST(absurd_headers_are_refused)
{
    refused_header(0, 0,
                   "a.bin: not a llama2.c checkpoint: the embedding's width is 0, which is not "
                   "between 1 and 65536");
    refused_header(0, INT32_MAX, "the embedding's width is 2147483647");
    refused_header(0, INT32_MIN, "the embedding's width is -2147483648");
    refused_header(0, 1 << 20, "the embedding's width is 1048576");
    refused_header(1, -1, "the feed-forward width is -1");
    refused_header(1, INT32_MAX, "the feed-forward width is 2147483647");
    refused_header(2, 0, "the number of layers is 0");
    refused_header(2, 513, "the number of layers is 513, which is not between 1 and 512");
    refused_header(3, 0, "the number of heads is 0");
    refused_header(0, 10, "4 heads do not divide a width of 10");
    refused_header(3, 8, "the width of a head is 1, which is odd");
    refused_header(4, 0, "the number of key-value heads is 0");
    refused_header(4, 5, "the number of key-value heads is 5, which is not between 1 and 4");
    refused_header(4, 3, "4 heads cannot share 3 key-value heads evenly");
    refused_header(5, 0, "the vocabulary is 0");
    refused_header(5, INT32_MIN, "the vocabulary is -2147483648");
    refused_header(5, INT32_MAX, "the vocabulary is 2147483647");
    refused_header(5, 1, "a vocabulary of one has no token to begin a text with");
    refused_header(6, 0, "the context is 0");
    refused_header(6, INT32_MAX, "the context is 2147483647");
    refused_header(0, 1 << 16, "the width of a head is 16384");
    refused_header(5, 1 << 20, "it is cut short");
    refused_header(6, 5, "something follows it");
}

TEST(files_of_another_length_are_refused)
{
    image file;
    char line[128];
    make_v0(&file, true);
    for (size_t length = 1; length < file.length; length += 1 + length / 16) {
        write_file("a.bin", file.bytes, length);
        snprintf(line, sizeof line,
                 length < 28 ? "has %zu bytes, fewer than" : "has %zu bytes where", length);
        refused("a.bin", "", line);
    }
    file.bytes[file.length] = 0;
    write_file("a.bin", file.bytes, file.length + 1);
    refused("a.bin", "", "something follows it");
    make_v1(&file, true);
    write_file("a.bin", file.bytes, 255);
    refused("a.bin", "", "a llama2.c checkpoint of version 0");
    write_file("a.bin", file.bytes, file.length - 4);
    refused("a.bin", "", "it is cut short");
    file.bytes[4] = 2;
    write_file("a.bin", file.bytes, file.length);
    refused("a.bin", "", "a quantised llama2.c checkpoint (version 2) is not supported");
    file.bytes[4] = 7;
    write_file("a.bin", file.bytes, file.length);
    refused("a.bin", "", "a llama2.c checkpoint of version 7");
}

TEST(other_files_are_refused_at_once)
{
    write_file("a.bin", "", 0);
    refused("a.bin", "", "a.bin: the file is empty");
    write_file("a.bin", "GGUF and twenty-four bytes more", 31);
    refused("a.bin", "", "a.bin: is a GGUF file");
    write_file("a.bin", "Once upon a time there was a text.", 34);
    refused("a.bin", "", "a.bin: not a llama2.c checkpoint: the embedding's width is 1701015119");
    refused("", "", ": is a folder");
    refused("none.bin", "", "none.bin: No such file or directory");
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    refused("fifo", "", "fifo: is not a regular file");
    spec_checkpoint model;
    assert_fails(load(&model, "/dev/zero", "", &error), GSL_EINVAL,
                 "/dev/zero: is not a regular file");
    if (geteuid() == 0) return; /* root may read everything */
    write_file("shut", "x", 1);
    chmod(in_folder("shut"), 0);
    refused("shut", "", "shut: Permission denied");
}

TEST(weights_that_are_not_finite_are_refused)
{
    const float odd[] = {NAN, INFINITY, -INFINITY};
    image file;
    for (int i = 0; i < 3; i++) {
        make_v0(&file, true);
        memcpy(file.bytes + 28 + (3 * DIM + 2) * 4, &odd[i], 4);
        write_file("a.bin", file.bytes, file.length);
        refused("a.bin", "", "row 3 of token_embd.weight has a weight that is not finite");
        make_v0(&file, true);
        memcpy(file.bytes + 28 + (VOCAB * DIM + DIM + 5) * 4, &odd[i], 4);
        write_file("a.bin", file.bytes, file.length);
        refused("a.bin", "", "row 0 of blk.1.attn_norm.weight has");
        make_v0(&file, true);
        memcpy(file.bytes + file.length - 4, &odd[i], 4);
        write_file("a.bin", file.bytes, file.length);
        refused("a.bin", "", "row 9 of output.weight has");
    }
}

/* ---- the vocabulary -------------------------------------------------------------------------- */

static void make_vocabulary(image *to, int n)
{
    static const char *const piece[] = {"<unk>", "\n<s>\n",  "\n</s>\n", "<0x0A>", " ",
                                        "a",     "\xc3\xa9", "<0xAG>",   "",       "a b"};
    to->length = 0;
    put(to, &(int32_t){6}, 4);
    for (int i = 0; i < n; i++) {
        put(to, &(float){0.25f - (float)i}, 4);
        put(to, &(int32_t){(int32_t)strlen(piece[i])}, 4);
        put(to, piece[i], strlen(piece[i]));
    }
}

TEST(a_vocabulary_is_read_as_its_file_spells_it)
{
    image file;
    spec_llama2c_vocabulary vocabulary;
    make_vocabulary(&file, VOCAB);
    write_file("tokenizer.bin", file.bytes, file.length);
    const int status =
        spec_llama2c_vocabulary_load(&vocabulary, in_folder("a.bin"), NULL, VOCAB, NULL);
    assert_int_equal(status, GSL_SUCCESS);
    const spec_tokenizer_data *data = &vocabulary.data;
    assert_int_equal(data->kind, SPEC_TOKENIZER_SPM);
    assert_int_equal(data->vocab, VOCAB);
    assert_true(data->adds_space);
    assert_int_equal(data->unknown, 0);
    assert_int_equal(data->piece[1].length, 3);
    assert_memory_equal(data->piece[9].bytes, "a b", 3);
    assert_true(data->opt_score[7] == -6.75f);
    static const int type[] = {SPEC_PIECE_UNKNOWN, SPEC_PIECE_CONTROL, SPEC_PIECE_CONTROL,
                               SPEC_PIECE_BYTE,    SPEC_PIECE_NORMAL,  SPEC_PIECE_NORMAL,
                               SPEC_PIECE_NORMAL,  SPEC_PIECE_NORMAL,  SPEC_PIECE_NORMAL,
                               SPEC_PIECE_NORMAL};
    assert_memory_equal(data->opt_type, type, sizeof type);
    spec_llama2c_vocabulary_free(&vocabulary);
    assert_int_equal(spec_llama2c_vocabulary_load(&vocabulary, in_folder("a.bin"), "", VOCAB, NULL),
                     GSL_SUCCESS);
    assert_int_equal(vocabulary.data.vocab, 0);
    unlink(in_folder("tokenizer.bin"));
    assert_int_equal(
        spec_llama2c_vocabulary_load(&vocabulary, in_folder("a.bin"), NULL, VOCAB, NULL),
        GSL_SUCCESS);
    assert_int_equal(vocabulary.data.vocab, 0);
}

static void refused_vocabulary(const char *name, const char *line)
{
    spec_llama2c_vocabulary vocabulary;
    spec_error error = {""};
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder(name));
    assert_int_not_equal(spec_llama2c_vocabulary_load(&vocabulary, "x", path, VOCAB, &error),
                         GSL_SUCCESS);
    if (strstr(error.text, line) == NULL || strstr(error.text, path) != error.text)
        fail_msg("'%s' lacks '%s'", error.text, line);
    assert_int_equal(vocabulary.data.vocab, 0);
}

TEST(vocabularies_that_do_not_fit_are_refused)
{
    image file;
    refused_vocabulary("other.bin", "No such file or directory");
    make_vocabulary(&file, VOCAB);
    for (size_t length = 1; length < file.length; length++) {
        write_file("other.bin", file.bytes, length);
        const size_t last = file.length - 3, before = last - 8;
        refused_vocabulary("other.bin", length / 8 < VOCAB ? "too few for the model's 10 tokens"
                                        : length >= last ? "token 9 has 3 bytes where the file has"
                                        : length >= before ? "ends after 9 of the model's 10 tokens"
                                                           : "");
    }
    file.bytes[file.length] = 0;
    write_file("other.bin", file.bytes, file.length + 1);
    refused_vocabulary(
        "other.bin", "1 bytes follow the model's 10 tokens; is it the tokenizer of another model?");
    const int32_t length[] = {-1, INT32_MAX, INT32_MIN, 200};
    for (int i = 0; i < 4; i++) {
        make_vocabulary(&file, VOCAB);
        memcpy(file.bytes + 8, &length[i], 4);
        write_file("other.bin", file.bytes, file.length);
        refused_vocabulary("other.bin", "token 0 has ");
    }
    make_vocabulary(&file, VOCAB);
    memcpy(file.bytes + 4, &(float){NAN}, 4);
    write_file("other.bin", file.bytes, file.length);
    refused_vocabulary("other.bin", "the score of token 0 is not finite");
}

TEST(the_checkpoints_of_others_are_read)
{
    char path[256];
    OWNED(spec_checkpoint) model;
    spec_test_data(path, sizeof path, "stories260K/stories260K.bin");
    assert_works(load(&model, path, "", &error));
    assert_int_equal(model.shape.dim, 64);
    assert_int_equal(model.shape.vocab, 512);
    spec_checkpoint_free(&model);
    spec_test_data(path, sizeof path, "babyllama/target.bin");
    assert_works(load(&model, path, "", &error));
    assert_int_equal(model.shape.n_kv_heads, 4);
}

SUITE(.setup = make_folder, .teardown = remove_folder);
