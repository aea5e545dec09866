/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_args: the command line of `speclab validate`, and its output files.
 * Bad usage prints one line that names the option, and exits 2. The arguments own the list of names
 * and the sampler's spec. */
#ifndef SPECLAB_VALIDATE_ARGS_H
#define SPECLAB_VALIDATE_ARGS_H

#include "cli/options.h"
#include "cli/output.h"
#include "conformance/validate.h"

enum { SPEC_VALIDATE_ENV_MAX = 64 };

typedef struct {
    spec_options common;
    spec_validate_plan plan;
    char *sampler;       /* the spec, or the trace's file; NULL if no sampler is tested */
    char **only;         /* NULL-terminated, or NULL */
    bool list, self_test, watch, budget_given;
    bool trace; /* test a trace */
    const char *write_trace,
        *holds; /* write a trace to this file; its contents, of spec_trace_contents_names */
    int calibrate, check_power; /* runs; 0: none */
    const char *env[SPEC_VALIDATE_ENV_MAX +
                    1]; /* further environment variables for the child process; NULL-terminated */
    int n_env;
    const char *report, *junit, *figure;
} spec_validate_args;

void spec_validate_args_parse(spec_validate_args *args, spec_context *context, int argc,
                              char **argv, const char *doc);
void spec_validate_args_free(spec_validate_args *args);

/* The format of the main report: --format, or the ending of -o, else text (SPEC_FORMAT_TABLE). */
spec_format spec_validate_args_format(const spec_validate_args *args);

/* Reports, opened before the test: main is standard output without -o; the others may be closed. */
typedef struct {
    spec_output main, report, junit;
} spec_validate_files;

/* _close returns false after printing an error if a file could not be written. Without a `verdict`
 * it writes no report, and renames an older one, so that no report belongs to an older run. */
void spec_validate_args_open(spec_validate_files *files, const spec_validate_args *args,
                             const char *verb);
bool spec_validate_args_close(spec_validate_files *files, bool verdict, bool force,
                              const char *verb);

/* Write the table beside args->figure, with the ending .csv, and draw it with plots/NAME.gp. */
int spec_validate_args_draw(const spec_validate_args *args, const spec_table *table,
                            const char *name, const char *verb, spec_error *error);

#endif
