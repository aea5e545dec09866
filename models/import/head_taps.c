/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/head_taps.h"

static const char key[] = "eagle_aux_hidden_state_layer_ids";
enum { TAPS = SPEC_HEAD_TAPS_MAX };

/* Reads a list of three layers; false if there is none. */
static int read_list(int ret_layer[TAPS], bool *ret_found, const spec_json_values *of)
{
    const json_t *list = json_object_get(of->object, key);
    *ret_found = list != NULL && !json_is_null(list);
    for (size_t i = 0; *ret_found && i < TAPS; i++) {
        const json_t *layer = json_array_get(list, i);
        const json_int_t value = json_integer_value(layer);
        if (json_array_size(list) != TAPS || !json_is_integer(layer) || value < 0 ||
            value > SPEC_LAYERS_MAX)
            return spec_json_values_refuse(of, key, "a list of 3 layers");
        ret_layer[i] = (int)value;
    }
    return GSL_SUCCESS;
}

int spec_head_taps_read(int ret_tap[SPEC_HEAD_TAPS_MAX], spec_head_taps *ret_from,
                        const spec_json_values *config, int layers, const int *opt_tap)
{
    int status = GSL_SUCCESS, listed[TAPS] = {2, layers / 2, layers - 3};
    spec_json_values eagle;
    bool top, inside = false;
    *ret_from = SPEC_HEAD_TAPS_FROM_NONE;
    SPEC_TRY(spec_json_values_object(&eagle, config, "eagle_config"));
    SPEC_TRY(read_list(listed, &top, config));
    if (!top) SPEC_TRY(read_list(listed, &inside, &eagle));
    *ret_from = opt_tap != NULL            ? SPEC_HEAD_TAPS_FROM_CALLER
                : inside && listed[0] == 1 ? SPEC_HEAD_TAPS_FROM_LAYERS
                : inside || top            ? SPEC_HEAD_TAPS_FROM_COUNTS
                                           : SPEC_HEAD_TAPS_FROM_DEFAULT;
    for (int i = 0; i < TAPS; i++)
        ret_tap[i] =
            opt_tap != NULL ? opt_tap[i] : listed[i] + (*ret_from == SPEC_HEAD_TAPS_FROM_LAYERS);
    for (int i = 0; i < TAPS; i++)
        if (ret_tap[i] < 0 || ret_tap[i] > layers || (i > 0 && ret_tap[i] <= ret_tap[i - 1]))
            return spec_fail(config->error, GSL_EINVAL,
                             "%.300s: taps after %d, %d and %d layers are not ascending within the "
                             "target's %d; name others with --taps",
                             config->path, ret_tap[0], ret_tap[1], ret_tap[2], layers);
done:
    return status;
}
