/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_args: the command line of `speclab validate`, and its output files.
 * Bad usage prints one line that names the option, and exits 2. The arguments own the list of names
 * and the sampler's spec. */
#ifndef SPECLAB_VALIDATE_ARGS_H
#define SPECLAB_VALIDATE_ARGS_H

#include "cli/options.h"
#include "cli/output.h"
#include "tools/validate/traces/trace_write.h"
#include "tools/validate/validate.h"

typedef struct {
    spec_options common;
    spec_validate_plan plan;
    char *sampler;       /* the spec, or the trace's file; NULL if the verb tests no sampler */
    char **only, **env;  /* NULL-terminated lists of names, or NULL */
    bool list, self_test, watch, budget_given;
    bool trace; /* test a trace */
    const char *write_trace;    /* file to write a trace to */
    spec_trace_contents holds;  /* what it contains */
    int calibrate, check_power; /* number of runs; 0: none */
    const char *report, *junit, *figure;
    char *figure_data; /* the CSV file of the figure's data, FIGURE.csv */
} spec_validate_args;

void spec_validate_args_parse(spec_validate_args *args, spec_context *context, int argc,
                              char **argv);
void spec_validate_args_free(spec_validate_args *args);

/* Returns the format of the main report: --format, or the ending of -o, else text
 * (SPEC_FORMAT_TABLE). */
spec_format spec_validate_args_format(const spec_validate_args *args);

/* Reports, opened before the test. Without -o, main is standard output; the others may be
 * closed. */
typedef struct {
    spec_output main, report, junit;
} spec_validate_files;

/* _retire is for a run without a verdict. It discards the new reports and renames older ones, so
 * that nobody takes them for reports of this run. */
void spec_validate_args_open(spec_validate_files *files, const spec_validate_args *args,
                             const char *verb);
void spec_validate_args_retire(spec_validate_files *files, bool force, const char *verb);

/* Writes the table to args->figure_data, and draws it with plots/NAME.gp. */
int spec_validate_args_draw(const spec_validate_args *args, const spec_table *table,
                            const char *name, const char *verb, spec_error *error);

#endif
