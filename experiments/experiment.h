/* experiment: a question as data: which grid, which measure, which figure. Read from a .cfg file (libconfig) or built
 * by a verb. The result is a CSV whose bytes depend on the experiment, the seed and the version alone; a killed run
 * resumes to the same bytes. docs/formats.md describes the file. The experiment owns its strings. */
#ifndef SPECLAB_EXPERIMENT_H
#define SPECLAB_EXPERIMENT_H

#include "experiments/measures/measure.h"

/* Rounds of a point where neither rounds nor a standard error is given. */
#define SPEC_EXPERIMENT_ROUNDS 1000000ull

typedef struct {
    char *name;     /* file name without folder and .cfg */
    char *text;     /* the file and its overrides, or the verb's arguments: part of the provenance */
    char *title, *question, *theory, *finding, *time; /* prose for the report; may be "" */
    char *figure;   /* name of a script in plots/, without .gp, or "" */
    const spec_measure *measure;
    spec_grid grid;
    char **show;    /* (n_show) the columns of the result, in order; n_show = 0: parameters, then the measure's */
    int n_show;
    uint64_t rounds;
    double standard_error;
    uint64_t seed;  /* 42 unless given */
} spec_experiment;

/* An experiment without a grid, for a verb to fill: the verb adds axes to ->grid and sets rounds, seed and so on.
 * `text` (the arguments) goes into the provenance. GSL_EINVAL for an unknown measure; NULL leaves the measure open. */
int spec_experiment_init(spec_experiment *experiment, const char *name, const char *text, const char *measure,
                         spec_error *error);

/* Read a file. `opt_set` are "key=value" overrides (NULL-terminated): of top-level numbers and strings, of `defaults`
 * (the ${NAME} in texts of the file), of grid axes, and of parameters of the measure that the grid leaves out. Errors
 * read "file:line: what". */
int spec_experiment_load(spec_experiment *experiment, const char *path, const char *const *opt_set, spec_error *error);

/* The same from memory; `path` names it in errors, and gives the experiment its name. At most SPEC_CONFIG_BYTES
 * (config.h). */
int spec_experiment_parse(spec_experiment *experiment, const char *path, const char *bytes, size_t n,
                          const char *const *opt_set, spec_error *error);
void spec_experiment_free(spec_experiment *experiment);

typedef struct {
    const char *csv_path;     /* write here as rows come, over what was there; NULL: only into the table */
    FILE *opt_csv;            /* where csv_path is NULL: write rows to this stream (standard output) as they come */
    bool resume; /* keep the finished rows of csv_path, whose head must be what this run would write; else GSL_EINVAL */
    bool no_point; /* errors of a point do not name it, and so begin with the parameter at fault */
    int threads;              /* 0: all */
    uint64_t limit;
    const volatile int *stop;
    void (*progress)(void *context, uint64_t done, uint64_t total); /* in points; may be NULL */
    void *context;
} spec_run_options;

typedef struct {
    spec_table table;
    uint64_t holds, fails; /* checked rows */
    uint64_t resumed;      /* points that were kept from an earlier run */
} spec_result;

/* Run every point. On failure (a stop, a full disk, a point that cannot be computed) the finished rows are on disk and
 * in the result, which is to be freed in any case. GSL_EINVAL for an experiment that cannot run: unknown or missing
 * parameters, columns that do not exist. */
int spec_experiment_run(spec_result *result, const spec_experiment *experiment, const spec_run_options *options,
                        spec_error *error);
void spec_result_free(spec_result *result);

/* What results tell of the program that made them: "0.1.0 (commit)", "gcc 12.2.0". */
extern const char spec_experiment_version[], spec_experiment_compiler[];

#endif
