/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experiment: a question as data: a grid, a measure and a figure, from a .cfg file or a verb.
 * The result is a CSV whose bytes depend only on the experiment, the seed and the version; a killed
 * run resumes to the same bytes. docs/formats.md describes the file. The experiment owns its
 * strings. */
#ifndef SPECLAB_EXPERIMENT_H
#define SPECLAB_EXPERIMENT_H

#include "experiments/measures/measure.h"
#include "experiments/shard.h"

/* Rounds of a point if neither rounds nor a standard error is given. */
#define SPEC_EXPERIMENT_ROUNDS 1000000ull

typedef struct {
    char *name;     /* file name without folder and .cfg */
    /* the file and its overrides, or the arguments of the verb: a part of the provenance */
    char *text;
    char *title, *question, *theory, *finding, *time; /* prose for the report; may be "" */
    char *finding_for; /* digest of the inputs of the finding (experiments/report/input_digest.h) */
    /* a required input that the user did not give, with what to type; the experiment then cannot
     * run */
    char *missing;
    char *note;        /* axes and figure that are dropped because models are given; may be "" */
    char *overrides;   /* shell words of the overrides: " --set K=3"; may be "" */
    char *figure;   /* name of a script in plots/, without .gp, or "" */
    const spec_measure *measure;
    spec_grid grid;
    /* (n_show) columns of the result; n_show = 0: parameters, then columns of the measure */
    char **show;
    int n_show;
    uint64_t rounds;
    double standard_error;
    uint64_t seed;  /* 42 unless given */
} spec_experiment;

/* Makes an experiment without a grid: the verb adds axes to ->grid and sets rounds, seed and so on.
 * `text` (the arguments) goes into the provenance. Returns GSL_EINVAL for an unknown measure; NULL
 * leaves it open. */
int spec_experiment_init(spec_experiment *experiment, const char *name, const char *text,
                         const char *measure, spec_error *error);

/* Reads a file, with "key=value" overrides `opt_set` (NULL-terminated). Overrides set top-level
 * numbers and strings, `defaults` (${NAME} in texts of the file), grid axes, and parameters of the
 * measure that the grid leaves out. A given `target` or `draft` replaces the models of the file
 * (experiments/given_models.h). {axis} in title, question and theory becomes the names of its
 * values (experiments/report/naming.h). Errors read "file:line: what". */
int spec_experiment_load(spec_experiment *experiment, const char *path, const char *const *opt_set,
                         spec_error *error);

/* Reads the same from memory, at most SPEC_CONFIG_BYTES (config.h); `path` is for errors and for
 * the name of the experiment. */
int spec_experiment_parse(spec_experiment *experiment, const char *path, const char *bytes,
                          size_t n, const char *const *opt_set, spec_error *error);
void spec_experiment_free(spec_experiment *experiment);

typedef struct {
    const char *csv_path;     /* rows are written here one by one; NULL: only into the table */
    FILE *opt_csv;            /* the stream for rows (standard output) if csv_path is NULL */
    /* keep the finished rows of csv_path; fails with GSL_EINVAL if its head differs from this
     * run's */
    bool resume;
    spec_shard shard; /* the points to run; zeroed: all */
    /* compute these groups of batches of every point, and write their sums (group_file.h) instead
     * of rows; zeroed: the rows */
    spec_shard batches;
    const char *opt_sums; /* a file of merged sums, to be used instead of simulating */
    bool no_point; /* errors of a point begin with the parameter at fault, not with the point */
    spec_context *opt_context; /* the run uses its threads and devices */
    uint64_t limit;
    const volatile int *stop;
    /* shows the points done of `total`, with the share of the current one; may be NULL */
    void (*progress)(void *self, double done, uint64_t total);
    void (*first_row)(void *self); /* called before the first row of this run; may be NULL */
    void *self;
} spec_run_options;

enum { SPEC_RESULT_LEFT_OUT = 3 };

typedef struct {
    spec_table table;
    uint64_t holds, fails; /* checked rows */
    uint64_t left_out;     /* rows that are too large to compute, and the first of them */
    size_t left_out_row[SPEC_RESULT_LEFT_OUT];
    spec_error why;        /* why the first of them is too large; "" if another process computed
                            * it */
    uint64_t resumed;      /* points kept from an earlier run */
    int kept; /* number of the former file of csv_path (base/new_file.h), or 0 */
} spec_result;

/* Runs every point. On failure (a stop, a full disk, a point that cannot be computed) the finished
 * rows remain on disk and in the result. The caller frees the result in any case. Returns
 * GSL_EINVAL for an experiment that cannot run: unknown or missing parameters, unknown columns. */
int spec_experiment_run(spec_result *result, const spec_experiment *experiment,
                        const spec_run_options *options, spec_error *error);
void spec_result_free(spec_result *result);

/* Counts the check of a row of the table. */
void spec_result_count(spec_result *result, spec_check check, size_t row);

#endif
