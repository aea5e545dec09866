/* experiment: a question as data: which grid, which measure, which figure. Read from a .cfg file (libconfig) or built by a verb.
 * The result is a CSV whose bytes depend on the experiment, the seed and the version alone; a killed run resumes to the same bytes.
 * docs/formats.md describes the file. The experiment owns its strings. */
#ifndef SPECLAB_EXPERIMENT_H
#define SPECLAB_EXPERIMENT_H

#include "experiments/measure.h"

typedef struct {
    char *name;     /* file name without folder and .cfg */
    char *text;     /* the file, or the verb's arguments: part of the provenance */
    char *title, *question, *theory, *finding; /* prose for the report; may be "" */
    char *figure;   /* name of a script in plots/, without .gp, or "" */
    const spec_measure *measure;
    spec_grid grid;
    char **show;    /* (n_show) the columns of the result, in order; n_show = 0: parameters, then the measure's */
    int n_show;
    uint64_t rounds;
    double standard_error;
    uint64_t seed;
} spec_experiment;

/* Read a file. `opt_set` are "key=value" overrides (NULL-terminated) of top-level numbers and grid lists, and ${NAME} in texts of the file
 * is replaced by them (e.g. TEXT=file). Errors read "file:line: what". */
int spec_experiment_load(spec_experiment *experiment, const char *path, const char *const *opt_set, spec_error *error);
void spec_experiment_free(spec_experiment *experiment);

typedef struct {
    const char *csv_path;     /* write here as rows come; NULL: only into the table */
    bool resume;              /* keep the finished rows of csv_path */
    int threads;
    uint64_t limit;
    const volatile int *stop;
    void (*progress)(void *context, uint64_t done, uint64_t total); /* may be NULL */
    void *context;
} spec_run_options;

typedef struct {
    spec_table table;
    uint64_t holds, fails; /* checked rows */
} spec_result;

/* Run every point. On GSL_EFAILED after a stop or a write error, finished rows are on disk and in the result. */
int spec_experiment_run(spec_result *result, const spec_experiment *experiment, const spec_run_options *options,
                        spec_error *error);
void spec_result_free(spec_result *result);

#endif
