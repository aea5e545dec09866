/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads files of eagle3 heads as llama.cpp's converter writes them, and wrong values in them. */
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_writer.h"

#include "tests/models/heads/head_in_file.h"
#include "tests/support/support.h"

#include <string.h>

enum { SET_MAX = 8 };

/* A change to a file: a value to add, or a value or tensor to leave out. */
typedef struct {
    const char *key;
    int kind; /* LEAVE_OUT, or the type of the new value */
    double number;
    const char *text;
} change;

enum { LEAVE_OUT, NUMBER, REAL, TEXT, TOKENS };

static bool is_changed(const change *changes, spec_piece name)
{
    for (int i = 0; i < SET_MAX && changes[i].key != NULL; i++)
        if (spec_piece_is(name, changes[i].key)) return true;
    return false;
}

static void add_value(spec_gguf_writer *writer, const change *to)
{
    spec_piece token[32];
    switch (to->kind) {
    case NUMBER: spec_gguf_writer_u32(writer, to->key, (uint32_t)to->number); break;
    case REAL: spec_gguf_writer_f32(writer, to->key, (float)to->number); break;
    case TEXT: spec_gguf_writer_text(writer, to->key, to->text); break;
    case TOKENS:
        for (int i = 0; i < (int)to->number; i++) token[i] = (spec_piece){"token", 5};
        spec_gguf_writer_texts(writer, to->key, token, (size_t)to->number);
        break;
    default: break;
    }
}

/* Writes the head, and then its file again with changes. */
static void write_changed(const spec_head *head, const change *changes)
{
    OWNED(spec_gguf) gguf;
    OWNED(spec_gguf_writer) writer;
    write_head(head);
    assert_works(spec_gguf_init(&gguf, path, &error));
    assert_works(spec_gguf_writer_init(&writer, &error));
    for (size_t i = 0; i < gguf.n_values; i++)
        if (!is_changed(changes, gguf.value[i].key))
            spec_gguf_writer_value(&writer, &gguf.value[i]);
    for (int i = 0; i < SET_MAX && changes[i].key != NULL; i++) add_value(&writer, &changes[i]);
    for (int data = 0; data < 2; data++) {
        if (data) assert_works(spec_gguf_writer_open(&writer, path, &error));
        for (size_t i = 0; i < gguf.n_tensors; i++) {
            const spec_tensor *tensor = &gguf.tensor[i].tensor;
            const size_t row = spec_tensor_row_bytes(tensor->type, tensor->cols);
            char name[64];
            if (is_changed(changes, gguf.tensor[i].name)) continue;
            snprintf(name, sizeof name, "%.*s", SPEC_GGUF_SHOWN(gguf.tensor[i].name));
            if (data) {
                spec_gguf_writer_data(&writer, tensor->data, (size_t)tensor->rows * row);
                assert_works(spec_gguf_writer_tensor_end(&writer, &error));
            } else {
                spec_gguf_writer_tensor(&writer, name, tensor->type, tensor->rows, tensor->cols);
            }
        }
    }
    assert_works(spec_gguf_writer_close(&writer, &error));
}

/* llama.cpp's converter leaves out what the tokenizer or a default says, and adds values. */
TEST(a_file_as_llama_cpp_writes_it_is_read)
{
    const change as_llama_cpp[SET_MAX] = {{.key = "eagle3.vocab_size"},
                                          {.key = "speclab.head"},
                                          {.key = "speclab.reach"},
                                          {.key = "speclab.target.fingerprint"},
                                          {.key = "eagle3.rope.freq_base"},
                                          {"tokenizer.ggml.tokens", TOKENS, VOCAB, NULL},
                                          {"general.file_type", NUMBER, 1, NULL},
                                          {"eagle3.rope.scaling.factor", REAL, 4.0, NULL}};
    spec_head read, head = draw_form(SPEC_HEAD_EAGLE3, 0, DRAWN_FC_NORM);
    write_changed(&head, as_llama_cpp);
    assert_works(spec_head_file_load(&read, path, &target, false, &error));
    assert_true(read.shape.norm_before_fc && read.fingerprint == 0);
    assert_true(read.shape.shape.rope.base == 10000.0);
    for (int i = 0; i < head.shape.shape.head_dim / 2; i++)
        assert_true(read.shape.shape.rope.opt_factor[i] == 4.0f);
    spec_head_free(&read);
    spec_head_free(&head);
}

