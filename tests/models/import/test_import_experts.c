/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Experts from every layout of a folder give the same rows as their matrices. */
#include "models/import/import_experts.h"

#include "tests/support/folder.h"
#include "tests/support/hf_folder.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { LAYERS = 2, EXPERTS = 3, DIM = 64, WIDTH = 32, GATE = 0, UP, DOWN };

static const char prefix[] = "model.layers.";

/* The weight of a matrix at (row, col) as GGUF has it, exact in every type; it differs between
 * rows, columns, experts and matrices. */
static float weight(int layer, int which, int expert, int row, int col)
{
    const unsigned hash =
        (unsigned)((((layer * 3 + which) * EXPERTS + expert) * 64 + row) * 64 + col) * 2654435761u;
    return (float)(hash >> 25) - 64.0f;
}

static float bias(int layer, int which, int expert, int i)
{
    return weight(layer, which + 5, expert, 7, i);
}

static void put(spec_hf_file *file, int layer, const char *rest, spec_tensor_type type, int n,
                const int *size, const float *value)
{
    char name[120];
    size_t values = 1;
    for (int i = 0; i < n; i++) values *= (size_t)size[i];
    const size_t bytes = values * spec_tensor_row_bytes(type, 1);
    FREED void *data = malloc(bytes);
    assert_non_null(data);
    spec_tensor_row_write(data, type, value, (int)values);
    snprintf(name, sizeof name, "%s%d.mlp.experts.%s", prefix, layer, rest);
    spec_hf_folder_put(file, name, type == SPEC_TENSOR_F32 ? "F32" : "BF16", n, size, data, bytes);
}

static void put_separate(spec_hf_file *file, int layer, spec_tensor_type type)
{
    static const char *const names[] = {"gate", "up", "down"};
    static float value[DIM * WIDTH];
    for (int expert = 0; expert < EXPERTS; expert++)
        for (int which = GATE; which <= DOWN; which++) {
            char rest[60];
            const int size[] = {which == DOWN ? DIM : WIDTH, which == DOWN ? WIDTH : DIM};
            for (int i = 0; i < DIM * WIDTH; i++)
                value[i] = weight(layer, which, expert, i / size[1], i % size[1]);
            snprintf(rest, sizeof rest, "%d.%s_proj.weight", expert, names[which]);
            put(file, layer, rest, type, 2, size, value);
        }
}

/* Orders the rows of gate and up: first all of gate, or in turn. */
static int which_of(int row, bool turns)
{
    return turns ? row % 2 : row / WIDTH;
}

static int row_of(int row, bool turns)
{
    return turns ? row / 2 : row % WIDTH;
}

static void put_stacked(spec_hf_file *file, int layer, spec_tensor_type type, bool turns)
{
    static float both[EXPERTS * 2 * WIDTH * DIM], down[EXPERTS * DIM * WIDTH];
    static float both_bias[EXPERTS * 2 * WIDTH], down_bias[EXPERTS * DIM];
    for (int e = 0; e < EXPERTS; e++) {
        for (int r = 0; r < 2 * WIDTH; r++) {
            const int which = which_of(r, turns), row = row_of(r, turns);
            both_bias[e * 2 * WIDTH + r] = bias(layer, which, e, row);
            for (int c = 0; c < DIM; c++)
                both[e * 2 * WIDTH * DIM + (turns ? c * 2 * WIDTH + r : r * DIM + c)] =
                    weight(layer, which, e, row, c);
        }
        for (int r = 0; r < DIM; r++) {
            down_bias[e * DIM + r] = bias(layer, DOWN, e, r);
            for (int c = 0; c < WIDTH; c++)
                down[e * DIM * WIDTH + (turns ? c * DIM + r : r * WIDTH + c)] =
                    weight(layer, DOWN, e, r, c);
        }
    }
    const int size[] = {EXPERTS, turns ? DIM : 2 * WIDTH, turns ? 2 * WIDTH : DIM};
    const int down_size[] = {EXPERTS, turns ? WIDTH : DIM, turns ? DIM : WIDTH};
    put(file, layer, "gate_up_proj", type, 3, size, both);
    put(file, layer, "down_proj", type, 3, down_size, down);
    if (!turns) return;
    put(file, layer, "gate_up_proj_bias", type, 2, (const int[]){EXPERTS, 2 * WIDTH}, both_bias);
    put(file, layer, "down_proj_bias", type, 2, (const int[]){EXPERTS, DIM}, down_bias);
}

/* ---- checks ---------------------------------------------------------------------------------- */

typedef struct {
    spec_checkpoint checkpoint;
    spec_tensor_folder folder;
    spec_import_experts experts;
    spec_error error;
} opened;

