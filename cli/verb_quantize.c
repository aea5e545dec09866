/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fields.h"
#include "cli/large_file.h"
#include "cli/model_file.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress_reports.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include "models/transformer/files/conversion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_options common;
    const char *in, *out, *type;
} arguments;

static void take(void *arguments_, const char *word, const char *verb)
{
    arguments *args = arguments_;
    if (args->out != NULL)
        spec_usage_fail(verb, "'%s' is a third file; give MODEL and OUT.gguf", word);
    if (*word == '\0')
        spec_usage_fail(verb, "the %s has no name", args->in == NULL ? "model" : "file to write");
    *(args->in == NULL ? &args->in : &args->out) = word;
}

static const spec_field fields[] = {
    {"type", 0, "TYPE",
     "type of the matrices: q8_0, q6_K, q5_K, q4_K, q5_1, q5_0, q4_1, "
     "q4_0, bf16, f16 or f32, or a mixture: q5_K_M, q5_K_S, q4_K_M or q4_K_S",
     SPEC_FIELD(arguments, type), .fallback = "q8_0"},
    {0},
};

static int add_row(spec_table *table, const char *before, const char *after,
                   const spec_conversion_count *count)
{
    spec_table_text(table, "from", before);
    spec_table_text(table, "to", after);
    spec_table_integer(table, "tensors", count->tensors);
    spec_table_integer(table, "weights", (long long)count->weights);
    spec_table_integer(table, "bytes_before", (long long)count->bytes_before);
    spec_table_integer(table, "bytes_after", (long long)count->bytes_after);
    spec_table_number(table, "ratio", (double)count->bytes_after / (double)count->bytes_before);
    spec_table_number(table, "error_rms",
                      count->squared > 0.0 ? sqrt(count->squared_error / count->squared) : 0.0);
    spec_table_number(table, "error_max", count->error_max);
    return spec_table_append(table);
}

static int show(const spec_conversion *conversion, const arguments *args, const char *verb)
{
    static const char *const columns[] = {"from",    "to",           "tensors",
                                          "weights", "bytes_before", "bytes_after",
                                          "ratio",   "error_rms",    "error_max"};
    spec_table table;
    spec_conversion_count all = {0};
    if (spec_table_init(&table, columns, (int)(sizeof columns / sizeof columns[0])) != GSL_SUCCESS)
        spec_usage_no_memory(verb);
    for (int before = 0; before < SPEC_TENSOR_ALL_TYPES; before++) {
        for (int after = 0; after < SPEC_TENSOR_ALL_TYPES; after++) {
            const spec_conversion_count *count = &conversion->count[before][after];
            if (count->tensors == 0) continue;
            if (add_row(&table, spec_tensor_type_names[before], spec_tensor_type_names[after],
                        count) != GSL_SUCCESS)
                spec_usage_no_memory(verb);
            all.tensors += count->tensors;
            all.weights += count->weights;
            all.bytes_before += count->bytes_before;
            all.bytes_after += count->bytes_after;
            all.squared_error += count->squared_error;
            all.squared += count->squared;
            all.error_max = fmax(all.error_max, count->error_max);
        }
    }
    if (add_row(&table, "all", "all", &all) != GSL_SUCCESS) spec_usage_no_memory(verb);
    const int code = spec_options_show(&table, &args->common, verb);
    spec_table_free(&table);
    return code;
}

static int announce(void *self, uint64_t bytes, spec_error *error)
{
    return spec_large_file_announce("speclab quantize", self, (double)bytes, NAN, NULL, error);
}

const spec_fields spec_verb_quantize_options = {
    .fields = fields,
    .doc =
    "quantize a transformer and write it as GGUF\vMODEL is a checkpoint of llama2.c or a GGUF "
    "file: a path, or a spec such as llama2c:model.bin?tokenizer=other.bin. Shape, vocabulary and "
    "metadata are copied; vectors stay floats. The mixtures are llama.cpp's: q6_K for the output "
    "and for some values and down projections. Rows whose length is not a multiple of 256 get "
    "q5_0, q5_1 or q8_0 for q4_K, q5_K or q6_K; rows whose length is not a multiple of 32 stay "
    "floats. OUT.gguf appears only when it is complete. error_rms is the root of the sum of "
    "squared errors divided by the sum of squared weights; error_max is the largest error "
    "relative to the largest weight of its tensor, for the worst tensor.\n"
    "\n"
    "  $ speclab quantize model.bin model-q8_0.gguf --type q8_0\n"
    "  $ speclab quantize model.gguf model-q4_K_M.gguf --type q4_K_M",
    .words = "MODEL OUT.gguf",
    .word = take,
};

int spec_verb_quantize(spec_context *context, int argc, char **argv)
{
    arguments args = {.common = SPEC_OPTIONS_DEFAULT(context)};
    spec_fields_parse(&args, &args.common, &spec_verb_quantize_options, argc, argv);
    if (args.in == NULL)
        spec_usage_fail(argv[0], "no model is given; give a checkpoint of llama2.c or a GGUF file");
    if (args.out == NULL) spec_usage_fail(argv[0], "give the file to write after the model");

    spec_error error = {{0}};
    spec_settings settings = {0};
    spec_conversion conversion;
    const spec_type_recipe *recipe = spec_type_recipe_find(args.type);
    if (recipe == NULL)
        spec_usage_fail(argv[0],
                        "--type: '%s' is not q8_0, q6_K, q5_K, q4_K, q5_1, q5_0, q4_1, q4_0, bf16, "
                        "f16 or f32, nor q5_K_M, q5_K_S, q4_K_M or q4_K_S",
                        args.type);
    spec_model_file_settings(&settings, argv[0], args.in);
    spec_output_say_left_over(args.out, argv[0]);
    const spec_listener listener = {.hear = spec_progress_reports_share};
    const spec_conversion_watch watch = {.opt_pool = context->pool,
                                         .opt_stop = &spec_stop,
                                         .opt_listener = &listener,
                                         .opt_announce = announce,
                                         .self = (void *)(uintptr_t)args.out};
    const int status =
        spec_conversion_write(&conversion, args.out, &settings, recipe, &watch, &error);
    spec_settings_free(&settings);
    spec_output_say_kept(args.out, conversion.kept, args.common.force, argv[0]);
    if (status == GSL_SUCCESS) return show(&conversion, &args, argv[0]);
    spec_usage_say(argv[0], "%s", error.text);
    return SPEC_EXIT_USAGE;
}
