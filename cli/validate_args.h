/* validate_args: the command line of `speclab validate`: what is asked, and the files it is to be written to.
 * Bad usage says one line that names the option, and exits 2. The arguments own the list of names and the sampler's
 * spec. */
#ifndef SPECLAB_VALIDATE_ARGS_H
#define SPECLAB_VALIDATE_ARGS_H

#include "cli/options.h"
#include "conformance/validate.h"

typedef struct {
    spec_options common;
    spec_validate_plan plan;
    char *sampler;       /* the spec, or the trace's file; NULL with --list or --self-test */
    char **only;         /* NULL-terminated, or NULL */
    bool list, self_test, watch, budget_given;
    bool trace;          /* judge a trace */
    const char *write_trace, *holds; /* write one instead; what it holds, of spec_trace_contents_names */
    int calibrate;       /* runs; 0: no calibration */
    const char *report, *junit, *figure;
} spec_validate_args;

void spec_validate_args_parse(spec_validate_args *args, int argc, char **argv, const char *doc);
void spec_validate_args_free(spec_validate_args *args);

/* The main report's: --format, or what the file of -o ends in; else text (SPEC_FORMAT_TABLE). */
spec_format spec_validate_args_format(const spec_validate_args *args);

/* Files are opened before the work is done, and removed unless they are to be kept: no report is of an older run. */
typedef struct {
    FILE *main, *report, *junit; /* main: standard output, without -o */
} spec_validate_files;

void spec_validate_args_open(spec_validate_files *files, const spec_validate_args *args, const char *verb);
bool spec_validate_args_close(spec_validate_files *files, const spec_validate_args *args, bool keep, const char *verb);

/* Write the table beside args->figure, with the ending .csv, and draw plots/NAME.gp over it. */
int spec_validate_args_draw(const spec_validate_args *args, const spec_table *table, const char *name,
                            spec_error *error);

#endif
