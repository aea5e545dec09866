/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/drawn_head.h"

#include "base/noise.h"
#include "models/heads/head_file.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/support/contexts.h"
#include "tests/support/drawn_nextn.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void choose_shape(spec_head_shape *shape, const drawn_head_config *config,
                         const spec_shape *target)
{
    const spec_head_kind kind = config->kind;
    const int options = config->options;
    const bool layered = kind >= SPEC_HEAD_EAGLE,
               three = kind == SPEC_HEAD_EAGLE3 || kind == SPEC_HEAD_PARALLEL,
               endless = kind == SPEC_HEAD_REDRAFTER || kind == SPEC_HEAD_EAGLE ||
                         kind == SPEC_HEAD_EAGLE3;
    *shape = (spec_head_shape){
        .kind = kind,
        .shape = *target,
        .reach = endless ? 0 : config->reach,
        .n_taps = three ? 3 : 1,
        .tap = {three ? 0 : target->n_layers, target->n_layers / 2, target->n_layers},
        .draft_vocab = config->draft_vocab > 0 ? config->draft_vocab : target->vocab,
        .norm_before_residual = (options & DRAWN_NORMED) != 0 && kind != SPEC_HEAD_EAGLE,
        .normed_features = (options & DRAWN_NORMED) != 0 && kind == SPEC_HEAD_EAGLE,
        .norm_before_fc = (options & DRAWN_FC_NORM) != 0,
        .own_embedding = (options & DRAWN_EMBEDDING) != 0,
        .borrows_output = (options & DRAWN_NO_OUTPUT) != 0,
        .target_dim = (options & DRAWN_OTHER_DIM) != 0 ? target->dim : 0,
    };
    if ((options & DRAWN_NEXTN) != 0) {
        shape->nextn = true;
        shape->own_output = (options & DRAWN_OWN_OUTPUT) != 0;
        shape->reach = config->reach > 1 ? config->reach : 0;
    }
    if ((options & DRAWN_OTHER_DIM) != 0) shape->shape.dim *= 2;
    if ((options & DRAWN_DESCENDING) != 0) {
        const int last = shape->tap[2];
        shape->tap[2] = shape->tap[0];
        shape->tap[0] = last;
    }
    shape->shape.n_layers = !layered ? 0 : kind == SPEC_HEAD_MTP ? config->reach : 1;
    shape->shape.ffn_dim = shape->nextn ? target->ffn_dim : layered ? 3 * target->dim / 2 : 0;
    if (!layered) shape->shape.n_heads = shape->shape.n_kv_heads = shape->shape.head_dim = 0;
}

static double uniform(uint64_t key, uint64_t i)
{
    return (double)(spec_noise_word(key, i) >> 11) * 0x1p-53;
}

void drawn_head(spec_head *ret, const drawn_head_config *config, const spec_checkpoint *target)
{
    size_t n = 0;
    *ret = (spec_head){.free_owned = free};
    spec_head_shape *shape = &ret->shape;
    choose_shape(shape, config, &target->shape);
    for (int fill = 0; fill < 2; fill++) {
        float *weight = ret->owned;
        if (fill) assert_non_null(weight = ret->owned = malloc(n * sizeof *weight));
        for (int i = 0; i < SPEC_HEAD_PARTS; i++) {
            const spec_head_part part = (spec_head_part)i;
            for (int copy = 0; copy < spec_head_copies(part, shape); copy++) {
                char name[SPEC_HEAD_NAME_SIZE];
                int rows, cols;
                spec_head_part_shape(&rows, &cols, part, copy, shape);
                const size_t size = (size_t)rows * (size_t)cols;
                n += size;
                if (!fill) continue;
                ret->tensor[part][copy] = (spec_tensor){SPEC_TENSOR_F32, rows, cols, weight};
                const bool vector = spec_head_part_is_vector(part),
                           gain = vector && strstr(spec_head_part_name(name, part, copy, shape),
                                                   "norm") != NULL;
                const double scale = vector ? 0.3 : 1.7 / sqrt(cols);
                const uint64_t key =
                    spec_noise_key(config->seed, (int[]){(int)config->kind, i, copy}, 3, -1);
                for (size_t k = 0; k < size; k++)
                    weight[k] = (float)((gain ? 1.0 : 0.0) + scale * (2.0 * uniform(key, k) - 1.0));
                weight += size;
            }
        }
    }
    const int vocab = target->shape.vocab, few = shape->draft_vocab;
    if (few == vocab) return;
    assert_non_null(ret->opt_token = malloc((size_t)few * sizeof *ret->opt_token));
    for (int i = 0, token = (vocab - 2) | 1; i < few; i++, token -= 2) {
        if (token < 0) token = (vocab - 1) & ~1;
        ret->opt_token[i] = token;
    }
}

spec_model *drawn_head_open(const spec_head *head, const char *keys, const spec_model *target)
{
    char path[] = "/tmp/speclab-drawn-head-XXXXXX", spec[128];
    spec_model *model = NULL;
    int kept;
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(unlink(path), 0);
    if (head->shape.nextn)
        drawn_nextn_write(path, head, spec_transformer_of(target)->checkpoint, false);
    else
        assert_works(spec_head_file_write(&kept, head, path, &error));
    snprintf(spec, sizeof spec, "%s:%s?%s", spec_head_kind_names[head->shape.kind], path,
             keys[0] != '\0' ? keys : "force=0");
    model = model_of(spec, target);
    assert_int_equal(unlink(path), 0);
    return model;
}
