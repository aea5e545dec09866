/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model of mixed types. On the CPU, products with K-quants equal their definition. On a GPU, all
 * types are computed as their conversion to Q8_0 is, bit for bit. */
#include "models/transformer/engine/pass_work.h"
#include "models/transformer/files/architecture.h"
#include "models/transformer/files/conversion.h"
#include "models/transformer/files/gguf_model.h"
#include "tests/models/open_model.h"
#include "tests/models/transformer/engine/reference_pass.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include "base/noise.h"

#include <gsl/gsl_sort.h>
#include <stdlib.h>
#include <string.h>

static const spec_shape shape = {.dim = 256,
                                 .n_layers = 2,
                                 .n_heads = 4,
                                 .n_kv_heads = 2,
                                 .head_dim = 64,
                                 .ffn_dim = 512,
                                 .vocab = 48,
                                 .context = 32,
                                 .norm_eps = 1e-5f,
                                 .rope.base = 10000.0};

/* The types are as in files of the kind Q4_K_M: values and the output have more bits than the
 * rest. */
static spec_tensor_type type_of(spec_part part)
{
    switch (part) {
    case SPEC_PART_EMBEDDING:
    case SPEC_PART_QUERY:
    case SPEC_PART_KEY: return SPEC_TENSOR_Q4_K;
    case SPEC_PART_VALUE:
    case SPEC_PART_OUTPUT: return SPEC_TENSOR_Q6_K;
    case SPEC_PART_ATTENTION_OUTPUT: return SPEC_TENSOR_IQ4_NL;
    case SPEC_PART_GATE: return SPEC_TENSOR_Q5_0;
    case SPEC_PART_UP: return SPEC_TENSOR_Q4_K;
    case SPEC_PART_DOWN: return SPEC_TENSOR_Q5_K;
    default: return SPEC_TENSOR_F32;
    }
}

static bool is_there(spec_part part)
{
    return part == SPEC_PART_OUTPUT || spec_architecture_must(spec_architectures, part);
}

/* Fills blocks with random bytes whose scales are near 2^-12, so weights are at most 1/4. `scale`:
 * the scale of the first block. */
static void write_data(spec_gguf_writer *writer, const spec_tensor *tensor, uint64_t seed,
                       uint16_t scale)
{
    const size_t bytes = spec_tensor_row_bytes(tensor->type, tensor->cols);
    const int weights = spec_tensor_block_weights(tensor->type);
    const size_t n_blocks = (size_t)(tensor->cols / weights), block = bytes / n_blocks;
    unsigned char *data = malloc(bytes);
    assert_non_null(data);
    for (int row = 0; row < tensor->rows; row++) {
        if (tensor->type == SPEC_TENSOR_F32) {
            for (size_t i = 0; i < n_blocks; i++) memcpy(data + 4 * i, &(float){1.0f}, 4);
        } else {
            for (size_t i = 0; i < bytes; i++)
                data[i] = (unsigned char)spec_noise_word(seed, (uint64_t)row * bytes + i);
            for (size_t i = 0; i < n_blocks; i++) {
                const uint16_t half = row + (int)i == 0 ? scale : (uint16_t)(0x0c00 + 7 * i);
                unsigned char *at = data + i * block;
                memcpy(tensor->type == SPEC_TENSOR_Q6_K ? at + 208 : at, &half, 2);
                if (block == 144 || block == 176) memcpy(at + 2, &(uint16_t){0x0c80}, 2);
            }
        }
        spec_gguf_writer_data(writer, data, bytes);
    }
    free(data);
    assert_int_equal(spec_gguf_writer_tensor_end(writer, NULL), GSL_SUCCESS);
}