/* Factors and the magnitude of YaRN are written as they are computed, not as YaRN. */
TEST(a_scaled_rotation_survives_its_file)
{
    static const float factor[] = {1.25f, 6.5f};
    spec_head read, head = draw(SPEC_HEAD_EAGLE3, 0);
    head.shape.shape.rope.opt_factor = factor;
    head.shape.shape.rope.magnitude = 1.1875f;
    write_head(&head);
    assert_works(spec_head_file_load(&read, path, &target, false, &error));
    assert_memory_equal(read.shape.shape.rope.opt_factor, factor, sizeof factor);
    assert_true(read.shape.shape.rope.magnitude == 1.1875f);
    assert_true(read.shape.shape.rope.base == head.shape.shape.rope.base);
    spec_head_free(&read);
    spec_head_free(&head);
}

static void reject_changed(const spec_head *head, change changed, const char *expected)
{
    write_changed(head, (const change[SET_MAX]){changed});
    refuse(&target, expected);
}

TEST(wrong_values_of_llama_cpp_are_refused)
{
    OWNED(spec_head) head = draw_form(SPEC_HEAD_EAGLE3, 0, DRAWN_EMBEDDING | DRAWN_FC_NORM);
    reject_changed(&head, (change){"tokenizer.ggml.tokens", TOKENS, VOCAB + 1, NULL},
                   "has a vocabulary of 12 tokens, but the target's has 11");
    reject_changed(&head, (change){"eagle3.vocab_size", NUMBER, 12, NULL},
                   "'eagle3.vocab_size' is 12, but the target's is 11");
    reject_changed(&head, (change){"eagle3.target_hidden_size", NUMBER, 32, NULL},
                   "'eagle3.target_hidden_size' is 32, but the target's is 16");
    reject_changed(&head, (change){"eagle3.embedding_length", NUMBER, 8, NULL},
                   "a rotary embedding of 4 of the 2 dimensions of a head is not supported");
    reject_changed(&head, (change){"eagle3.embedding_length", NUMBER, 0, NULL},
                   "'eagle3.embedding_length' is not a whole number between 1 and 65536");
    reject_changed(&head, (change){.key = "enc.output_norm.weight"},
                   "tensor 'enc.output_norm.weight' is missing");
    reject_changed(&head, (change){.key = "eagle3.norm_before_fc"},
                   "tensor 'enc.output_norm.weight' is not one of a head of kind eagle3");
    reject_changed(&head, (change){"eagle3.rope.dimension_count", NUMBER, 2, NULL},
                   "a rotary embedding of 2 of the 4 dimensions of a head is not supported");
    reject_changed(&head, (change){"eagle3.attention.value_length", NUMBER, 8, NULL},
                   "keys of width 4 and values of width 8 are not supported");
    reject_changed(&head, (change){"eagle3.rope.scaling.type", TEXT, 0, "longrope"},
                   "rope scaling of type 'longrope' is not supported; none, linear and yarn are");
    reject_changed(&head, (change){.key = "blk.0.attn_norm_2.weight"},
                   "tensor 'blk.0.attn_norm_2.weight' is missing");
    reject_changed(&head, (change){.key = "eagle3.target_layers"},
                   "'eagle3.target_layers' lists 0 layers of the target");
    spec_head_free(&head);

    head = draw_form(SPEC_HEAD_EAGLE3, 0, DRAWN_EMBEDDING | DRAWN_OTHER_DIM);
    reject_changed(&head, (change){.key = "token_embd.weight"},
                   "'eagle3.embedding_length' is 32, but the target's is 16");
    reject_changed(&head, (change){.key = "output.weight"},
                   "tensor 'output.weight' is missing: its width is 32, but the target's is 16");
    spec_head_free(&head);

    head = draw(SPEC_HEAD_PARALLEL, 0);
    reject_changed(&head, (change){.key = "output.weight"}, "tensor 'output.weight' is missing");
}

/* llama.cpp rotates adjacent pairs: a head that rotates halves is written with its queries and keys
 * in that order. */
TEST(an_eagle3_file_rotates_adjacent_pairs)
{
    spec_head read, head = draw(SPEC_HEAD_EAGLE3, 0);
    head.shape.shape.rope_pairs = SPEC_ROPE_HALVES;
    write_head(&head);
    assert_works(spec_head_file_load(&read, path, &target, false, &error));
    assert_int_equal(read.shape.shape.rope_pairs, SPEC_ROPE_ADJACENT);
    const int order[] = {0, 2, 1, 3}; /* heads of width 4 */
    for (int part = SPEC_HEAD_QUERY; part <= SPEC_HEAD_VALUE; part++)
        for (int row = 0; row < head.tensor[part][0].rows; row++) {
            float ours[32], theirs[32];
            const int from = part == SPEC_HEAD_VALUE ? row : row / 4 * 4 + order[row % 4];
            spec_tensor_decode_row(ours, &head.tensor[part][0], from);
            spec_tensor_decode_row(theirs, &read.tensor[part][0], row);
            assert_memory_equal(ours, theirs, sizeof ours);
        }
    spec_head_free(&read);
    spec_head_free(&head);
}

SUITE(.setup = make_target, .teardown = remove_target);
