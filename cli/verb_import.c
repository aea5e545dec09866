/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/large_file.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress_reports.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include "models/heads/head_file.h"
#include "models/import/import_head.h"
#include "models/import/import_model.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_options common;
    const char *folder, *target;
    bool has_taps;
    int tap[SPEC_HEAD_TAPS_MAX];
} arguments;

static void read_taps(void *arguments_, const char *text, const char *verb)
{
    arguments *args = arguments_;
    int read = 0;
    args->has_taps =
        sscanf(text, "%4d,%4d,%4d%n", &args->tap[0], &args->tap[1], &args->tap[2], &read) == 3 &&
        text[read] == '\0';
    if (!args->has_taps)
        spec_usage_fail(verb, "--taps: '%s' is not three numbers of layers such as 2,16,29", text);
}

static void take(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->folder != NULL) spec_usage_fail(verb, "'%s' is a second folder; give one", word);
    if (*word == '\0') spec_usage_fail(verb, "the folder has no name");
    args->folder = word;
}

static const spec_field fields[] = {
    {"target", 0, "SPEC", "the target of a draft head, such as gguf:model.gguf",
     SPEC_FIELD(arguments, target)},
    {"taps", 0, "A,B,C",
     "EAGLE-3: the layers of the target after which its hidden states are read (those of "
     "config.json)",
     .read = read_taps},
    {0},
};

/* ---- what was written ------------------------------------------------------------------------ */

static int show(const char *kind, const spec_shape *shape, const char *vocabulary, const char *taps,
                arguments *args, const char *verb)
{
    static const char *const columns[] = {"kind", "dim",   "layers",  "heads",      "kv_heads",
                                          "ffn",  "vocab", "context", "vocabulary", "taps"};
    const int ffn = shape->n_experts > 0 ? shape->expert_dim : shape->ffn_dim;
    const int number[] = {shape->dim, shape->n_layers, shape->n_heads, shape->n_kv_heads,
                          ffn,        shape->vocab,    shape->context};
    spec_table table;
    if (spec_table_init(&table, columns, (int)(sizeof columns / sizeof columns[0])) != GSL_SUCCESS)
        spec_usage_no_memory(verb);
    spec_table_text(&table, "kind", kind);
    for (int i = 0; i < 7; i++) spec_table_integer(&table, columns[i + 1], number[i]);
    spec_table_text(&table, "vocabulary", vocabulary);
    spec_table_text(&table, "taps", taps);
    if (spec_table_append(&table) != GSL_SUCCESS) spec_usage_no_memory(verb);
    args->common.output = NULL; /* the table goes to standard output */
    const int code = spec_options_show(&table, &args->common, verb);
    spec_table_free(&table);
    return code;
}

/* ---- models ---------------------------------------------------------------------------------- */

static int announce(void *self, uint64_t bytes, spec_error *error)
{
    return spec_large_file_announce("speclab import", self, (double)bytes, NAN, NULL, error);
}

static void say_what_differs(const spec_import_model *model, const char *verb)
{
    if (model->config.cut_window > 0)
        spec_usage_say(verb, "the context is cut to %d tokens, the model's attention window",
                       model->config.cut_window);
    if (model->n_passed_over > 0)
        spec_usage_say(verb, "%zu tensors of the model's part for images are left out",
                       model->n_passed_over);
    if (model->vocabulary.data.vocab == 0)
        spec_usage_say(verb, "%s has no tokenizer.json: the file will have no vocabulary",
                       model->folder.path);
}

static int import_model(int *ret_code, arguments *args, const char *verb, spec_error *error)
{
    const spec_listener listener = {.hear = spec_progress_reports_share};
    const spec_gguf_model_watch watch = {.opt_listener = &listener,
                                         .opt_stop = &spec_stop,
                                         .opt_announce = announce,
                                         .self = (void *)(uintptr_t)args->common.output};
    spec_import_model model;
    int status = GSL_SUCCESS, kept;
    SPEC_TRY(spec_import_model_open(&model, args->folder, error));
    SPEC_TRY(spec_import_model_write(&kept, &model, args->common.output, &watch, error));
    spec_output_say_kept(args->common.output, kept, args->common.force, verb);
    say_what_differs(&model, verb);
    const spec_tokenizer_data *data = &model.vocabulary.data;
    *ret_code = show(model.config.architecture->name, &model.checkpoint.shape,
                     data->vocab == 0                   ? "none"
                     : data->kind == SPEC_TOKENIZER_SPM ? "sentencepiece"
                                                        : data->pre,
                     "", args, verb);
done:
    spec_import_model_free(&model);
    return status;
}

