/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verb: the table of the command line's verbs; each verb has its own file.
 * A verb parses its own arguments (argv[0] is "speclab VERB") and returns the exit code: 0 if all
 * checks hold; 1 if a check failed; 2 for bad usage or input, or if interrupted (cli/stop.h); 3 if
 * there is not enough evidence either way. */
#ifndef SPECLAB_VERB_H
#define SPECLAB_VERB_H

#include "models/context.h"

enum {
    SPEC_EXIT_HOLDS = 0,
    SPEC_EXIT_FAILS = 1,
    SPEC_EXIT_USAGE = 2,
    SPEC_EXIT_UNDECIDED = 3
};

typedef struct {
    const char *group; /* verbs of a group share a line in what plain 'speclab' prints */
    const char *name, *summary;
    int (*run)(spec_context *context, int argc, char **argv);
    const struct spec_fields *options; /* cli/fields.h */
} spec_verb;

extern const spec_verb spec_verbs[]; /* ends with a NULL name; cli/main.c */

int spec_verb_predict(spec_context *context, int argc, char **argv);
int spec_verb_sweep(spec_context *context, int argc, char **argv);
int spec_verb_run(spec_context *context, int argc, char **argv);
int spec_verb_plot(spec_context *context, int argc, char **argv);
int spec_verb_prove(spec_context *context, int argc, char **argv);
int spec_verb_accept(spec_context *context, int argc, char **argv);
int spec_verb_step(spec_context *context, int argc, char **argv);
int spec_verb_plan(spec_context *context, int argc, char **argv);
int spec_verb_pair(spec_context *context, int argc, char **argv);
int spec_verb_bench(spec_context *context, int argc, char **argv);
int spec_verb_serve(spec_context *context, int argc, char **argv);
int spec_verb_served(spec_context *context, int argc, char **argv);
int spec_verb_drive(spec_context *context, int argc, char **argv);
int spec_verb_advise(spec_context *context, int argc, char **argv);
int spec_verb_profile(spec_context *context, int argc, char **argv);
int spec_verb_validate(spec_context *context, int argc, char **argv);
int spec_verb_rows(spec_context *context, int argc, char **argv);
int spec_verb_generate(spec_context *context, int argc, char **argv);
int spec_verb_train(spec_context *context, int argc, char **argv);
int spec_verb_tune(spec_context *context, int argc, char **argv);
int spec_verb_quantize(spec_context *context, int argc, char **argv);
int spec_verb_widen(spec_context *context, int argc, char **argv);
int spec_verb_import(spec_context *context, int argc, char **argv);
int spec_verb_merge(spec_context *context, int argc, char **argv);
int spec_verb_report(spec_context *context, int argc, char **argv);
int spec_verb_list(spec_context *context, int argc, char **argv);

extern const struct spec_fields spec_verb_predict_options, spec_verb_sweep_options,
    spec_verb_run_options, spec_verb_plot_options, spec_verb_prove_options,
    spec_verb_accept_options, spec_verb_step_options, spec_verb_plan_options,
    spec_verb_pair_options, spec_verb_bench_options, spec_verb_serve_options,
    spec_verb_served_options, spec_verb_drive_options, spec_verb_advise_options,
    spec_verb_profile_options, spec_verb_validate_options, spec_verb_rows_options,
    spec_verb_generate_options, spec_verb_train_options, spec_verb_tune_options,
    spec_verb_quantize_options, spec_verb_widen_options, spec_verb_import_options,
    spec_verb_merge_options, spec_verb_report_options, spec_verb_list_options;

#endif