static void write_model(const char *path, uint16_t scale_of_values)
{
    OWNED(spec_gguf_writer) writer;
    const spec_checkpoint model = {.shape = shape};
    assert_works(spec_gguf_writer_init(&writer, &error));
    spec_gguf_model_shape(&writer, "llama", &shape);
    assert_works(spec_gguf_model_pieces(&writer, &model, &(spec_tokenizer_data){0}, &error));
    for (int data = 0; data < 2; data++) {
        if (data) assert_works(spec_gguf_writer_open(&writer, path, &error));
        for (int part = 0; part < SPEC_PARTS; part++) {
            const int copies = spec_checkpoint_parts_copies((spec_part)part, &shape);
            for (int layer = 0; is_there((spec_part)part) && layer < copies; layer++) {
                char name[SPEC_PART_NAME_SIZE];
                spec_tensor tensor = {.type = type_of((spec_part)part)};
                spec_checkpoint_parts_shape(&tensor.rows, &tensor.cols, (spec_part)part, &shape);
                spec_checkpoint_parts_name(name, (spec_part)part, layer, NULL);
                if (data)
                    write_data(&writer, &tensor, (uint64_t)(100 * part + layer),
                               part == SPEC_PART_VALUE ? scale_of_values : 0x0c00);
                else
                    spec_gguf_writer_tensor(&writer, name, tensor.type, tensor.rows, tensor.cols);
            }
        }
    }
    assert_works(spec_gguf_writer_close(&writer, &error));
}

static void convert(const char *out, const char *spec)
{
    OWNED(spec_settings) settings;
    spec_conversion counted;
    assert_works(spec_settings_init(&settings, spec, &error));
    assert_works(spec_conversion_write(&counted, out, &settings, spec_type_recipe_find("q8_0"),
                                       NULL, &error));
    assert_int_equal(counted.count[SPEC_TENSOR_Q6_K][SPEC_TENSOR_Q8_0].tensors, 3);
    assert_int_equal(counted.count[SPEC_TENSOR_Q4_K][SPEC_TENSOR_Q8_0].tensors, 7);
    assert_int_equal(counted.count[SPEC_TENSOR_Q5_K][SPEC_TENSOR_Q8_0].tensors, 2);
    assert_int_equal(counted.count[SPEC_TENSOR_Q5_0][SPEC_TENSOR_Q8_0].tensors, 2);
    assert_int_equal(counted.count[SPEC_TENSOR_IQ4_NL][SPEC_TENSOR_Q8_0].tensors, 2);
    assert_true(counted.count[SPEC_TENSOR_Q6_K][SPEC_TENSOR_Q8_0].error_max < 1.0 / 127.0);
}

TEST(on_a_gpu_all_types_are_computed_as_their_conversion)
{
    const int text[] = {3, 17, 40, 5};
    write_model("read.gguf", 0x0c00);
    convert("q8_0.gguf", "gguf:read.gguf");
    opened a = open_model("gguf:read.gguf?device=gpu", NULL),
           b = open_model("gguf:q8_0.gguf?device=gpu", NULL);
    const spec_transformer *of[] = {spec_transformer_of(a.model), spec_transformer_of(b.model)};
    assert_int_equal(of[0]->weights->layer[0].qkv.type, SPEC_TENSOR_Q8_0);
    assert_int_equal(of[0]->weights->bytes, of[1]->weights->bytes);
    assert_true(spec_pass_work_weight_bytes(of[0]) == spec_pass_work_weight_bytes(of[1]));
    for (size_t n = 0; n <= 4; n++) {
        const double *row = row_after(&a, text, n), *other = row_after(&b, text, n);
        assert_normalised(row, shape.vocab);
        assert_memory_equal(row, other, (size_t)shape.vocab * sizeof *row);
    }
    const spec_weights_conversion found =
        spec_weights_converted(of[0]->checkpoint, of[0]->weights->backend);
    assert_true(found.has[SPEC_TENSOR_Q4_K] && found.has[SPEC_TENSOR_Q6_K]);
    assert_int_equal(spec_weights_converted(of[1]->checkpoint, of[1]->weights->backend).computed,
                     SPEC_TENSOR_TYPES);
    opened_free(&a);
    opened_free(&b);
}

/* The tensors of types that are only read are those of the conversion. In texts of one token the
 * median error is that of float sums. Few numbers are so near the middle between two steps that the
 * reference rounds them the other way. Measured: 1e-7; 0.01 against unrounded activations. */