/* ---- heads ----------------------------------------------------------------------------------- */

static int open_target(spec_model **ret_target, const arguments *args, spec_context *context,
                       spec_error *error)
{
    spec_error why = {{0}};
    int status = spec_model_open_unloaded(ret_target, args->target, NULL, context, &why);
    const spec_transformer *target =
        status == GSL_SUCCESS ? spec_transformer_of(*ret_target) : NULL;
    if (status != GSL_SUCCESS) return spec_fail(error, status, "--target: %.450s", why.text);
    if (target == NULL)
        return spec_fail(error, GSL_EINVAL, "--target: %.80s is not a transformer", args->target);
    if (target->checkpoint->opt_draw != NULL) status = spec_model_load(*ret_target, NULL, error);
    return status;
}

static void say_taps(const spec_head *head, spec_head_taps from, const char *verb)
{
    static const char *const sources[] = {
        [SPEC_HEAD_TAPS_FROM_CALLER] = "--taps",
        [SPEC_HEAD_TAPS_FROM_COUNTS] = "config.json",
        [SPEC_HEAD_TAPS_FROM_LAYERS] = "the outputs of the layers that config.json lists",
        [SPEC_HEAD_TAPS_FROM_DEFAULT] = "the usual ones, since config.json names none"};
    if (from == SPEC_HEAD_TAPS_FROM_NONE) return;
    const int *tap = head->shape.tap;
    spec_usage_say(verb,
                   "taps after layers %d, %d and %d: %s; with other taps than in training the "
                   "acceptance rate is low",
                   tap[0], tap[1], tap[2], sources[from]);
}

static int import_head(int *ret_code, arguments *args, spec_context *context, const char *verb,
                       spec_error *error)
{
    int status = GSL_SUCCESS, kept;
    spec_model *target = NULL;
    spec_head head = {0};
    spec_head_taps from;
    char taps[40] = "";
    SPEC_TRY(open_target(&target, args, context, error));
    SPEC_TRY(spec_import_head_open(&head, &from, args->folder,
                                   spec_transformer_of(target)->checkpoint,
                                   args->has_taps ? args->tap : NULL, error));
    SPEC_TRY(spec_head_file_write(&kept, &head, args->common.output, error));
    spec_output_say_kept(args->common.output, kept, args->common.force, verb);
    say_taps(&head, from, verb);
    for (int i = 0; i < head.shape.n_taps; i++)
        snprintf(taps + strlen(taps), sizeof taps - strlen(taps), "%s%d", i > 0 ? " " : "",
                 head.shape.tap[i]);
    spec_shape shape = head.shape.shape;
    shape.vocab = head.shape.draft_vocab;
    *ret_code =
        show(spec_head_kind_names[head.shape.kind], &shape, "the target's", taps, args, verb);
done:
    spec_head_free(&head);
    spec_model_close(target);
    return status;
}

const spec_fields spec_verb_import_options = {
    .fields = fields,
    .doc =
    "write a model or a draft head of a Hugging Face folder as GGUF\vFOLDER has config.json and "
    "*.safetensors (or shards with their index). Models of type llama, mistral, qwen2, qwen3, "
    "qwen3_moe, qwen3_next, qwen3_5 and qwen3_5_moe (their text), gemma3 (its text) and gpt_oss "
    "are read, with tokenizer.json as the vocabulary; weights keep their type. With --target, "
    "FOLDER holds a draft head for that model: Medusa, or "
    "EAGLE-1 and EAGLE-3 as their authors, SpecForge and speculators store them. The file appears "
    "only when it is complete.\n"
    "\n"
    "  $ speclab import Llama-3.2-1B -o model.gguf\n"
    "  $ speclab import EAGLE3-head --target gguf:model.gguf -o head.gguf",
    .words = "FOLDER",
    .word = take,
};

int spec_verb_import(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_import_options, argc, argv);
    if (args.folder == NULL)
        spec_usage_fail(argv[0], "no folder is given; give one with config.json and *.safetensors");
    if (args.common.output == NULL)
        spec_usage_fail(argv[0], "name the file to write: -o model.gguf");
    if (args.has_taps && args.target == NULL)
        spec_usage_fail(argv[0], "--taps is for draft heads: add --target");

    spec_error error = {{0}};
    spec_output_say_left_over(args.common.output, argv[0]);
    int code = SPEC_EXIT_USAGE;
    const int status = args.target != NULL ? import_head(&code, &args, context, argv[0], &error)
                                           : import_model(&code, &args, argv[0], &error);
    if (status == GSL_SUCCESS) return code;
    spec_usage_say(argv[0], "%s", error.text);
    return SPEC_EXIT_USAGE;
}
