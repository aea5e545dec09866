/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mixtures of experts as GGUF files: after writing and reading, the model is the same; a file that
 * asks for another kind of mixture is refused, with its name. */
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/architecture.h"
#include "models/transformer/files/conversion.h"
#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_model.h"
#include "tests/models/open_model.h"
#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define SHAPE                                                                                      \
    "random?dim=64&layers=2&heads=4&kv_heads=2&experts=6&active=2&expert_ffn=32&vocab=48&"         \
    "context=32&type=f32"

/* Writes one value more than the shape's, or one part in another way. */
typedef struct {
    const char *key;
    enum { NONE, U32, F32, BOOL } type;
    double number;
    spec_part opt_part; /* SPEC_PART_EMBEDDING: none */
    bool flat;          /* without its third dimension; otherwise rows and experts are exchanged */
} wish;

static void load_random(spec_checkpoint *ret)
{
    spec_settings settings;
    assert_works(spec_settings_init(&settings, SHAPE, &error));
    assert_works(spec_checkpoint_load_random(ret, &settings, spec_test_pool(0), &error));
    spec_settings_free(&settings);
    spec_checkpoint_draw(ret);
}

static void name_part(spec_gguf_writer *writer, const spec_checkpoint *model, spec_part part,
                      int layer, const wish *w)
{
    char name[SPEC_PART_NAME_SIZE];
    const spec_tensor *tensor = spec_checkpoint_parts_tensor_const(part, model, layer);
    int n = spec_checkpoint_parts_stacked(part) ? model->shape.n_experts : 1,
        rows = tensor->rows / n;
    if (w->opt_part == part && part != SPEC_PART_EMBEDDING && layer == 1) {
        const int kept = n;
        n = w->flat ? 1 : rows;
        rows = w->flat ? tensor->rows : kept;
    }
    spec_checkpoint_parts_name(name, part, layer, model->opt_architecture);
    spec_gguf_writer_stack(writer, name, tensor->type, n, rows, tensor->cols);
}

static void write_data(spec_gguf_writer *writer, const spec_tensor *tensor)
{
    spec_gguf_writer_data(writer, tensor->data,
                          (size_t)tensor->rows * spec_tensor_row_bytes(tensor->type, tensor->cols));
    assert_int_equal(spec_gguf_writer_tensor_end(writer, NULL), GSL_SUCCESS);
}

/* `claimed`: the shape that the values state. */
static void write_model(const char *path, const spec_shape *claimed, const wish *w)
{
    spec_gguf_writer writer;
    OWNED(spec_checkpoint) model;
    load_random(&model);
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_model_shape(&writer, model.opt_architecture->name, claimed);
    assert_works(spec_gguf_model_pieces(&writer, &model, &(spec_tokenizer_data){0}, &error));
    if (w->type == U32) spec_gguf_writer_u32(&writer, w->key, (uint32_t)w->number);
    if (w->type == F32) spec_gguf_writer_f32(&writer, w->key, (float)w->number);
    if (w->type == BOOL) spec_gguf_writer_bool(&writer, w->key, w->number != 0.0);
    for (int data = 0; data < 2; data++) {
        if (data) assert_works(spec_gguf_writer_open(&writer, path, &error));
        for (int i = 0; i < SPEC_PARTS; i++) {
            const spec_part part = (spec_part)i;
            for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model.shape); layer++) {
                const spec_tensor *tensor = spec_checkpoint_parts_tensor(part, &model, layer);
                if (tensor->data == NULL) continue;
                if (data)
                    write_data(&writer, tensor);
                else
                    name_part(&writer, &model, part, layer, w);
            }
        }
    }
    assert_works(spec_gguf_writer_close(&writer, &error));
    spec_gguf_writer_free(&writer);
}

static spec_shape shape_of_random(void)
{
    OWNED(spec_checkpoint) model;
    load_random(&model);
    const spec_shape shape = model.shape;
    return shape;
}

static void assert_same_rows(const char *spec, const char *other)
{
    const int text[] = {3, 17, 40, 5};
    opened a = open_model(spec, NULL), b = open_model(other, NULL);
    for (size_t n = 1; n <= 4; n++) {
        const double *row = row_after(&a, text, n), *beside = row_after(&b, text, n);
        assert_normalised(row, 48);
        assert_memory_equal(row, beside, 48 * sizeof *row);
    }
    opened_free(&a);
    opened_free(&b);
}