TEST(on_the_cpu_k_quants_are_computed_as_they_are)
{
    enum { TEXTS = 25, VOCAB = 48, DIM = 256, FFN = 512, LAYERS = 2 };
    write_model("read.gguf", 0x0c00);
    convert("q8_0.gguf", "gguf:read.gguf");
    opened a = open_model("gguf:read.gguf", NULL), b = open_model("gguf:q8_0.gguf", NULL);
    const spec_transformer *of = spec_transformer_of(a.model);
    const spec_layer *layer = &of->weights->layer[1];
    assert_int_equal(layer->qkv.type, SPEC_TENSOR_Q4_K);
    assert_int_equal(layer->qkv.rows, DIM + DIM / 2);
    assert_non_null(layer->qkv.opt_rest);
    assert_int_equal(layer->qkv.opt_rest->type, SPEC_TENSOR_Q6_K);
    assert_int_equal(layer->qkv.opt_rest->rows, DIM / 2);
    assert_int_equal(layer->gate_up.type, SPEC_TENSOR_Q8_0);
    assert_int_equal(layer->gate_up.opt_rest->type, SPEC_TENSOR_Q4_K);
    assert_int_equal(layer->down.type, SPEC_TENSOR_Q5_K);
    const double bytes = LAYERS * ((DIM + DIM / 2) * 144.0 + DIM / 2 * 210.0 + DIM * 272.0 +
                                   FFN * 272.0 + FFN * 144.0 + DIM * 352.0) +
                         VOCAB * 210.0;
    assert_true((double)of->weights->bytes == bytes);
    assert_true(spec_pass_work_weight_bytes(of) == bytes);
    assert_true(spec_pass_work_of(of).weight_bytes == bytes);
    const spec_weights_conversion found =
        spec_weights_converted(of->checkpoint, of->weights->backend);
    for (int type = 0; type < SPEC_TENSOR_ALL_TYPES; type++)
        assert_int_equal(found.has[type], type == SPEC_TENSOR_Q5_0 || type == SPEC_TENSOR_IQ4_NL);
    assert_int_equal(found.computed, SPEC_TENSOR_Q8_0);
    assert_true(found.bytes == LAYERS * (FFN * 176.0 + DIM * 144.0));
    assert_true(found.computed_bytes == LAYERS * (FFN + DIM) * 272.0);

    spec_checkpoint mixed = *of->checkpoint;
    spec_checkpoint_layer layers[LAYERS];
    for (int i = 0; i < LAYERS; i++) {
        const spec_checkpoint_layer *other = &spec_transformer_of(b.model)->checkpoint->layer[i];
        layers[i] = of->checkpoint->layer[i];
        layers[i].attention_output = other->attention_output;
        layers[i].gate = other->gate;
    }
    mixed.layer = layers;
    float logits[TEXTS * VOCAB], together[TEXTS * VOCAB];
    double expected[VOCAB], error[TEXTS], whole[TEXTS];
    int text[TEXTS];
    for (int i = 0; i < TEXTS; i++) {
        text[i] = (7 * i + 3) % VOCAB;
        engine_pass(logits, of->weights, &text[i], 1, 1);
        reference_pass(expected, &mixed, &text[i], 1, true);
        error[i] = reference_error(logits, expected, 1, VOCAB);
        reference_pass(expected, &mixed, &text[i], 1, false);
        whole[i] = reference_error(logits, expected, 1, VOCAB);
    }
    gsl_sort(error, 1, TEXTS);
    gsl_sort(whole, 1, TEXTS);
    printf("error %.2g, at worst %.2g; against whole activations %.2g\n", error[TEXTS / 2],
           error[TEXTS - 1], whole[TEXTS / 2]);
    assert_true(error[TEXTS / 2] < 1e-6 && error[TEXTS - 1] < 0.05);
    assert_true(whole[TEXTS / 2] > 1e-3 && whole[TEXTS / 2] < 0.05);
    engine_pass(logits, of->weights, text, TEXTS, 1);
    engine_pass(together, of->weights, text, TEXTS, TEXTS);
    assert_memory_equal(logits, together, sizeof logits);
    opened_free(&a);
    opened_free(&b);
}

TEST(a_scale_that_q8_0_cannot_hold_is_refused)
{
    write_model("large.gguf", 0x6000);
    assert_refused("gguf:large.gguf", NULL,
                   "large.gguf: row 0 of blk.0.attn_v.weight has a scale that is not below 512");
}

SUITE(SIMULATOR, .setup = spec_folder_enter, .teardown = spec_folder_leave);
