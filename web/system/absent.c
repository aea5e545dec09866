/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stand-ins for what a page lacks: GPUs, the load of the machine, and BPE tokenizers (PCRE2). */
#include "models/gpu/card.h"
#include "models/transformer/engine/device.h"
#include "models/transformer/tokenizer/tokenizer_parts.h"
#include "tools/bench/machine_load.h"

#include <math.h>

/* ---- GPUs ------------------------------------------------------------------------------------ */

int spec_cards_init(spec_cards **ret_cards, const spec_gpu_settings *settings, spec_error *error)
{
    (void)settings, (void)error;
    *ret_cards = NULL;
    return GSL_SUCCESS;
}

void spec_cards_free(spec_cards *cards)
{
    (void)cards;
}

static int count(spec_context *context, spec_error *error)
{
    (void)context;
    spec_fail(error, GSL_EINVAL, "a web page can only use the CPU");
    return 0;
}

static int open_card(const spec_backend **ret_backend, spec_context *context, int ordinal,
                     spec_error *error)
{
    (void)context, (void)ordinal;
    *ret_backend = NULL;
    return spec_fail(error, GSL_EINVAL, "a web page can only use the CPU");
}

static void describe(char *line, size_t size, spec_context *context, int ordinal)
{
    (void)context, (void)ordinal;
    if (size > 0) *line = '\0';
}

const spec_device_gpus spec_device_nvidia = {
    .count = count, .open = open_card, .describe = describe};

/* ---- load ------------------------------------------------------------------------------------ */

spec_load_reading spec_machine_load_read(const spec_machine_load *load)
{
    (void)load;
    return (spec_load_reading){NAN, NAN, NAN};
}

double spec_machine_load_busy(const spec_machine_load *load)
{
    (void)load;
    return NAN;
}

double spec_machine_load_spin(const spec_machine_load *load)
{
    (void)load;
    return NAN;
}

/* ---- tokenizers ------------------------------------------------------------------------------ */

int spec_tokenizer_bpe_open(spec_tokenizer *tokenizer, const spec_tokenizer_data *data,
                            spec_error *error)
{
    (void)tokenizer, (void)data;
    return spec_fail(error, GSL_EINVAL, "a web page has no BPE tokenizers: use the program");
}

size_t spec_tokenizer_bpe_decode(char *bytes, spec_piece spelling)
{
    (void)bytes, (void)spelling;
    return SIZE_MAX;
}

void spec_tokenizer_bpe_encode(spec_encoder *encoder, const char *text, size_t length)
{
    (void)encoder, (void)text, (void)length;
}

void spec_tokenizer_bpe_close(spec_tokenizer *tokenizer)
{
    (void)tokenizer;
}