TEST(a_written_mixture_is_the_same_model)
{
    const spec_shape shape = shape_of_random();
    write_model("same.gguf", &shape, &(wish){.type = NONE});
    assert_same_rows("gguf:same.gguf", SHAPE);
    /* values that change nothing */
    static const wish harmless[] = {{"qwen3moe.expert_weights_scale", F32, 1.0, 0, false},
                                    {"qwen3moe.expert_weights_scale", F32, 0.0, 0, false},
                                    {"qwen3moe.expert_weights_norm", BOOL, 1.0, 0, false},
                                    {"qwen3moe.expert_gating_func", U32, 1.0, 0, false},
                                    {"qwen3moe.expert_shared_count", U32, 0.0, 0, false},
                                    {"qwen3moe.expert_group_count", U32, 1.0, 0, false}};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        write_model("same.gguf", &shape, &harmless[i]);
        assert_same_rows("gguf:same.gguf", SHAPE);
    }
}

/* Experts are quantised, routers are not; the file has a dimension for the experts. */
TEST(a_quantised_mixture_keeps_its_routers)
{
    spec_settings settings;
    spec_conversion counted;
    spec_gguf gguf;
    const spec_shape shape = shape_of_random();
    write_model("whole.gguf", &shape, &(wish){.type = NONE});
    assert_works(spec_settings_init(&settings, "gguf:whole.gguf", &error));
    assert_works(spec_conversion_write(&counted, "q8_0.gguf", &settings,
                                       spec_type_recipe_find("q8_0"), NULL, &error));
    spec_settings_free(&settings);
    assert_works(spec_gguf_init(&gguf, "q8_0.gguf", &error));
    const spec_gguf_tensor *down = spec_gguf_find_tensor(&gguf, "blk.1.ffn_down_exps.weight"),
                           *router = spec_gguf_find_tensor(&gguf, "blk.1.ffn_gate_inp.weight");
    assert_non_null(down);
    assert_non_null(router);
    assert_int_equal(down->tensor.type, SPEC_TENSOR_Q8_0);
    assert_int_equal(down->n_dimensions, 3);
    assert_int_equal(down->dimension[0], 32);
    assert_int_equal(down->dimension[1], 64);
    assert_int_equal(down->dimension[2], 6);
    assert_int_equal(router->tensor.type, SPEC_TENSOR_F32);
    assert_int_equal(router->n_dimensions, 2);
    spec_gguf_free(&gguf);
    OWNED(opened) model = open_model("gguf:q8_0.gguf", NULL);
    const spec_layer *layer = &spec_transformer_of(model.model)->weights->layer[1];
    assert_int_equal(layer->experts.gate.one.type, SPEC_TENSOR_Q8_0);
    assert_int_equal(layer->experts.gate.n, 6);
    assert_int_equal(layer->experts.router.type, SPEC_TENSOR_F32);
}

TEST(mixtures_of_other_kinds_are_refused_by_name)
{
#define KEY(rest) "qwen3moe." rest
    static const struct {
        wish wish;
        const char *line;
    } cases[] = {
        {{KEY("leading_dense_block_count"), U32, 1.0, 0, false},
         "'qwen3moe.leading_dense_block_count' is 1: dense blocks before the blocks with experts "
         "are not supported"},
        {{KEY("expert_shared_count"), U32, 2.0, 0, false},
         "'qwen3moe.expert_shared_count' is 2: shared experts are not supported"},
        {{KEY("expert_shared_feed_forward_length"), U32, 32.0, 0, false},
         "'qwen3moe.expert_shared_feed_forward_length' is 32: shared experts are "
         "not supported"},
        {{KEY("expert_group_count"), U32, 3.0, 0, false},
         "'qwen3moe.expert_group_count' is 3: groups of experts are not supported"},
        {{KEY("interleave_moe_layer_step"), U32, 2.0, 0, false},
         "'qwen3moe.interleave_moe_layer_step' is 2: dense blocks between the blocks with experts "
         "are not supported"},
        {{KEY("expert_gating_func"), U32, 2.0, 0, false},
         "'qwen3moe.expert_gating_func' is 2: only 1 and 3, a softmax, are supported"},
        {{KEY("expert_weights_norm"), BOOL, 0.0, 0, false},
         "'qwen3moe.expert_weights_norm' is false: the weights of experts must sum to 1"},
        {{KEY("expert_weights_scale"), F32, 2.5, 0, false},
         "'qwen3moe.expert_weights_scale' is 2.5: scaled weights of experts are not supported"},
        {{NULL, NONE, 0.0, SPEC_PART_EXPERT_DOWN, true},
         "tensor 'blk.1.ffn_down_exps.weight' is 1 x 384 x 32 where 6 experts of 64 x 32 belong"},
        {{NULL, NONE, 0.0, SPEC_PART_EXPERT_UP, false},
         "tensor 'blk.1.ffn_up_exps.weight' is 32 x 6 x 64 where 6 experts of 32 x 64 belong"},
    };
#undef KEY
    const spec_shape shape = shape_of_random();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[300];
        write_model("bad.gguf", &shape, &cases[i].wish);
        snprintf(line, sizeof line, "bad.gguf: %s", cases[i].line);
        assert_refused("gguf:bad.gguf", NULL, line);
    }
}

