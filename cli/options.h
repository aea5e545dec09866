/* options: what every verb understands: --format, --seed, --threads, -o, and how it shows a result.
 * An argp child whose input is a spec_options; verbs give its address in state->child_inputs[0]. */
#ifndef SPECLAB_OPTIONS_H
#define SPECLAB_OPTIONS_H

#include "cli/usage.h"
#include "experiments/experiment.h"
#include "base/table.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    spec_format format;
    bool format_given;
    uint64_t seed;
    bool seed_given;
    int threads;        /* 0: all */
    const char *output; /* NULL: standard output */
} spec_options;

#define SPEC_OPTIONS_DEFAULT ((spec_options){.seed = 42})

extern const struct argp spec_options_argp;

/* What an option says: a whole number from `low` to `high`. Bad input fails. */
uint64_t spec_options_count(const char *verb, const char *option, const char *arg, uint64_t low, uint64_t high);

/* An axis of the grid from texts between `separators`, or from a list of numbers ("0.5,0.7", "1:8:1"). Bad input
 * fails. */
void spec_options_texts(spec_grid *grid, const char *verb, const char *axis, const char *list, const char *separators);
void spec_options_numbers(spec_grid *grid, const char *verb, const char *axis, const char *list);

/* Set by ctrl-C and SIGTERM once _catch_interrupts was called; a second ctrl-C kills. */
extern volatile int spec_options_stop;
void spec_options_catch_interrupts(void);

/* How a verb wants its experiment run. */
typedef struct {
    bool resume;    /* keep the finished rows of the output file */
    bool no_point;  /* leave the point out of errors, which then begin with the parameter at fault */
    uint64_t limit; /* most branches of an enumeration, 0 for the default */
} spec_options_plan;

/* Run an experiment, write its table where and how the options say, and return the exit code. The line that is to be
 * said of it, if any, is left in *ret_error, for the verb to say in its own words. */
int spec_options_run(const spec_experiment *experiment, const spec_options *options, const spec_options_plan *plan,
                     const char *verb, spec_error *ret_error);

/* Write a table where and how the options say: 0, or 2 with a line said. */
int spec_options_show(const spec_table *table, const spec_options *options, const char *verb);

/* Report progress on a terminal, once the work has taken a second; an spec_run_options.progress. */
void spec_options_progress(void *context, uint64_t done, uint64_t total);

#endif
