/* SPDX-License-Identifier: GPL-3.0-or-later */
/* options: the options that all verbs share (--format, --seed, --threads, -o) and their output.
 * cli/fields.c reads them. */
#ifndef SPECLAB_OPTIONS_H
#define SPECLAB_OPTIONS_H

#include "base/table.h"
#include "cli/assumed.h"
#include "cli/usage.h"
#include "experiments/experiment.h"
#include "models/context.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef struct {
    spec_format format;
    bool format_given;
    bool all; /* do not fit tables to the terminal */
    uint64_t seed;
    spec_context *context;
    const char *opt_figure; /* the figure that draws the table, which the CSV names */
    const char *output;     /* NULL: standard output */
    bool force;         /* do not keep an older output file */
    bool resume;        /* keep the finished rows of the output file */
    spec_shard shard;   /* the grid points to run; zeroed: all */
    spec_shard batches; /* the groups of batches to run; zeroed: all, and write rows */
    const char *sums;   /* file of the sums of all groups; NULL: simulate */
} spec_options;

#define SPEC_OPTIONS_DEFAULT(of) ((spec_options){.seed = 42, .context = (of)})

/* Parses an option's whole number from `low` to `high` (UINT64_MAX: no limit). Exits 2 on bad
 * input. */
uint64_t spec_options_count(const char *verb, const char *option, const char *arg, uint64_t low,
                            uint64_t high);

/* Adds an axis to the grid from texts between `separators`, or from a list of numbers ("0.5,0.7",
 * "1:8:1"). Exits 2 on bad input. */
void spec_options_texts(spec_grid *grid, const char *verb, const char *axis, const char *list,
                        const char *separators);
void spec_options_numbers(spec_grid *grid, const char *verb, const char *axis, const char *list);

/* Returns whether a verb that writes a text should write JSON: if --format says so, or, without it,
 * if the name is FILE.json. Exits 2 for a format of tables. */
bool spec_options_json(const spec_options *options, const char *verb);

/* How a verb runs its experiment. */
typedef struct {
    bool no_point;  /* errors begin with the parameter at fault instead of the grid point */
    uint64_t limit; /* largest number of branches in an enumeration, 0: the default */
    /* what happens before the first point, such as "loading the models", or NULL */
    const char *what;
    const spec_assumed *opt_assumed; /* printed before the first row */
    /* Called after the table of a run that ended. It says what the table shows, and returns the
     * exit code for a run whose checks hold. May be NULL. */
    int (*after)(const spec_table *table, const char *verb);
} spec_options_plan;

/* Runs an experiment, writes its table as the options say, and returns the exit code. If there is
 * an error line, *ret_error receives it, and the verb prints it. */
int spec_options_run(const spec_experiment *experiment, const spec_options *options,
                     const spec_options_plan *plan, const char *verb, spec_error *ret_error);

/* Returns the exit code of a finished run, from the checks of its rows. *ret_error says how many
 * failed and names the first, or says which rows were too large to compute. */
int spec_options_checked(const spec_result *result, const spec_measure *measure,
                         spec_error *ret_error);

/* Returns whether a verb that normally answers in sentences should write its rows: for -f csv and
 * other formats, and for FILE.csv and FILE.json. */
bool spec_options_wants_table(const spec_options *options);

/* Writes a table as the options say; returns 0, or 2 after printing the error. */
int spec_options_show(const spec_table *table, const spec_options *options, const char *verb);

/* Returns the width that an aligned table must fit, in columns: the terminal's if it goes to one;
 * 0: no limit. */
int spec_options_columns(const spec_options *options);

#endif
