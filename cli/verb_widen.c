/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/large_file.h"
#include "cli/model_file.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress_reports.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include "models/heads/head_file.h"
#include "models/heads/head_widening.h"
#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/gguf_kind.h"
#include "models/transformer/files/gguf_model.h"
#include "models/transformer/files/widening.h"

#include <math.h>
#include <string.h>

enum { KIND_SIZE = 32 };

typedef struct {
    spec_options common;
    const char *in, *target;
    int by;
} arguments;

static void take(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->in != NULL)
        spec_usage_fail(verb, "'%s' is a second model; give one, and -o OUT.gguf", word);
    if (*word == '\0') spec_usage_fail(verb, "the model has no name");
    args->in = word;
}

static const spec_field fields[] = {
    {"by", 0, "N", "multiply every width by N, a power of four", SPEC_FIELD(arguments, by),
     .fallback = "4", .low = 1, .high = SPEC_DIM_MAX},
    {"target", 0, "MODEL", "for a draft head: its target, before that was widened",
     SPEC_FIELD(arguments, target)},
    {0},
};

/* ---- the table -------------------------------------------------------------------------------
 */

/* A row of the table: a model or a head. */
typedef struct {
    const char *name;
    const spec_shape *shape;
    double weights, bytes;
} summary;

static void count(summary *sum, const spec_tensor *tensor)
{
    if (tensor->data == NULL) return;
    sum->weights += (double)tensor->rows * tensor->cols;
    sum->bytes += (double)tensor->rows * (double)spec_tensor_row_bytes(tensor->type, tensor->cols);
}

static summary of_model(const char *name, const spec_checkpoint *model)
{
    summary sum = {name, &model->shape, 0.0, 0.0};
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        if (part == SPEC_PART_OUTPUT && model->output.data == model->embedding.data) continue;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model->shape); layer++)
            count(&sum, spec_checkpoint_parts_tensor_const(part, model, layer));
    }
    return sum;
}

static summary of_head(const char *name, const spec_head *head)
{
    summary sum = {name, &head->shape.shape, 0.0, 0.0};
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, &head->shape); copy++)
            count(&sum, &head->tensor[part][copy]);
    return sum;
}

static int show(const summary row[2], const arguments *args, const char *verb)
{
    static const char *const columns[] = {"model", "dim",     "heads", "kv_heads",
                                          "ffn",   "weights", "bytes"};
    spec_table table;
    spec_options options = args->common;
    options.output = NULL; /* the output is the model */
    if (spec_table_init(&table, columns, (int)(sizeof columns / sizeof columns[0])) != GSL_SUCCESS)
        spec_usage_no_memory(verb);
    for (int i = 0; i < 2; i++) {
        const spec_shape *shape = row[i].shape;
        spec_table_text(&table, "model", row[i].name);
        spec_table_integer(&table, "dim", shape->dim);
        spec_table_integer(&table, "heads", shape->n_heads);
        spec_table_integer(&table, "kv_heads", shape->n_kv_heads);
        spec_table_integer(&table, "ffn", shape->ffn_dim);
        spec_table_integer(&table, "weights", (long long)row[i].weights);
        spec_table_integer(&table, "bytes", (long long)row[i].bytes);
        if (spec_table_append(&table) != GSL_SUCCESS) spec_usage_no_memory(verb);
    }
    const int code = spec_options_show(&table, &options, verb);
    spec_table_free(&table);
    return code;
}

/* ---- widening --------------------------------------------------------------------------------
 */

/* A transformer and the wider one. */
typedef struct {
    spec_settings settings;
    spec_checkpoint model, wide;
} pair;

static int load_pair(pair *ret, const char *spec, const arguments *args, const char *verb,
                     spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = (pair){0};
    spec_model_file_settings(&ret->settings, verb, spec);
    SPEC_TRY((strcmp(ret->settings.name, "gguf") == 0 ? spec_checkpoint_load_gguf
                                                      : spec_checkpoint_load_llama2c)(
        &ret->model, &ret->settings, args->common.context->pool, error));
    SPEC_TRY(spec_widening_init(&ret->wide, &ret->model, args->by, ret->settings.path, error));
done:
    return status;
}

static void free_pair(pair *p)
{
    spec_checkpoint_free(&p->wide);
    spec_checkpoint_free(&p->model);
    spec_settings_free(&p->settings);
}

