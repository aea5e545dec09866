/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_delta.h"

#include "models/transformer/files/gguf_value.h"

#include <stdlib.h>
#include <string.h>

#define REFUSE SPEC_GGUF_KEYS_REFUSE

static const char kernel[] = "ssm.conv_kernel", key_dim[] = "ssm.state_size",
                  key_heads[] = "ssm.group_count", value_heads[] = "ssm.time_step_rank",
                  values[] = "ssm.inner_size", layers[] = "attention.recurrent_layers",
                  interval[] = "full_attention_interval";

/* Reads a list that says which layers are recurrent. It may be longer than the model, because it
 * may include draft blocks. */
static int read_list(bool *ret_recurrent, int n_layers, spec_gguf_keys *keys)
{
    bool *flag = NULL;
    size_t n;
    const char *name = spec_gguf_keys_name(keys, layers);
    int status = spec_gguf_value_flags(&flag, &n, keys->gguf, name, keys->error);
    if (status == GSL_SUCCESS && n < (size_t)n_layers)
        status = REFUSE(keys, "'%s' is about %zu layers, not about %d", name, n, n_layers);
    if (status == GSL_SUCCESS) memcpy(ret_recurrent, flag, (size_t)n_layers * sizeof *flag);
    free(flag);
    return status;
}

static int read_layers(bool *ret_recurrent, int n_layers, spec_gguf_keys *keys)
{
    int status = GSL_SUCCESS, period;
    if (spec_gguf_keys_has(keys, layers)) return read_list(ret_recurrent, n_layers, keys);
    SPEC_TRY(spec_gguf_keys_integer(&period, keys, interval, 4, 1, SPEC_LAYERS_MAX));
    for (int i = 0; i < n_layers; i++) ret_recurrent[i] = (i + 1) % period != 0;
done:
    return status;
}

int spec_gguf_delta_read(spec_shape *shape, bool ret_recurrent[SPEC_LAYERS_MAX],
                         const spec_architecture *architecture, spec_gguf_keys *keys)
{
    int status = GSL_SUCCESS, width;
    spec_delta_shape *delta = &shape->delta;
    memset(ret_recurrent, 0, SPEC_LAYERS_MAX * sizeof *ret_recurrent);
    if (!architecture->has_delta) return GSL_SUCCESS;
    shape->gates_attention = true;
    delta->is_tiled = architecture->tiles_values;
    SPEC_TRY(spec_gguf_keys_need(&delta->kernel, keys, kernel, 1, SPEC_DELTA_KERNEL_MAX));
    SPEC_TRY(spec_gguf_keys_need(&delta->key_dim, keys, key_dim, 1, SPEC_HEAD_DIM_MAX));
    SPEC_TRY(spec_gguf_keys_need(&delta->n_key_heads, keys, key_heads, 1, SPEC_DIM_MAX));
    SPEC_TRY(spec_gguf_keys_need(&delta->n_value_heads, keys, value_heads, 1, SPEC_DIM_MAX));
    SPEC_TRY(spec_gguf_keys_need(&width, keys, values, 1, SPEC_DIM_MAX));
    delta->value_dim = width / delta->n_value_heads;
    if (delta->value_dim * delta->n_value_heads != width)
        return REFUSE(keys, "%d values ('%s') cannot be those of %d heads", width, keys->key,
                      delta->n_value_heads);
    SPEC_TRY(read_layers(ret_recurrent, shape->n_layers, keys));
    for (int i = 0; i < shape->n_layers; i++) delta->n_layers += ret_recurrent[i];
    if (delta->n_layers == 0)
        return REFUSE(keys, "none of the layers of this %s model is recurrent", architecture->name);
done:
    return status;
}

void spec_gguf_delta_write(spec_gguf_writer *writer, const spec_checkpoint *from)
{
    const spec_delta_shape *delta = &from->shape.delta;
    spec_gguf_keys keys = {.architecture = spec_architecture_of(from)->name};
    bool recurrent[SPEC_LAYERS_MAX + SPEC_NEXTN_MAX] = {false}; /* draft blocks are not recurrent */
    const struct {
        const char *rest;
        int value;
    } all[] = {{kernel, delta->kernel},
               {key_dim, delta->key_dim},
               {key_heads, delta->n_key_heads},
               {value_heads, delta->n_value_heads},
               {values, delta->n_value_heads * delta->value_dim}};
    if (delta->n_layers == 0) return;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        spec_gguf_writer_u32(writer, spec_gguf_keys_name(&keys, all[i].rest),
                             (uint32_t)all[i].value);
    for (int i = 0; i < from->shape.n_layers; i++) recurrent[i] = from->layer[i].is_recurrent;
    spec_gguf_writer_bools(writer, spec_gguf_keys_name(&keys, layers), recurrent,
                           (size_t)(from->shape.n_layers + from->n_nextn));
    if (delta->is_tiled) /* the sections for positions of images, which llama.cpp requires */
        spec_gguf_writer_integers(writer, spec_gguf_keys_name(&keys, "rope.dimension_sections"),
                                  (const int[]){11, 11, 10, 0}, 4);
}
