/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draft blocks of a model's file: the ways to name them give the same rows, the model's rows do not
 * change, and a wrong file is refused in one line. */
#include "models/heads/head_nextn.h"

#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/conversion.h"
#include "models/transformer/files/gguf_writer.h"
#include "tests/models/open_model.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_head.h"
#include "tests/support/drawn_nextn.h"
#include "tests/support/folder.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { V = 11, NODES = 3 };

static const char random_target[] =
    "random?dim=16&layers=3&heads=4&kv_heads=2&ffn=24&vocab=11&context=40&type=f32";

/* whole.gguf, alone.gguf and none.gguf: with blocks, blocks alone, and the same without blocks. */
static void write_files(int blocks, int options)
{
    OWNED_MODEL *target = model_of(random_target, NULL);
    const spec_checkpoint *checkpoint = spec_transformer_of(target)->checkpoint;
    spec_head head, none = {.shape = {.kind = SPEC_HEAD_MTP, .nextn = true}};
    drawn_head(&head, &(drawn_head_config){SPEC_HEAD_MTP, blocks, 0, DRAWN_NEXTN | options, 5},
               checkpoint);
    drawn_nextn_write("whole.gguf", &head, checkpoint, true);
    drawn_nextn_write("alone.gguf", &head, checkpoint, false);
    drawn_nextn_write("none.gguf", &none, checkpoint, true);
    spec_head_free(&head);
}

/* Computes the rows after a text and a path of NODES tokens. */
static void rows_of(double *ret_rows, const spec_model *model)
{
    const int text[] = {3, 7, 1, 4, 10, 2}, path[NODES] = {5, 0, 8};
    const double *row[NODES + 1];
    OWNED(spec_session) session;
    const spec_score_request request = {.context = text,
                                        .n_context = sizeof text / sizeof *text,
                                        .token = path,
                                        .n_nodes = NODES,
                                        .ret_row = row,
                                        .scratch = ret_rows};
    assert_works(spec_session_init(&session, model, &error));
    assert_works(spec_session_score(&session, &request, &error));
}

TEST(every_way_to_name_blocks_gives_the_same_rows)
{
    static const struct {
        int blocks, options;
    } forms[] = {{1, 0}, {1, DRAWN_EMBEDDING | DRAWN_OWN_OUTPUT}, {NODES + 1, 0}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        double own[(NODES + 1) * V], rows[(NODES + 1) * V];
        write_files(forms[i].blocks, forms[i].options);
        spec_model *target = model_of("gguf:whole.gguf", NULL), *draft = model_of("mtp", target);
        assert_int_equal(draft->reach, forms[i].blocks > 1 ? forms[i].blocks : 0);
        rows_of(own, draft);
        spec_model_close(draft);
        const char *const ways[] = {"mtp:whole.gguf", "mtp:alone.gguf"};
        for (size_t k = 0; k < 2; k++) {
            draft = model_of(ways[k], target);
            rows_of(rows, draft);
            assert_memory_equal(own, rows, sizeof rows);
            spec_model_close(draft);
        }
        spec_model_close(target);
    }
}

TEST(blocks_do_not_change_the_model)
{
    double with[(NODES + 1) * V], without[(NODES + 1) * V];
    write_files(1, 0);
    spec_model *target = model_of("gguf:whole.gguf", NULL),
               *plain = model_of(random_target, NULL);
    assert_int_equal(spec_transformer_of(target)->checkpoint->n_nextn, 1);
    assert_int_equal(spec_transformer_of(target)->checkpoint->shape.n_layers, 3);
    rows_of(with, target);
    rows_of(without, plain);
    assert_memory_equal(with, without, sizeof with);
    spec_model_close(target);
    spec_model_close(plain);
}

/* Stacks n copies of a matrix. The caller frees the data. */
static spec_tensor copies_of(const spec_tensor *matrix, int n)
{
    const size_t bytes = (size_t)matrix->rows * spec_tensor_row_bytes(matrix->type, matrix->cols);
    unsigned char *data = malloc((size_t)n * bytes);
    assert_non_null(data);
    for (int i = 0; i < n; i++) memcpy(data + (size_t)i * bytes, matrix->data, bytes);
    return (spec_tensor){matrix->type, n * matrix->rows, matrix->cols, data};
}

