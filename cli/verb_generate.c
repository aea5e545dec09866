/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/generate_args.h"
#include "cli/generate_output.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Generates all texts; returns the exit code, with the error line in `error`. */
static int write_texts(spec_ending *ret_ending, spec_generation *generation,
                       spec_generate_output *output, const int *prompt, size_t n_prompt,
                       spec_error *error)
{
    const spec_generate_args *args = output->args;
    int status = GSL_SUCCESS;
    *ret_ending = SPEC_ENDED_ASKED;
    for (uint64_t i = 0; i < args->texts && *ret_ending != SPEC_ENDED_STOPPED; i++) {
        SPEC_TRY(spec_generate_output_begin(output, i, error));
        SPEC_TRY(
            spec_generation_text(generation, ret_ending, prompt, n_prompt, i, args->tokens, error));
        SPEC_TRY(spec_generate_output_end(output, *ret_ending, error));
    }
    SPEC_TRY(spec_generate_output_close(output, generation, error));
done:
    return status;
}

int spec_verb_generate(spec_context *context, int argc, char **argv)
{
    spec_generate_args args;
    spec_generate_args_parse(&args, context, argc, argv);
    const char *verb = argv[0];

    int status = GSL_SUCCESS;
    spec_error error = {{0}};
    spec_model *target = NULL, *draft = NULL, *inner = NULL;
    spec_generation generation = {0};
    spec_generate_output output = {0};
    spec_ending ending = SPEC_ENDED_ASKED;
    int *prompt = NULL;
    size_t n_prompt;
    spec_output file = {.out = NULL};
    args.pair.laws = args.pair.ahead ? 2 * args.K : args.K;
    SPEC_TRY(spec_pair_options_open(&target, args.plain ? NULL : &draft, &args.pair, &error));
    if (!args.plain) SPEC_TRY(spec_pair_options_open_inner(&inner, &args.pair, draft, &error));
    spec_pair_options_say_converted(target, "target", verb);
    spec_pair_options_say_converted(draft, "draft", verb);
    spec_pair_options_say_converted(inner, "inner-draft", verb);
    spec_pair_options_say_translated(target, draft, verb);
    prompt = spec_generate_args_tokens(&n_prompt, &args, target, verb);
    SPEC_TRY(spec_output_open(&file, args.common.output, verb, &error));
    SPEC_TRY(spec_generate_output_init(&output, &args, target,
                                       args.shown && !args.json ? stdout : file.out, &error));
    spec_decoder_config config = spec_pair_options_decoder(&args.pair, target, draft);
    SPEC_TRY(spec_pair_options_K(&args.K, args.K_given, draft, &error));
    config.K = args.K;
    config.opt_inner = inner;
    const spec_generation_plan plan = {
        .decoder = config,
        .plain = args.plain,
        .baseline = args.baseline,
        .seed = args.common.seed,
        .load = spec_machine_load_here(),
        .opt_stop = &spec_stop,
        .hear = spec_generate_output_hear,
        .self = &output,
    };
    SPEC_TRY(spec_generation_init(&generation, &plan, &error));
    if (!args.K_given && !args.plain) {
        char K[16];
        snprintf(K, sizeof K, "%d", args.K);
        spec_assumed_add(&args.pair.assumed, "--K ", K, NULL);
    }
    spec_assumed_say(&args.pair.assumed, verb);
    spec_generate_output_legend(&args);
    SPEC_TRY(write_texts(&ending, &generation, &output, prompt, n_prompt, &error));
    SPEC_TRY(spec_output_close(&file, args.common.force, verb, &error));
    spec_generate_output_summary(&output, &generation, ending, verb);
done:
    spec_output_discard(&file);
    if (status != GSL_SUCCESS) {
        if (output.stream.out == stdout)
            spec_text_stream_end(&output.stream); /* the message gets its own line */
        spec_usage_say(verb, "%s", error.text);
    }
    spec_generation_free(&generation);
    spec_generate_output_free(&output);
    free(prompt);
    spec_model_close(inner);
    spec_model_close(draft);
    spec_model_close(target);
    spec_generate_args_free(&args);
    return status == GSL_SUCCESS && ending != SPEC_ENDED_STOPPED ? SPEC_EXIT_HOLDS
                                                                 : SPEC_EXIT_USAGE;
}