static int open_folder(opened *o, spec_hf_file *file, bool transposes)
{
    *o = (opened){0};
    o->checkpoint.shape = (spec_shape){
        .dim = DIM, .n_layers = LAYERS, .n_experts = EXPERTS, .n_active = 1, .expert_dim = WIDTH};
    o->checkpoint.layer = calloc(LAYERS, sizeof *o->checkpoint.layer);
    mkdir("hf", 0700);
    spec_hf_folder_write(file, "hf/model.safetensors");
    if (spec_tensor_folder_init(&o->folder, "hf", &o->error) != GSL_SUCCESS)
        fail_msg("%s", o->error.text);
    return spec_import_experts_init(&o->experts, &o->checkpoint, &o->folder, prefix, transposes,
                                    &o->error);
}

static void opened_free(opened *o)
{
    spec_import_experts_free(&o->experts);
    spec_tensor_folder_free(&o->folder);
    free(o->checkpoint.layer);
}

static void assert_experts(opened *o, spec_tensor_type type, bool has_biases)
{
    static const spec_part parts[] = {SPEC_PART_EXPERT_GATE, SPEC_PART_EXPERT_UP,
                                      SPEC_PART_EXPERT_DOWN};
    assert_null(spec_tensor_folder_left(&o->folder));
    for (int layer = 0; layer < LAYERS; layer++)
        for (int which = GATE; which <= DOWN; which++) {
            const int rows = which == DOWN ? DIM : WIDTH, cols = which == DOWN ? WIDTH : DIM;
            const spec_tensor *all =
                spec_checkpoint_parts_tensor(parts[which], &o->checkpoint, layer);
            assert_true(all->type == type && all->data != NULL);
            assert_true(all->rows == EXPERTS * rows && all->cols == cols);
            for (int expert = EXPERTS - 1; expert >= 0; expert--) {
                const spec_tensor matrix = {
                    type, rows, cols,
                    spec_import_experts_rows(&o->experts, parts[which], layer, expert)};
                float row[DIM];
                for (int r = 0; r < rows; r++) {
                    spec_tensor_decode_row(row, &matrix, r);
                    for (int c = 0; c < cols; c++)
                        assert_true(row[c] == weight(layer, which, expert, r, c));
                }
                if (!has_biases) continue;
                const float *values = spec_import_experts_rows(
                    &o->experts,
                    (spec_part)(parts[which] + SPEC_PART_EXPERT_GATE_BIAS - SPEC_PART_EXPERT_GATE),
                    layer, expert);
                for (int i = 0; i < rows; i++)
                    assert_true(values[i] == bias(layer, which, expert, i));
            }
        }
}

TEST(floats_of_every_layout_have_their_rows)
{
    static const spec_tensor_type types[] = {SPEC_TENSOR_F32, SPEC_TENSOR_BF16};
    for (int i = 0; i < 2; i++)
        for (int layout = 0; layout < 3; layout++) {
            spec_hf_file file = {0};
            OWNED(opened) o;
            for (int layer = 0; layer < LAYERS; layer++)
                if (layout == 0)
                    put_separate(&file, layer, types[i]);
                else
                    put_stacked(&file, layer, types[i], layout == 2);
            if (open_folder(&o, &file, layout == 2) != GSL_SUCCESS) fail_msg("%s", o.error.text);
            assert_experts(&o, types[i], layout == 2);
        }
}

/* Weights are codes of 4 bits times a power of two, as gpt-oss stores them: two weights in a byte,
 * with the first in its low half; the scale is an exponent, and 127 means 1. */
static int code(int layer, int which, int expert, int row, int col)
{
    return (int)(weight(layer, which, expert, row, col) + 64.0f) % 16;
}

static int exponent(int layer, int which, int expert, int row, int block)
{
    return 120 + code(layer, which, expert, row, block + 40);
}

static void put_packed(spec_hf_file *file, int layer, bool is_down)
{
    static unsigned char block[EXPERTS * 2 * WIDTH * DIM / 2],
        scale[EXPERTS * 2 * WIDTH * DIM / 32];
    const int rows = is_down ? DIM : 2 * WIDTH, cols = is_down ? WIDTH : DIM;
    char name[120];
    for (int e = 0; e < EXPERTS; e++)
        for (int r = 0; r < rows; r++) {
            const int which = is_down ? DOWN : r % 2, row = is_down ? r : r / 2;
            const int at = (e * rows + r) * cols;
            for (int c = 0; c < cols; c += 2)
                block[(at + c) / 2] = (unsigned char)(code(layer, which, e, row, c) |
                                                      code(layer, which, e, row, c + 1) << 4);
            for (int b = 0; b < cols / 32; b++)
                scale[at / 32 + b] = (unsigned char)exponent(layer, which, e, row, b);
        }
    const char *what = is_down ? "down_proj" : "gate_up_proj";
    const int size[] = {EXPERTS, rows, cols / 32, 16};
    snprintf(name, sizeof name, "%s%d.mlp.experts.%s_blocks", prefix, layer, what);
    spec_hf_folder_put(file, name, "U8", 4, size, block, (size_t)(EXPERTS * rows * cols / 2));
    snprintf(name, sizeof name, "%s%d.mlp.experts.%s_scales", prefix, layer, what);
    spec_hf_folder_put(file, name, "U8", 3, size, scale, (size_t)(EXPERTS * rows * cols / 32));
}