/* If all experts are equal, the mixture equals each of them, whatever the router chooses. */
TEST(a_block_of_equal_experts_is_the_block_of_one)
{
    enum { EXPERTS = 4, DIM = 16 };
    static const float router[EXPERTS * DIM] = {0.5f, -0.25f, 0.125f};
    double one[(NODES + 1) * V], rows[(NODES + 1) * V];
    write_files(1, 0);
    spec_model *target = model_of("gguf:whole.gguf", NULL), *draft = model_of("mtp", target);
    rows_of(one, draft);
    spec_model_close(draft);
    spec_checkpoint *file = (spec_checkpoint *)(uintptr_t)spec_transformer_of(target)->checkpoint;
    spec_checkpoint_layer *layer = &file->nextn[0].layer;
    const spec_tensor gate = copies_of(&layer->gate, EXPERTS), up = copies_of(&layer->up, EXPERTS),
                      down = copies_of(&layer->down, EXPERTS);
    layer->router = (spec_tensor){SPEC_TENSOR_F32, EXPERTS, DIM, router};
    layer->expert_gate = gate;
    layer->expert_up = up;
    layer->expert_down = down;
    layer->gate = layer->up = layer->down = (spec_tensor){0};
    file->shape.n_experts = EXPERTS;
    file->shape.n_active = 2;
    file->shape.expert_dim = file->shape.ffn_dim;
    draft = model_of("mtp", target);
    rows_of(rows, draft);
    for (int i = 0; i < (NODES + 1) * V; i++)
        if (!(fabs(rows[i] - one[i]) < 1e-6)) fail_msg("%d: %g, not %g", i, rows[i], one[i]);
    spec_model_close(draft);
    spec_model_close(target);
    free((void *)(uintptr_t)gate.data);
    free((void *)(uintptr_t)up.data);
    free((void *)(uintptr_t)down.data);
}

