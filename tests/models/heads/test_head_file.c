/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A head that is written and read is the same head; a wrong file is refused in one line. */
#include "models/transformer/files/gguf_writer.h"

#include "tests/models/heads/head_in_file.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static void same_head(const spec_head *a, const spec_head *b)
{
    assert_int_equal(a->shape.kind, b->shape.kind);
    assert_int_equal(a->shape.reach, b->shape.reach);
    assert_int_equal(a->shape.n_taps, b->shape.n_taps);
    for (int i = 0; i < a->shape.n_taps; i++) assert_int_equal(a->shape.tap[i], b->shape.tap[i]);
    assert_int_equal(a->shape.draft_vocab, b->shape.draft_vocab);
    assert_int_equal(a->fingerprint, b->fingerprint);
    assert_int_equal(a->shape.shape.n_layers, b->shape.shape.n_layers);
    assert_int_equal(a->shape.shape.n_kv_heads, b->shape.shape.n_kv_heads);
    assert_true(a->shape.shape.norm_eps == b->shape.shape.norm_eps);
    if (a->shape.shape.n_layers > 0)
        assert_int_equal(a->shape.norm_before_residual, b->shape.norm_before_residual);
    assert_int_equal(a->shape.normed_features, b->shape.normed_features);
    assert_int_equal(a->shape.norm_before_fc, b->shape.norm_before_fc);
    assert_int_equal(a->shape.own_embedding, b->shape.own_embedding);
    assert_int_equal(a->shape.borrows_output, b->shape.borrows_output);
    assert_int_equal(a->shape.target_dim, b->shape.target_dim);
    assert_int_equal(a->shape.shape.dim, b->shape.shape.dim);
    assert_int_equal(a->opt_token != NULL, b->opt_token != NULL);
    for (int i = 0; a->opt_token != NULL && i < a->shape.draft_vocab; i++)
        assert_int_equal(a->opt_token[i], b->opt_token[i]);
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < SPEC_HEAD_REACH_MAX; copy++) {
            const spec_tensor *x = &a->tensor[part][copy], *y = &b->tensor[part][copy];
            assert_int_equal(x->data != NULL, y->data != NULL);
            if (x->data == NULL) continue;
            assert_int_equal(x->type, y->type);
            assert_true(x->rows == y->rows && x->cols == y->cols);
            assert_memory_equal(x->data, y->data,
                                (size_t)x->rows * spec_tensor_row_bytes(x->type, x->cols));
        }
}

TEST(a_head_of_every_kind_survives_its_file)
{
    for (int kind = 0; kind < SPEC_HEAD_KINDS; kind++)
        for (int few = 0; few < 2; few++) {
            spec_head read, drawn = draw((spec_head_kind)kind, few ? 5 : 0);
            spec_error error = {""};
            write_head(&drawn);
            if (few && spec_head_has_target_output(&drawn.shape)) {
                refuse(&target, "tensor 'd2t': a head of kind ");
                spec_head_free(&drawn);
                continue;
            }
            if (spec_head_file_load(&read, path, &target, false, &error) != GSL_SUCCESS)
                fail_msg("%s: %s", spec_head_kind_names[kind], error.text);
            same_head(&drawn, &read);
            spec_head_free(&read);
            spec_head_free(&drawn);
        }
}

TEST(every_form_of_eagle3_survives_its_file)
{
    const int forms[] = {0,
                         DRAWN_FC_NORM,
                         DRAWN_EMBEDDING,
                         DRAWN_NO_OUTPUT | DRAWN_NORMED,
                         DRAWN_EMBEDDING | DRAWN_NO_OUTPUT,
                         DRAWN_EMBEDDING | DRAWN_OTHER_DIM | DRAWN_FC_NORM | DRAWN_DESCENDING};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        for (int few = 0; few < 2; few++) {
            spec_head read, drawn = draw_form(SPEC_HEAD_EAGLE3, few ? 5 : 0, forms[i]);
            spec_error error = {""};
            write_head(&drawn);
            if (few && (forms[i] & DRAWN_NO_OUTPUT) != 0) {
                refuse(&target, "tensor 'd2t': a head of kind eagle3 without 'output.weight' has "
                                "the whole output of the target");
            } else {
                if (spec_head_file_load(&read, path, &target, false, &error) != GSL_SUCCESS)
                    fail_msg("form %d: %s", forms[i], error.text);
                same_head(&drawn, &read);
                spec_head_free(&read);
            }
            spec_head_free(&drawn);
        }
}