TEST(routers_that_make_no_sense_are_refused)
{
    static const struct {
        int n_experts, n_active, expert_dim;
        const char *line;
    } cases[] = {
        {6, 7, 32, "a token cannot take 7 of 6 experts ('qwen3moe.expert_used_count')"},
        {6, 0, 32,
         "the value of 'qwen3moe.expert_used_count' is not a whole number between 1 and 64"},
        {1025, 2, 32,
         "the value of 'qwen3moe.expert_count' is not a whole number between 1 and 1024"},
        {6, 65, 32,
         "the value of 'qwen3moe.expert_used_count' is not a whole number between 1 and 64"},
        {6, 2, 0,
         "the value of 'qwen3moe.expert_feed_forward_length' is not a whole number between 1 and "
         "65536"},
        {5, 2, 32,
         "tensor 'blk.0.ffn_gate_inp.weight' has 6 rows of 64 where the model's shape asks for 5 "
         "of 64"},
        {6, 2, 64,
         "tensor 'blk.0.ffn_gate_exps.weight' has 192 rows of 64 where the model's shape asks for "
         "384 of 64"},
        {0, 0, 0, "key 'qwen3moe.expert_count' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_shape claimed = shape_of_random();
        char line[300];
        claimed.n_experts = cases[i].n_experts;
        claimed.n_active = cases[i].n_active;
        claimed.expert_dim = cases[i].expert_dim;
        write_model("bad.gguf", &claimed, &(wish){.type = NONE});
        snprintf(line, sizeof line, "bad.gguf: %s", cases[i].line);
        assert_refused("gguf:bad.gguf", NULL, line);
    }
}

/* There are more experts than the width of any other vector. */
TEST(biases_of_many_experts_are_written)
{
    enum { EXPERTS = 500, DIM = 16 };
    static const char name[] = "blk.0.ffn_gate_inp.bias";
    static const odd_form form = {.shape = {.dim = DIM,
                                            .n_layers = 1,
                                            .n_heads = 2,
                                            .n_kv_heads = 1,
                                            .head_dim = 8,
                                            .n_experts = EXPERTS,
                                            .n_active = 2,
                                            .expert_dim = 8,
                                            .vocab = 7,
                                            .context = 32,
                                            .norm_eps = 1e-5f,
                                            .rope.base = 1e4},
                                  .biased = true,
                                  .biased_experts = true};
    OWNED(spec_checkpoint) model;
    OWNED(spec_gguf) gguf;
    int kept;
    make_odd_checkpoint(&model, &form, SPEC_TENSOR_F32);
    assert_works(spec_gguf_model_write(&kept, &model, &(spec_gguf_model_vocabulary){0}, "many.gguf",
                                       NULL, &error));
    assert_works(spec_gguf_init(&gguf, "many.gguf", &error));
    const spec_gguf_tensor *found = spec_gguf_find_tensor(&gguf, name);
    assert_non_null(found);
    assert_int_equal(found->tensor.cols, EXPERTS);
    assert_memory_equal(found->tensor.data, model.layer[0].router_bias.data,
                        EXPERTS * sizeof(float));
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
