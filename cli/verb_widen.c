/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/large_file.h"
#include "cli/model_file.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/verb.h"

#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/files/widening.h"

#include <math.h>
#include <string.h>

enum { KEY_BY = 0x9001 };

static const struct argp_option options_table[] = {
    {"by", KEY_BY, "N", 0, "multiply every width by N, a power of four (4)", 1},
    {0},
};

typedef struct {
    spec_options common;
    const char *in;
    int by;
} arguments;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &args->common; return 0;
    case KEY_BY:
        args->by = (int)spec_options_count(state->name, "by", arg, 1, SPEC_DIM_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (args->in != NULL)
            spec_usage_fail(state->name, "'%s' is a second model; give one, and -o OUT.gguf", arg);
        if (*arg == '\0') spec_usage_fail(state->name, "the model has no name");
        args->in = arg;
        return 0;
    case ARGP_KEY_END:
        if (args->in == NULL)
            spec_usage_fail(state->name,
                            "no model is given; give a checkpoint of llama2.c or a GGUF file");
        if (args->common.output == NULL)
            spec_usage_fail(state->name, "give the file of the wider model with -o OUT.gguf");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

typedef struct {
    double weights, bytes;
} size;

static size size_of(const spec_checkpoint *model)
{
    size sum = {0};
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (part == SPEC_PART_OUTPUT && model->output.data == model->embedding.data) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model->shape); layer++) {
            const spec_tensor *tensor = spec_checkpoint_parts_tensor_const(part, model, layer);
            if (tensor->data == NULL) continue;
            sum.weights += (double)tensor->rows * tensor->cols;
            sum.bytes +=
                (double)tensor->rows * (double)spec_tensor_row_bytes(tensor->type, tensor->cols);
        }
    }
    return sum;
}

static int show(const spec_checkpoint *const model[2], const arguments *args, const char *verb)
{
    static const char *const columns[] = {"model", "dim",     "heads", "kv_heads",
                                          "ffn",   "weights", "bytes"};
    spec_table table;
    spec_options options = args->common;
    options.output = NULL; /* which is the model */
    if (spec_table_init(&table, columns, (int)(sizeof columns / sizeof columns[0])) != GSL_SUCCESS)
        spec_usage_no_memory(verb);
    for (int i = 0; i < 2; i++) {
        const spec_shape *shape = &model[i]->shape;
        const size all = size_of(model[i]);
        spec_table_text(&table, "model", i == 0 ? args->in : args->common.output);
        spec_table_integer(&table, "dim", shape->dim);
        spec_table_integer(&table, "heads", shape->n_heads);
        spec_table_integer(&table, "kv_heads", shape->n_kv_heads);
        spec_table_integer(&table, "ffn", shape->ffn_dim);
        spec_table_integer(&table, "weights", (long long)all.weights);
        spec_table_integer(&table, "bytes", (long long)all.bytes);
        if (spec_table_append(&table) != GSL_SUCCESS) spec_usage_no_memory(verb);
    }
    const int code = spec_options_show(&table, &options, verb);
    spec_table_free(&table);
    return code;
}

static int widen(const arguments *args, const char *verb, spec_error *error)
{
    int status = GSL_SUCCESS, kept = 0;
    spec_settings settings = {0};
    spec_checkpoint model = {0}, wide = {0};
    const char *out = args->common.output;
    spec_model_file_settings(&settings, verb, args->in);
    SPEC_TRY((strcmp(settings.name, "gguf") == 0 ? spec_checkpoint_load_gguf
                                                 : spec_checkpoint_load_llama2c)(
        &model, &settings, args->common.context->pool, error));
    SPEC_TRY(spec_widening_init(&wide, &model, args->by, settings.path, error));
    SPEC_TRY(spec_large_file_announce(verb, out, size_of(&wide).bytes, NAN, NULL, error));
    const spec_gguf_model_vocabulary vocabulary = {.opt_file = &settings};
    SPEC_TRY(spec_gguf_model_write(&kept, &wide, &vocabulary, out, NULL, error));
    spec_output_say_kept(out, kept, args->common.force, verb);
    const spec_checkpoint *const both[] = {&model, &wide};
    status = show(both, args, verb);
done:
    spec_checkpoint_free(&wide);
    spec_checkpoint_free(&model);
    spec_settings_free(&settings);
    return status;
}

int spec_verb_widen(spec_context *context, int argc, char **argv)
{
    static const struct argp_child children[] = {{&spec_options_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options_table,
        parse,
        "MODEL",
        "write a wider transformer that computes the same function\vMODEL is a checkpoint of "
        "llama2.c or a GGUF file: a path, or a spec such as llama2c:model.bin?tokenizer=other.bin. "
        "Embedding, heads, key-value heads and feed-forward network are N times as wide, with "
        "zeros as new weights, and norms are scaled. The logits are the same bits on the CPU. So "
        "speed is measured at the size of a larger model, with the acceptance of trained weights. "
        "Vocabulary and types are kept; the file is GGUF, since llama2.c's format has no epsilon. "
        "Widen a draft of separate weights, too.\n"
        "\n"
        "  $ speclab widen model.bin --by 4 -o wide.gguf",
        children,
        NULL,
        NULL};
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context), .by = 4};
    args.common.opt_output = "the wider model, a GGUF file; the table goes to standard output";
    spec_usage_parse(&argp, argc, argv, &args);
    spec_error error = {{0}};
    spec_output_say_left_over(args.common.output, argv[0]);
    const int status = widen(&args, argv[0], &error);
    if (status != GSL_SUCCESS && error.text[0] != '\0') spec_usage_say(argv[0], "%s", error.text);
    return status == GSL_SUCCESS ? SPEC_EXIT_HOLDS : SPEC_EXIT_USAGE;
}
