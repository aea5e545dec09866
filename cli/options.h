/* options: what every verb understands: --format, --seed, --threads, -o, and how it shows a result.
 * An argp child whose input is a spec_options; verbs give its address in state->child_inputs[0]. */
#ifndef SPECLAB_OPTIONS_H
#define SPECLAB_OPTIONS_H

#include "experiments/experiment.h"
#include "experiments/table.h"

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

/* Say what is wrong in one line, "speclab VERB: ...", and exit 2. */
__attribute__((noreturn, format(printf, 2, 3))) void spec_options_fail(const char *verb, const char *format, ...);

/* An axis of the grid from texts between `separators`, or from a list of numbers ("0.5,0.7", "1:8:1"). On bad input: fail. */
void spec_options_texts(spec_grid *grid, const char *verb, const char *axis, const char *list, const char *separators);
void spec_options_numbers(spec_grid *grid, const char *verb, const char *axis, const char *list);

/* Set by ctrl-C and SIGTERM once _catch_interrupts was called; a second ctrl-C kills. */
extern volatile int spec_options_stop;
void spec_options_catch_interrupts(void);

/* Run an experiment, write its table where and how the options say, and return the exit code. With `resume`, finished rows of the output
 * file are kept. `limit`: most branches of an enumeration, 0 for the default. */
int spec_options_run(const spec_experiment *experiment, const spec_options *options, bool resume, uint64_t limit,
                     const char *verb);

/* Write a table where and how the options say: 0, or 2 with a line said. */
int spec_options_show(const spec_table *table, const spec_options *options, const char *verb);

/* Report progress on a terminal, once the work has taken a second; an spec_run_options.progress. */
void spec_options_progress(void *context, uint64_t done, uint64_t total);

#endif
