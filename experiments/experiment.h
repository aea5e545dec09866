/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experiment: a question as data: a grid, a measure and a figure, from a .cfg file or a verb.
 * The result is a CSV whose bytes depend only on the experiment, the seed and the version; if a run
 * was killed, it resumes to the same bytes. docs/formats.md describes the file. The experiment owns
 * its strings. */
#ifndef SPECLAB_EXPERIMENT_H
#define SPECLAB_EXPERIMENT_H

#include "experiments/measures/measure.h"
#include "experiments/shard.h"

/* Rounds of a point if neither rounds nor a standard error are given. */
#define SPEC_EXPERIMENT_ROUNDS 1000000ull

typedef struct {
    char *name;     /* file name without folder and .cfg */
    /* the file and its overrides, or the arguments of the verb; they go into the provenance */
    char *text;
    char *title, *question, *theory, *finding, *time; /* prose for the report; may be "" */
    /* digest of the inputs that the finding is about (experiments/report/input_digest.h) */
    char *finding_for;
    /* a required input that the user has not given, with what to type; without it the experiment
     * cannot run */
    char *missing;
    char *note;        /* which axes and figure were dropped because models are given; may be "" */
    char *overrides;   /* shell words of the overrides: " --set K=3"; may be "" */
    char *figure;   /* name of a script in plots/, without .gp, or "" */
    const spec_measure *measure;
    spec_grid grid;
    /* (n_show) columns of the result; if n_show is 0, the parameters and then the columns of the
     * measure */
    char **show;
    int n_show;
    uint64_t rounds;
    double standard_error;
    uint64_t seed;  /* 42 unless given */
} spec_experiment;

/* Makes an experiment without a grid. The verb adds axes to ->grid, and sets rounds, seed and so
 * on. `text` (the arguments) goes into the provenance. Returns GSL_EINVAL for an unknown measure;
 * with NULL the measure stays open. */
int spec_experiment_init(spec_experiment *experiment, const char *name, const char *text,
                         const char *measure, spec_error *error);

/* Reads a file, with "key=value" overrides `opt_set` (NULL-terminated). Overrides can set top-level
 * numbers and strings, `defaults` (${NAME} in texts of the file), grid axes, and parameters of the
 * measure that the grid does not have. A given `target` or `draft` replaces the models of the file
 * (experiments/given_models.h). In title, question and theory, {axis} becomes the names of its
 * values (experiments/report/naming.h). Errors read "file:line: what". */
int spec_experiment_load(spec_experiment *experiment, const char *path, const char *const *opt_set,
                         spec_error *error);

/* Reads the same from memory, at most SPEC_CONFIG_BYTES (config.h). `path` appears in errors and
 * gives the experiment its name. */
int spec_experiment_parse(spec_experiment *experiment, const char *path, const char *bytes,
                          size_t n, const char *const *opt_set, spec_error *error);
void spec_experiment_free(spec_experiment *experiment);

typedef struct {
    /* each row is written here as soon as it is done; NULL: only into the table */
    const char *csv_path;
    FILE *opt_csv;            /* stream for the rows (standard output) if csv_path is NULL */
    /* keep the finished rows of csv_path; GSL_EINVAL if the file's head differs from this run's */
    bool resume;
    spec_shard shard; /* the points to run; zeroed: all */
    /* compute only these groups of batches of every point, and write their sums (group_file.h)
     * instead of rows; zeroed: compute all and write rows */
    spec_shard batches;
    const char *opt_sums; /* file of merged sums, which replaces simulating */
    bool no_point; /* an error at a point begins with the parameter at fault, not with the point */
    spec_context *opt_context; /* the run uses the threads and devices of this context */
    uint64_t limit;
    const volatile int *stop;
    /* shows how many points of `total` are done, and the share of the current one; may be NULL */
    void (*progress)(void *self, double done, uint64_t total);
    void (*first_row)(void *self); /* called before the first row of this run; may be NULL */
    void *self;
} spec_run_options;

enum { SPEC_RESULT_LEFT_OUT = 3 };

typedef struct {
    spec_table table;
    uint64_t holds, fails; /* checked rows */
    /* number of rows that are too large to compute; the first of these are in left_out_row */
    uint64_t left_out;
    size_t left_out_row[SPEC_RESULT_LEFT_OUT];
    /* why the first of them is too large; "" if another process computed it */
    spec_error why;
    uint64_t resumed;      /* points kept from an earlier run */
    /* number in the name that the older file of csv_path was given (base/new_file.h), or 0 */
    int kept;
} spec_result;

/* Runs every point. On failure (a stop, a full disk, a point that cannot be computed) the finished
 * rows stay on disk and in the result. The caller always frees the result. Returns GSL_EINVAL for
 * an experiment that cannot run, because of unknown or missing parameters or unknown columns. */
int spec_experiment_run(spec_result *result, const spec_experiment *experiment,
                        const spec_run_options *options, spec_error *error);
void spec_result_free(spec_result *result);

/* Counts the result of checking a row of the table. */
void spec_result_count(spec_result *result, spec_check check, size_t row);

#endif