TEST(what_is_no_draft_of_the_target_is_refused)
{
    write_files(1, 0);
    opened target = open_model("gguf:whole.gguf", NULL), plain = open_model("gguf:none.gguf", NULL);
    assert_refused("mtp", plain.model, "mtp: the target's file has no draft blocks");
    assert_refused("mtp:none.gguf", target.model,
                   "has no draft blocks ('llama.nextn_predict_layers')");
    assert_refused("eagle3:whole.gguf", target.model,
                   "is of architecture 'llama', not a draft head");
    assert_string_equal(spec_model_open_kind("alone.gguf?force=1")->name, "mtp");
    assert_string_equal(spec_model_open_kind("whole.gguf")->name, "gguf");
    assert_refused("gguf:alone.gguf", NULL,
                   "has only the draft blocks of a model; use it as a draft: mtp:alone.gguf");
    const struct {
        const char *spec, *expected;
    } others[] = {
        {"random?dim=8&layers=3&heads=2&ffn=24&vocab=11&context=40&type=f32",
         "alone.gguf: the embedding's width is 16, but the target's is 8"},
        {"random?dim=16&layers=3&heads=4&ffn=24&vocab=12&context=40&type=f32",
         "alone.gguf: the vocabulary is 11, but the target's is 12"},
        {"random?dim=16&layers=2&heads=4&ffn=24&vocab=11&context=40&type=f32",
         "the number of layers before the draft blocks is 3, but the target's is 2"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        OWNED(opened) other = open_model(others[i].spec, NULL);
        assert_refused("mtp:alone.gguf", other.model, others[i].expected);
    }
    opened_free(&plain);
    opened_free(&target);
}

/* A change to a drawn block, and the error line about it. */
static void check_spoilt(spec_head_part part, void (*spoil)(spec_tensor *), const char *expected)
{
    OWNED_MODEL *target = model_of(random_target, NULL);
    const spec_checkpoint *checkpoint = spec_transformer_of(target)->checkpoint;
    OWNED(spec_head) head;
    drawn_head(&head, &(drawn_head_config){SPEC_HEAD_MTP, 1, 0, DRAWN_NEXTN, 5}, checkpoint);
    spoil(&head.tensor[part][0]);
    drawn_nextn_write("spoilt.gguf", &head, checkpoint, true);
    assert_refused("gguf:spoilt.gguf", NULL, expected);
    assert_refused("mtp:spoilt.gguf", target, expected);
}

static void leave_out(spec_tensor *tensor)
{
    tensor->data = NULL;
}

static void shorten(spec_tensor *tensor)
{
    tensor->rows--;
}

static void make_infinite(spec_tensor *tensor)
{
    ((float *)tensor->data)[tensor->cols] = INFINITY;
}

TEST(wrong_blocks_are_refused)
{
    check_spoilt(SPEC_HEAD_PROJECTION, leave_out, "tensor 'blk.3.nextn.eh_proj.weight' is missing");
    check_spoilt(SPEC_HEAD_FEATURE_NORM, leave_out, "tensor 'blk.3.nextn.hnorm.weight' is missing");
    check_spoilt(SPEC_HEAD_DOWN, leave_out, "tensor 'blk.3.ffn_down.weight' is missing");
    check_spoilt(SPEC_HEAD_PROJECTION, shorten,
                 "tensor 'blk.3.nextn.eh_proj.weight' has 15 rows of 32");
    check_spoilt(SPEC_HEAD_QUERY, shorten, "tensor 'blk.3.attn_q.weight' has 15 rows of 16");
    check_spoilt(SPEC_HEAD_PROJECTION, make_infinite,
                 "row 1 of blk.3.nextn.eh_proj.weight has a weight that is not finite");
}

/* Products with stacked queries, keys and values need biases of all three. */
TEST(a_block_has_all_biases_or_none)
{
    OWNED_MODEL *target = model_of(random_target, NULL);
    const spec_checkpoint *checkpoint = spec_transformer_of(target)->checkpoint;
    OWNED(spec_head) head;
    drawn_head(&head, &(drawn_head_config){SPEC_HEAD_MTP, 1, 0, DRAWN_NEXTN, 5}, checkpoint);
    drawn_nextn_write_with("biased.gguf", &head, checkpoint, "blk.3.attn_q.bias");
    assert_refused("mtp:biased.gguf", target,
                   "block 3 has some of the biases of query, key and value, but not all");
}

static void convert(spec_conversion *ret, const char *type)
{
    OWNED(spec_settings) settings;
    assert_works(spec_settings_init(&settings, "gguf:whole.gguf", &error));
    assert_works(spec_conversion_write(ret, "converted.gguf", &settings,
                                       spec_type_recipe_find(type), NULL, &error));
}

/* The blocks' matrices get the type of the model's; as floats they are the same bytes. */
TEST(quantised_files_keep_their_blocks)
{
    static const char wide[] = "random?dim=256&layers=1&heads=4&ffn=512&vocab=11&context=40";
    double own[(NODES + 1) * V], rows[(NODES + 1) * V];
    spec_conversion counted;
    write_files(NODES + 1, DRAWN_EMBEDDING | DRAWN_OWN_OUTPUT);
    convert(&counted, "f32");
    opened target = open_model("gguf:whole.gguf", NULL), draft = open_model("mtp", target.model);
    rows_of(own, draft.model);
    opened_free(&draft);
    draft = open_model("mtp:converted.gguf", target.model);
    rows_of(rows, draft.model);
    assert_memory_equal(own, rows, sizeof rows);
    opened_free(&draft);
    opened_free(&target);

    OWNED_MODEL *drawn = model_of(wide, NULL);
    OWNED(spec_head) head;
    drawn_head(&head, &(drawn_head_config){SPEC_HEAD_MTP, 1, 0, DRAWN_NEXTN, 5},
               spec_transformer_of(drawn)->checkpoint);
    drawn_nextn_write("whole.gguf", &head, spec_transformer_of(drawn)->checkpoint, true);
    convert(&counted, "q4_k_m");
    target = open_model("gguf:converted.gguf", NULL);
    const spec_checkpoint *read = spec_transformer_of(target.model)->checkpoint;
    assert_int_equal(read->n_nextn, 1);
    assert_int_equal(read->nextn[0].projection.type, SPEC_TENSOR_Q4_K);
    assert_int_equal(read->nextn[0].layer.query.type, SPEC_TENSOR_Q4_K);
    assert_int_equal(read->nextn[0].feature_norm.type, SPEC_TENSOR_F32);
    draft = open_model("mtp", target.model);
    rows_of(rows, draft.model);
    opened_free(&draft);
    opened_free(&target);
}

static void write_count(uint32_t blocks, uint32_t drafts)
{
    OWNED(spec_gguf_writer) writer;
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_writer_text(&writer, "general.architecture", "llama");
    spec_gguf_writer_u32(&writer, "llama.embedding_length", 16);
    spec_gguf_writer_u32(&writer, "llama.block_count", blocks);
    spec_gguf_writer_u32(&writer, "llama.nextn_predict_layers", drafts);
    assert_works(spec_gguf_writer_open(&writer, "count.gguf", &error));
    assert_works(spec_gguf_writer_close(&writer, &error));
}

TEST(a_wrong_count_is_refused)
{
    write_count(2, 2);
    assert_refused("gguf:count.gguf", NULL,
                   "'llama.nextn_predict_layers' is 2, of 2 blocks in all");
    write_count(40, 17);
    assert_refused("gguf:count.gguf", NULL, "llama.nextn_predict_layers");
    write_count(2, 1u << 31);
    assert_refused("gguf:count.gguf", NULL, "llama.nextn_predict_layers");
}

SUITE(.before_each = spec_folder_enter, .after_each = spec_folder_leave);
