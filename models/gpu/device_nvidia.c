/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The NVIDIA GPUs as the engine sees them (models/transformer/engine/device.h). */
#include "base/bytes.h"
#include "models/context.h"
#include "models/gpu/backend_gpu.h"
#include "models/gpu/card.h"
#include "models/transformer/engine/device.h"

#include <stdio.h>

static int count(spec_context *context, spec_error *error)
{
    return spec_card_count(context->cards, error);
}

static void describe(char *line, size_t size, spec_context *context, int ordinal)
{
    spec_error error = {{0}};
    spec_card *card = NULL;
    char memory[SPEC_BYTES_SIZE];
    if (spec_card_open(&card, context->cards, ordinal, &error) == GSL_SUCCESS)
        snprintf(line, size, "%s, %s", spec_card_name(card),
                 spec_bytes_text(memory, spec_card_memory(card)));
    else
        snprintf(line, size, "cannot be used: %s", error.text);
    spec_card_close(card);
}

const spec_device_gpus spec_device_nvidia = {
    .count = count,
    .open = spec_backend_gpu_open,
    .describe = describe,
};