TEST(another_target_is_refused_unless_forced)
{
    const struct {
        const char *spec, *expected;
    } others[] = {
        {TARGET "&seed=2", "made for another target"},
        {"random?dim=16&layers=4&heads=4&kv_heads=2&ffn=24&vocab=13&context=32&type=f32",
         "'speclab-head.vocab_size' is 11, but the target's is 13"},
        {"random?dim=32&layers=4&heads=4&kv_heads=2&ffn=24&vocab=11&context=32&type=f32",
         "'speclab-head.embedding_length' is 16, but the target's is 32"},
        {"random?dim=16&layers=3&heads=4&kv_heads=2&ffn=24&vocab=11&context=32&type=f32",
         "reads the target after layer 4, which is not within 0..3"},
    };
    spec_head read, drawn = draw(SPEC_HEAD_MTP, 0);
    spec_error error = {""};
    write_head(&drawn);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        OWNED(spec_checkpoint) other = load_target(others[i].spec);
        refuse(&other, others[i].expected);
        const int status = spec_head_file_load(&read, path, &other, true, &error);
        assert_int_equal(status, i == 0 ? GSL_SUCCESS : GSL_EINVAL);
        spec_head_free(&read);
    }
    drawn.fingerprint = 0; /* of another program */
    write_head(&drawn);
    assert_works(spec_head_file_load(&read, path, &target, false, &error));
    spec_head_free(&read);
    spec_head_free(&drawn);
}

/* ---- wrong files ----------------------------------------------------------------------------- */

static void reject(const spec_head *head, const char *expected)
{
    write_head(head);
    refuse(&target, expected);
}

TEST(wrong_values_are_refused)
{
    OWNED(spec_head) head = draw(SPEC_HEAD_EAGLE3, 5);
    const spec_head good = head;
    head.shape.tap[2] = 5;
    reject(&head, "after layer 5, which is not within 0..4");
    head.shape.tap[2] = 2;
    reject(&head, "after layer 2, which occurs twice within 0..4");
    head = good;
    head.shape.n_taps = 2;
    reject(&head, "'eagle3.target_layers' lists 2 layers of the target; a head of kind eagle3 "
                  "reads 3");
    head = good;
    head.shape.shape.n_kv_heads = 3;
    reject(&head, "4 heads cannot share 3 key-value heads evenly");
    head = good;
    head.shape.shape.n_heads = 3;
    reject(&head, "cannot share");
    head = good;
    head.opt_token[3] = VOCAB;
    reject(&head, "row 3 of its output is token 11, which the target does not have");
    head.opt_token[3] = -1;
    reject(&head, "row 3 of its output is token -1, which the target does not have");
    head.opt_token[3] = head.opt_token[1];
    reject(&head, "which occurs twice");
    spec_head_free(&head);

    head = draw(SPEC_HEAD_MTP, 0);
    head.shape.reach = 2;
    reject(&head, "'speclab-head.block_count' is 3, which does not fit its kind");
    spec_head_free(&head);

    head = draw(SPEC_HEAD_MEDUSA, 0);
    head.shape.reach = 0;
    reject(&head, "'speclab.reach' is not a whole number between 1 and 16");
    head.shape.reach = REACH;
}

TEST(wrong_tensors_are_refused)
{
    OWNED(spec_head) head = draw(SPEC_HEAD_MEDUSA, 0);
    spec_tensor *linear = &head.tensor[SPEC_HEAD_LINEAR][1];
    const spec_tensor good = *linear;
    linear->rows--;
    reject(&head, "tensor 'head.1.linear.weight' has 15 rows of 16 where the model's shape asks "
                  "for 16 of 16");
    *linear = good;
    ((float *)head.owned)[3] = INFINITY;
    reject(&head, "row 0 of head.0.linear.weight has a weight that is not finite");
    ((float *)head.owned)[3] = 0.0f;
    spec_tensor *bias = &head.tensor[SPEC_HEAD_LINEAR_BIAS][0];
    bias->type = SPEC_TENSOR_F16;
    reject(&head, "tensor 'head.0.linear.bias' is of type f16 where a vector is f32");
    bias->type = SPEC_TENSOR_F32;
    head.shape.reach = 2; /* the file has tensors for two depths, and says so */
    write_head(&head);
    OWNED(spec_head) read;
    assert_works(spec_head_file_load(&read, path, &target, false, &error));
}