static int widen_model(const arguments *args, const char *verb, spec_error *error)
{
    int status = GSL_SUCCESS, kept = 0;
    pair p;
    const char *out = args->common.output;
    SPEC_TRY(load_pair(&p, args->in, args, verb, error));
    const summary row[] = {of_model(args->in, &p.model), of_model(out, &p.wide)};
    SPEC_TRY(spec_large_file_announce(verb, out, row[1].bytes, NAN, NULL, error));
    const spec_gguf_model_vocabulary vocabulary = {.opt_file = &p.settings};
    const spec_listener listener = {.hear = spec_progress_reports_share};
    const spec_gguf_model_watch watch = {.opt_listener = &listener, .opt_stop = &spec_stop};
    SPEC_TRY(spec_gguf_model_write(&kept, &p.wide, &vocabulary, out, &watch, error));
    spec_output_say_kept(out, kept, args->common.force, verb);
    status = show(row, args, verb);
done:
    free_pair(&p);
    return status;
}

static int widen_head(const arguments *args, const char *path, const char *verb, spec_error *error)
{
    int status = GSL_SUCCESS, kept = 0;
    pair target;
    spec_head head = {0}, wide = {0};
    const char *out = args->common.output;
    SPEC_TRY(load_pair(&target, args->target, args, verb, error));
    SPEC_TRY(spec_head_file_load(&head, path, &target.model, false, error));
    SPEC_TRY(spec_head_widening_init(&wide, &head, &target.wide, args->by, error));
    const summary row[] = {of_head(args->in, &head), of_head(out, &wide)};
    SPEC_TRY(spec_large_file_announce(verb, out, row[1].bytes, NAN, NULL, error));
    SPEC_TRY(spec_head_file_write(&kept, &wide, out, error));
    spec_output_say_kept(out, kept, args->common.force, verb);
    status = show(row, args, verb);
done:
    spec_head_free(&wide);
    spec_head_free(&head);
    free_pair(&target);
    return status;
}

static bool is_head(const char *kind, size_t length)
{
    for (int i = 0; spec_head_kind_names[i] != NULL; i++)
        if (strlen(spec_head_kind_names[i]) == length &&
            strncmp(spec_head_kind_names[i], kind, length) == 0)
            return true;
    return false;
}

/* Finds the path in "eagle3:head.gguf", or "head.gguf" if that is a head; *ret is NULL for a
 * model. */
static int head_path(const char **ret, const char *in, spec_error *error)
{
    const size_t length = strcspn(in, ":");
    char kind[KIND_SIZE];
    *ret = NULL;
    if (in[length] == ':') {
        if (is_head(in, length)) *ret = in + length + 1;
        return GSL_SUCCESS;
    }
    const int status = spec_gguf_kind_of_path(kind, sizeof kind, in, error);
    if (status == GSL_SUCCESS && is_head(kind, strlen(kind))) *ret = in;
    return status;
}

static int widen(const arguments *args, const char *verb, spec_error *error)
{
    const char *path;
    const int status = head_path(&path, args->in, error);
    if (status != GSL_SUCCESS) return status;
    if ((path != NULL) != (args->target != NULL))
        spec_usage_fail(verb,
                        path != NULL
                            ? "%s is a draft head; give the target that it belongs to with --target"
                            : "--target is for draft heads, and %s is a model",
                        args->in);
    return path != NULL ? widen_head(args, path, verb, error) : widen_model(args, verb, error);
}

const spec_fields spec_verb_widen_options = {
    .fields = fields,
    .doc =
    "write a wider transformer that computes the same function\vMODEL is a checkpoint of llama2.c "
    "or a GGUF file: a path, or a spec such as llama2c:model.bin?tokenizer=other.bin. Embedding, "
    "heads, key-value heads and feed-forward network are N times as wide, with zeros as new "
    "weights, and norms are scaled. On the CPU the logits are the same, bit for bit. So you can "
    "measure speed at the size of a larger model, with the acceptance of trained weights. "
    "Vocabulary and types are kept; the file is GGUF, since llama2.c's format cannot store "
    "epsilon. Widen a separate draft model, too, and a draft head with its --target.\n"
    "\n"
    "  $ speclab widen model.bin --by 4 -o wide.gguf\n"
    "  $ speclab widen head.gguf --target model.bin --by 4 -o wide_head.gguf",
    .words = "MODEL",
    .word = take,
    .output = "the wider model, a GGUF file; the table goes to standard output",
};

int spec_verb_widen(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_widen_options, argc, argv);
    if (args.in == NULL)
        spec_usage_fail(argv[0], "no model is given; give a checkpoint of llama2.c or a GGUF file");
    if (args.common.output == NULL)
        spec_usage_fail(argv[0], "give the file of the wider model with -o OUT.gguf");
    spec_error error = {{0}};
    spec_output_say_left_over(args.common.output, argv[0]);
    const int status = widen(&args, argv[0], &error);
    if (status != GSL_SUCCESS && error.text[0] != '\0') spec_usage_say(argv[0], "%s", error.text);
    return status == GSL_SUCCESS ? SPEC_EXIT_HOLDS : SPEC_EXIT_USAGE;
}
