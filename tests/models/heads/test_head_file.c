/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A head that is written and read is the same head; a wrong file is refused in one line. */
#include "models/heads/head_file.h"
#include "models/transformer/files/gguf_writer.h"

#include "tests/support/drawn_head.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { VOCAB = 11, REACH = 3 };

static char path[] = "/tmp/speclab-head-XXXXXX";
static spec_checkpoint target;

static spec_checkpoint load_target(const char *spec)
{
    spec_checkpoint loaded;
    spec_settings settings;
    spec_error error = {""};
    assert_int_equal(spec_settings_init(&settings, spec, &error), GSL_SUCCESS);
    assert_int_equal(spec_checkpoint_load_random(&loaded, &settings, NULL, &error), GSL_SUCCESS);
    spec_checkpoint_draw(&loaded);
    spec_settings_free(&settings);
    return loaded;
}

#define TARGET "random?dim=16&layers=4&heads=4&kv_heads=2&ffn=24&vocab=11&context=32&type=f32"

static int make_target(void **state)
{
    (void)state;
    const int descriptor = mkstemp(path);
    target = load_target(TARGET);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_target(void **state)
{
    (void)state;
    spec_checkpoint_free(&target);
    return unlink(path);
}

static spec_head draw_form(spec_head_kind kind, int draft_vocab, int options)
{
    spec_head head;
    drawn_head(&head, &(drawn_head_config){kind, REACH, draft_vocab, options, 7}, &target);
    head.fingerprint = spec_head_file_fingerprint(&target);
    return head;
}

static spec_head draw(spec_head_kind kind, int draft_vocab)
{
    return draw_form(kind, draft_vocab, DRAWN_NORMED);
}

static void write_head(const spec_head *head)
{
    int kept;
    spec_error error = {""};
    assert_int_equal(unlink(path), 0);
    if (spec_head_file_write(&kept, head, path, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
}

static void refuse(const spec_checkpoint *to, const char *expected)
{
    spec_head read;
    spec_error error = {""};
    assert_int_equal(spec_head_file_load(&read, path, to, false, &error), GSL_EINVAL);
    if (strstr(error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", error.text, expected);
    assert_memory_equal(error.text, path, sizeof path - 1);
    assert_null(strchr(error.text, '\n'));
    assert_null(read.owned);
    assert_null(read.opt_token);
}

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

static void a_head_of_every_kind_survives_its_file(void **state)
{
    (void)state;
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

static void every_form_of_eagle3_survives_its_file(void **state)
{
    const int forms[] = {0,
                         DRAWN_FC_NORM,
                         DRAWN_EMBEDDING,
                         DRAWN_NO_OUTPUT | DRAWN_NORMED,
                         DRAWN_EMBEDDING | DRAWN_NO_OUTPUT,
                         DRAWN_EMBEDDING | DRAWN_OTHER_DIM | DRAWN_FC_NORM | DRAWN_DESCENDING};
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        for (int few = 0; few < 2; few++) {
            spec_head read, drawn = draw_form(SPEC_HEAD_EAGLE3, few ? 5 : 0, forms[i]);
            spec_error error = {""};
            write_head(&drawn);
            if (few && (forms[i] & DRAWN_NO_OUTPUT) != 0) {
                refuse(&target, "tensor 'd2t': a head of kind eagle3 without 'output.weight' has "
                                "the target's output, whole");
            } else {
                if (spec_head_file_load(&read, path, &target, false, &error) != GSL_SUCCESS)
                    fail_msg("form %d: %s", forms[i], error.text);
                same_head(&drawn, &read);
                spec_head_free(&read);
            }
            spec_head_free(&drawn);
        }
}

static void another_target_is_refused_unless_forced(void **state)
{
    (void)state;
    const struct {
        const char *spec, *expected;
    } others[] = {
        {TARGET "&seed=2", "made for another target"},
        {"random?dim=16&layers=4&heads=4&kv_heads=2&ffn=24&vocab=13&context=32&type=f32",
         "'speclab-head.vocab_size' is 11, and the target's is 13"},
        {"random?dim=32&layers=4&heads=4&kv_heads=2&ffn=24&vocab=11&context=32&type=f32",
         "'speclab-head.embedding_length' is 16, and the target's is 32"},
        {"random?dim=16&layers=3&heads=4&kv_heads=2&ffn=24&vocab=11&context=32&type=f32",
         "reads the target after layer 4, which is not within 0..3"},
    };
    spec_head read, drawn = draw(SPEC_HEAD_MTP, 0);
    spec_error error = {""};
    write_head(&drawn);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        spec_checkpoint other = load_target(others[i].spec);
        refuse(&other, others[i].expected);
        const int status = spec_head_file_load(&read, path, &other, true, &error);
        assert_int_equal(status, i == 0 ? GSL_SUCCESS : GSL_EINVAL);
        spec_head_free(&read);
        spec_checkpoint_free(&other);
    }
    drawn.fingerprint = 0; /* of another program */
    write_head(&drawn);
    assert_int_equal(spec_head_file_load(&read, path, &target, false, &error), GSL_SUCCESS);
    spec_head_free(&read);
    spec_head_free(&drawn);
}

/* ---- wrong files ----------------------------------------------------------------------------- */

static void reject(const spec_head *head, const char *expected)
{
    write_head(head);
    refuse(&target, expected);
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    spec_head head = draw(SPEC_HEAD_EAGLE3, 5);
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
    reject(&head, "row 3 of its output is token 11, which the target has not");
    head.opt_token[3] = -1;
    reject(&head, "row 3 of its output is token -1, which the target has not");
    head.opt_token[3] = head.opt_token[1];
    reject(&head, "which occurs twice");
    spec_head_free(&head);

    head = draw(SPEC_HEAD_MTP, 0);
    head.shape.reach = 2;
    reject(&head, "'speclab-head.block_count' is 3, which does not fit its kind");
    spec_head_free(&head);

    head = draw(SPEC_HEAD_MEDUSA, 0);
    head.shape.reach = 0;
    reject(&head, "'speclab.reach' is 0");
    head.shape.reach = REACH;
    spec_head_free(&head);
}

static void wrong_tensors_are_refused(void **state)
{
    (void)state;
    spec_head head = draw(SPEC_HEAD_MEDUSA, 0);
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
    spec_head read;
    spec_error error = {""};
    assert_int_equal(spec_head_file_load(&read, path, &target, false, &error), GSL_SUCCESS);
    spec_head_free(&read);
    spec_head_free(&head);
}

/* A file with a few values and tensors of our own. */
static void write_file(const char *architecture, const char *kind, const char *tensor)
{
    spec_gguf_writer writer;
    spec_error error = {""};
    const float zeros[16 * 16] = {0.0f};
    assert_int_equal(unlink(path), 0);
    assert_int_equal(spec_gguf_writer_init(&writer, &error), GSL_SUCCESS);
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
    assert_int_equal(spec_gguf_writer_open(&writer, path, &error), GSL_SUCCESS);
    for (int i = 0; i < 4; i++) {
        spec_gguf_writer_data(&writer, zeros, (size_t)rows[i] * 16 * sizeof(float));
        assert_int_equal(spec_gguf_writer_tensor_end(&writer, &error), GSL_SUCCESS);
    }
    assert_int_equal(spec_gguf_writer_close(&writer, &error), GSL_SUCCESS);
    spec_gguf_writer_free(&writer);
}

static void files_of_something_else_are_refused(void **state)
{
    (void)state;
    write_file("llama", NULL, "x");
    refuse(&target, "is of architecture 'llama', not a draft head");
    write_file("speclab-head", NULL, "x");
    refuse(&target, "'' is no kind of draft head of architecture speclab-head");
    write_file("speclab-head", "eagle3", "x");
    refuse(&target, "'eagle3' is no kind of draft head");
    write_file("eagle3", "medusa", "x");
    refuse(&target, "'medusa' is no kind of draft head of architecture eagle3");
    write_file("speclab-head", "medusa", "x");
    refuse(&target, "'speclab.target.fingerprint' is not 16 hexadecimal digits");
    write_file("speclab-head", "eagle", "x");
    refuse(&target, "lacks the value of 'speclab-head.block_count'");
}

static void an_unknown_tensor_is_refused(void **state)
{
    (void)state;
    write_file("speclab-head", "medusa", "d2t");
    refuse(&target, "tensor 'd2t' is not a list of at most 11 tokens of type I64");
    write_file("speclab-head", "medusa", "y");
    refuse(&target, "tensor 'y' is not one of a head of kind medusa");
    spec_head head = draw(SPEC_HEAD_MEDUSA, 0);
    head.shape.shape.rope.opt_factor = (const float[]){1.0f, 1.0f};
    head.shape.shape.n_layers = 1; /* the writer adds rope factors, which Medusa has not */
    head.shape.shape.head_dim = 4;
    reject(&head, "tensor 'rope_freqs.weight' is not one of a head of kind medusa");
    head.opt_token = malloc(5 * sizeof *head.opt_token);
    for (int i = 0; i < 5; i++) head.opt_token[i] = i;
    head.shape.draft_vocab = 5;
    head.shape.shape.n_layers = 0;
    reject(&head, "tensor 'head.0.output.weight' has 11 rows of 16 where the model's shape asks "
                  "for 5 of 16");
    spec_head_free(&head);
}

/* ---- files of llama.cpp ---------------------------------------------------------------------- */

enum { SET_MAX = 8 };

/* A change of a file: a value to be added, or one or a tensor to be left out. */
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

/* Write the head, then its file once more with changes. */
static void write_changed(const spec_head *head, const change *changes)
{
    spec_gguf gguf;
    spec_gguf_writer writer;
    spec_error error = {""};
    write_head(head);
    assert_int_equal(spec_gguf_init(&gguf, path, &error), GSL_SUCCESS);
    assert_int_equal(spec_gguf_writer_init(&writer, &error), GSL_SUCCESS);
    for (size_t i = 0; i < gguf.n_values; i++)
        if (!is_changed(changes, gguf.value[i].key))
            spec_gguf_writer_value(&writer, &gguf.value[i]);
    for (int i = 0; i < SET_MAX && changes[i].key != NULL; i++) add_value(&writer, &changes[i]);
    for (int data = 0; data < 2; data++) {
        if (data) assert_int_equal(spec_gguf_writer_open(&writer, path, &error), GSL_SUCCESS);
        for (size_t i = 0; i < gguf.n_tensors; i++) {
            const spec_tensor *tensor = &gguf.tensor[i].tensor;
            const size_t row = spec_tensor_row_bytes(tensor->type, tensor->cols);
            char name[64];
            if (is_changed(changes, gguf.tensor[i].name)) continue;
            snprintf(name, sizeof name, "%.*s", SPEC_GGUF_SHOWN(gguf.tensor[i].name));
            if (data) {
                spec_gguf_writer_data(&writer, tensor->data, (size_t)tensor->rows * row);
                assert_int_equal(spec_gguf_writer_tensor_end(&writer, &error), GSL_SUCCESS);
            } else {
                spec_gguf_writer_tensor(&writer, name, tensor->type, tensor->rows, tensor->cols);
            }
        }
    }
    assert_int_equal(spec_gguf_writer_close(&writer, &error), GSL_SUCCESS);
    spec_gguf_writer_free(&writer);
    spec_gguf_free(&gguf);
}

/* llama.cpp's converter leaves out what the tokenizer or a default says, and adds values. */
static void a_file_as_llama_cpp_writes_it_is_read(void **state)
{
    const change as_llama_cpp[SET_MAX] = {{.key = "eagle3.vocab_size"},
                                          {.key = "speclab.head"},
                                          {.key = "speclab.reach"},
                                          {.key = "speclab.target.fingerprint"},
                                          {.key = "eagle3.rope.freq_base"},
                                          {"tokenizer.ggml.tokens", TOKENS, VOCAB, NULL},
                                          {"general.file_type", NUMBER, 1, NULL},
                                          {"eagle3.rope.scaling.factor", REAL, 4.0, NULL}};
    (void)state;
    spec_head read, head = draw_form(SPEC_HEAD_EAGLE3, 0, DRAWN_FC_NORM);
    spec_error error = {""};
    write_changed(&head, as_llama_cpp);
    if (spec_head_file_load(&read, path, &target, false, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    assert_true(read.shape.norm_before_fc && read.fingerprint == 0);
    assert_true(read.shape.shape.rope.base == 10000.0);
    for (int i = 0; i < head.shape.shape.head_dim / 2; i++)
        assert_true(read.shape.shape.rope.opt_factor[i] == 4.0f);
    spec_head_free(&read);
    spec_head_free(&head);
}

/* Factors and the magnitude of YaRN are written as they are computed, not as YaRN. */
static void a_scaled_rotation_survives_its_file(void **state)
{
    static const float factor[] = {1.25f, 6.5f};
    (void)state;
    spec_head read, head = draw(SPEC_HEAD_EAGLE3, 0);
    spec_error error = {""};
    head.shape.shape.rope.opt_factor = factor;
    head.shape.shape.rope.magnitude = 1.1875f;
    write_head(&head);
    if (spec_head_file_load(&read, path, &target, false, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
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

static void wrong_values_of_llama_cpp_are_refused(void **state)
{
    (void)state;
    spec_head head = draw_form(SPEC_HEAD_EAGLE3, 0, DRAWN_EMBEDDING | DRAWN_FC_NORM);
    reject_changed(&head, (change){"tokenizer.ggml.tokens", TOKENS, VOCAB + 1, NULL},
                   "has a vocabulary of 12 tokens, and the target's has 11");
    reject_changed(&head, (change){"eagle3.vocab_size", NUMBER, 12, NULL},
                   "'eagle3.vocab_size' is 12, and the target's is 11");
    reject_changed(&head, (change){"eagle3.target_hidden_size", NUMBER, 32, NULL},
                   "'eagle3.target_hidden_size' is 32, and the target's is 16");
    reject_changed(&head, (change){"eagle3.embedding_length", NUMBER, 8, NULL},
                   "a rotary embedding of 4 of the 2 dimensions of a head cannot be read");
    reject_changed(&head, (change){"eagle3.embedding_length", NUMBER, 0, NULL},
                   "'eagle3.embedding_length' is 0");
    reject_changed(&head, (change){.key = "enc.output_norm.weight"},
                   "lacks tensor 'enc.output_norm.weight'");
    reject_changed(&head, (change){.key = "eagle3.norm_before_fc"},
                   "tensor 'enc.output_norm.weight' is not one of a head of kind eagle3");
    reject_changed(&head, (change){"eagle3.rope.dimension_count", NUMBER, 2, NULL},
                   "a rotary embedding of 2 of the 4 dimensions of a head cannot be read");
    reject_changed(&head, (change){"eagle3.attention.value_length", NUMBER, 8, NULL},
                   "keys of width 4 and values of width 8 cannot be read");
    reject_changed(&head, (change){"eagle3.rope.scaling.type", TEXT, 0, "longrope"},
                   "rope scaling of type 'longrope' cannot be read; none, linear and yarn can");
    reject_changed(&head, (change){.key = "blk.0.attn_norm_2.weight"},
                   "lacks tensor 'blk.0.attn_norm_2.weight'");
    reject_changed(&head, (change){.key = "eagle3.target_layers"},
                   "'eagle3.target_layers' lists 0 layers of the target");
    spec_head_free(&head);

    head = draw_form(SPEC_HEAD_EAGLE3, 0, DRAWN_EMBEDDING | DRAWN_OTHER_DIM);
    reject_changed(&head, (change){.key = "token_embd.weight"},
                   "'eagle3.embedding_length' is 32, and the target's is 16");
    reject_changed(&head, (change){.key = "output.weight"},
                   "lacks tensor 'output.weight': its width is 32, and the target's is 16");
    spec_head_free(&head);

    head = draw(SPEC_HEAD_PARALLEL, 0);
    reject_changed(&head, (change){.key = "output.weight"}, "lacks tensor 'output.weight'");
    spec_head_free(&head);
}

/* llama.cpp rotates adjacent pairs: a head that rotates halves is written with its queries and keys
 * in that order. */
static void an_eagle3_file_rotates_adjacent_pairs(void **state)
{
    (void)state;
    spec_head read, head = draw(SPEC_HEAD_EAGLE3, 0);
    spec_error error = {""};
    head.shape.shape.rope_pairs = SPEC_ROPE_HALVES;
    write_head(&head);
    assert_int_equal(spec_head_file_load(&read, path, &target, false, &error), GSL_SUCCESS);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_of_every_kind_survives_its_file),
        cmocka_unit_test(every_form_of_eagle3_survives_its_file),
        cmocka_unit_test(another_target_is_refused_unless_forced),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(files_of_something_else_are_refused),
        cmocka_unit_test(an_unknown_tensor_is_refused),
        cmocka_unit_test(a_file_as_llama_cpp_writes_it_is_read),
        cmocka_unit_test(a_scaled_rotation_survives_its_file),
        cmocka_unit_test(wrong_values_of_llama_cpp_are_refused),
        cmocka_unit_test(an_eagle3_file_rotates_adjacent_pairs),
    };
    return cmocka_run_group_tests(tests, make_target, remove_target);
}