/* Writes a file with a few values and tensors of our own. */
static void write_file(const char *architecture, const char *kind, const char *tensor)
{
    OWNED(spec_gguf_writer) writer;
    const float zeros[16 * 16] = {0.0f};
    assert_int_equal(unlink(path), 0);
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_writer_text(&writer, "general.architecture", architecture);
    if (kind != NULL) spec_gguf_writer_text(&writer, "speclab.head", kind);
    spec_gguf_writer_u32(&writer, "speclab-head.embedding_length", 16);
    spec_gguf_writer_u32(&writer, "speclab-head.vocab_size", 11);
    spec_gguf_writer_u32(&writer, "speclab.reach", 1);
    spec_gguf_writer_integers(&writer, "speclab-head.target_layers", (int[]){4}, 1);
    if (strcmp(tensor, "x") == 0)
        spec_gguf_writer_text(&writer, "speclab.target.fingerprint", "0x2");
    const char *names[] = {"head.0.linear.weight", "head.0.linear.bias", "head.0.output.weight",
                           tensor};
    const int rows[] = {16, 1, 11, 1};
    for (int i = 0; i < 4; i++)
        spec_gguf_writer_tensor(&writer, names[i], SPEC_TENSOR_F32, rows[i], 16);
    assert_works(spec_gguf_writer_open(&writer, path, &error));
    for (int i = 0; i < 4; i++) {
        spec_gguf_writer_data(&writer, zeros, (size_t)rows[i] * 16 * sizeof(float));
        assert_works(spec_gguf_writer_tensor_end(&writer, &error));
    }
    assert_works(spec_gguf_writer_close(&writer, &error));
}

TEST(files_of_something_else_are_refused)
{
    write_file("llama", NULL, "x");
    refuse(&target, "is of architecture 'llama', not a draft head");
    write_file("speclab-head", NULL, "x");
    refuse(&target, "'' is not a kind of draft head of architecture speclab-head");
    write_file("speclab-head", "eagle3", "x");
    refuse(&target, "'eagle3' is not a kind of draft head");
    write_file("eagle3", "medusa", "x");
    refuse(&target, "'medusa' is not a kind of draft head of architecture eagle3");
    write_file("speclab-head", "medusa", "x");
    refuse(&target, "'speclab.target.fingerprint' is not 16 hexadecimal digits");
    write_file("speclab-head", "eagle", "x");
    refuse(&target, "key 'speclab-head.block_count' is missing");
}

TEST(an_unknown_tensor_is_refused)
{
    write_file("speclab-head", "medusa", "d2t");
    refuse(&target, "tensor 'd2t' is not a list of at most 11 tokens of type I64");
    write_file("speclab-head", "medusa", "y");
    refuse(&target, "tensor 'y' is not one of a head of kind medusa");
    OWNED(spec_head) head = draw(SPEC_HEAD_MEDUSA, 0);
    head.shape.shape.rope.opt_factor = (const float[]){1.0f, 1.0f};
    head.shape.shape.n_layers = 1; /* the writer adds rope factors, which Medusa does not have */
    head.shape.shape.head_dim = 4;
    reject(&head, "tensor 'rope_freqs.weight' is not one of a head of kind medusa");
    head.opt_token = malloc(5 * sizeof *head.opt_token);
    for (int i = 0; i < 5; i++) head.opt_token[i] = i;
    head.shape.draft_vocab = 5;
    head.shape.shape.n_layers = 0;
    reject(&head, "tensor 'head.0.output.weight' has 11 rows of 16 where the model's shape asks "
                  "for 5 of 16");
}

SUITE(.setup = make_target, .teardown = remove_target);