/* The values of the OCP's E2M1. */
static float packed_weight(int layer, int which, int expert, int row, int col)
{
    static const float values[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    const int c = code(layer, which, expert, row, col);
    return ldexpf(c < 8 ? values[c] : -values[c - 8],
                  exponent(layer, which, expert, row, col / 32) - 127);
}

static void put_packed_layers(spec_hf_file *file)
{
    static float none[EXPERTS * 2 * DIM];
    for (int layer = 0; layer < LAYERS; layer++) {
        put_packed(file, layer, false);
        put_packed(file, layer, true);
        put(file, layer, "gate_up_proj_bias", SPEC_TENSOR_BF16, 2,
            (const int[]){EXPERTS, 2 * WIDTH}, none);
        put(file, layer, "down_proj_bias", SPEC_TENSOR_BF16, 2, (const int[]){EXPERTS, DIM}, none);
    }
}

TEST(experts_in_mxfp4_keep_their_weights)
{
    spec_hf_file file = {0};
    OWNED(opened) o;
    put_packed_layers(&file);
    if (open_folder(&o, &file, true) != GSL_SUCCESS) fail_msg("%s", o.error.text);
    for (int layer = 0; layer < LAYERS; layer++)
        for (int expert = 0; expert < EXPERTS; expert++)
            for (int which = GATE; which <= DOWN; which++) {
                const int rows = which == DOWN ? DIM : WIDTH, cols = which == DOWN ? WIDTH : DIM;
                const spec_tensor matrix = {
                    SPEC_TENSOR_MXFP4, rows, cols,
                    spec_import_experts_rows(&o.experts, (spec_part)(SPEC_PART_EXPERT_GATE + which),
                                             layer, expert)};
                float row[DIM];
                for (int r = 0; r < rows; r++) {
                    spec_tensor_decode_row(row, &matrix, r);
                    for (int c = 0; c < cols; c++)
                        assert_true(row[c] == packed_weight(layer, which, expert, r, c));
                }
            }
}

static void refused(spec_hf_file *file, bool transposes, const char *expected)
{
    OWNED(opened) o;
    assert_int_equal(open_folder(&o, file, transposes), GSL_EINVAL);
    if (strstr(o.error.text, expected) == NULL) fail_msg("'%s' lacks '%s'", o.error.text, expected);
    assert_null(o.experts.tensor);
}

TEST(experts_that_are_missing_or_of_another_size_are_refused)
{
    spec_hf_file file = {0};
    float none[2 * WIDTH * DIM] = {0};
    put_separate(&file, 0, SPEC_TENSOR_F32);
    refused(&file, false,
            "hf: tensor 'model.layers.0.mlp.experts.0.gate_proj.weight' is missing: 9 tensors are "
            "too few for 3 experts");
    file = (spec_hf_file){0};
    put_separate(&file, 0, SPEC_TENSOR_F32);
    put_separate(&file, 2, SPEC_TENSOR_F32);
    refused(&file, false, "hf: tensor 'model.layers.1.mlp.experts.0.gate_proj.weight' is missing");
    file = (spec_hf_file){0};
    put_separate(&file, 0, SPEC_TENSOR_F32);
    put_separate(&file, 1, SPEC_TENSOR_BF16);
    put(&file, 7, "1.up_proj.weight", SPEC_TENSOR_F32, 1, (const int[]){1}, none);
    put_stacked(&file, 1, SPEC_TENSOR_F32, true);
    put(&file, 0, "gate_up_proj", SPEC_TENSOR_F32, 2, (const int[]){2 * WIDTH, DIM}, none);
    put(&file, 0, "down_proj", SPEC_TENSOR_F32, 1, (const int[]){1}, none);
    refused(&file, true,
            "tensor 'model.layers.0.mlp.experts.gate_up_proj' has 2 dimensions, 64 x 64 x 1 x 1, "
            "where 3 experts of width 32 need others");
}

TEST(one_layer_in_two_types_is_refused)
{
    spec_hf_file file = {0};
    float value[WIDTH * DIM] = {0};
    static const char *const names[] = {"gate", "up", "down"};
    put_separate(&file, 0, SPEC_TENSOR_F32);
    for (int i = 0; i < 3 * EXPERTS; i++) {
        char rest[60];
        const bool down = i % 3 == DOWN;
        snprintf(rest, sizeof rest, "%d.%s_proj.weight", i / 3, names[i % 3]);
        put(&file, 1, rest, i == 7 ? SPEC_TENSOR_F32 : SPEC_TENSOR_BF16, 2,
            down ? (const int[]){DIM, WIDTH} : (const int[]){WIDTH, DIM}, value);
    }
    refused(&file, false,
            "tensor 'model.layers.1.mlp.experts.0.up_proj.weight' is of dtype BF16, and "
            "'model.layers.1.mlp.experts.2.up_proj.weight' of F32");
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
