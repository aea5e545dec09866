/* SPDX-License-Identifier: GPL-3.0-or-later */
/* measure: what an experiment computes at one grid point.
 * A measure reads the parameters of the point and fills the columns that it declares. Measures are
 * entries of the table spec_measures, each in its own experiments/measures/measure_*.c. A new
 * experiment with known measures is just a text file. */
#ifndef SPECLAB_MEASURE_H
#define SPECLAB_MEASURE_H

#include "base/groups.h"
#include "base/table.h"
#include "experiments/grid.h"
#include "experiments/model_cache.h"
#include "models/context.h"
#include "speclab/listener.h"

#include <stdint.h>

typedef struct spec_point spec_point;

/* The stage at which a measure returns. */
typedef enum { SPEC_POINT_COMPUTED, SPEC_POINT_READ, SPEC_POINT_OPENED } spec_point_stage;

/* Runs the groups of a point instead of the measure: experiments/group_run.h. */
typedef struct {
    void *self;
    int (*run)(void *self, const spec_groups *groups, const spec_point *point, spec_error *error);
} spec_point_groups;

/* One point: its parameters and its amount of work. */
struct spec_point {
    const spec_grid *grid;
    uint64_t index;
    uint64_t rounds;           /* Monte Carlo rounds, or 0 to stop by standard_error */
    double standard_error;
    uint64_t seed; /* seed of this point, hashed from the run's seed and the point's identity */
    spec_context *opt_context;
    uint64_t limit;            /* maximum branches of an enumeration; 0: the default */
    const volatile int *stop;  /* set by ctrl-C; may be NULL */
    const spec_listener *opt_listener; /* receives the share of the point that is done */
    spec_model_cache *models;  /* the models that the run has opened */
    spec_point_stage until;    /* before the run, checks stop early */
    const spec_point_groups *opt_groups; /* NULL: the measure runs them */
};

/* The result of checking a row. LEFT_OUT: the row's verdict is SPEC_TOO_LARGE. */
typedef enum {
    SPEC_CHECK_NONE,
    SPEC_CHECK_HOLDS,
    SPEC_CHECK_LEFT_OUT,
    SPEC_CHECK_FAILS
} spec_check;

/* The verdict of a point that exceeds a limit, and so was not computed. */
#define SPEC_TOO_LARGE "too large"

/* A result column that the summary of a report describes. */
typedef struct {
    const char *column; /* NULL ends a list */
    const char *unit;   /* as in docs/notation.md; NULL: a pure number */
    const char *se;     /* the column with its standard error; NULL: the same name with _se */
    bool exact;         /* computed exactly, without sampling */
} spec_headline;

/* A parameter that depends on the user's models, machine or load, and whose plausible values change
 * a result by more than 5 %. If the user does not give it, the run says what it assumes
 * (cli/assumed.h). */
typedef struct {
    const char *parameter;   /* NULL ends a list */
    const char *opt_value;   /* NULL: its default */
    const char *opt_meaning; /* NULL: the value needs no explanation */
    const char
        *opt_needs; /* names separated by blanks: assumed only if the grid has one of them */
    const char *opt_unless; /* names separated by blanks: not assumed if the grid has one of them */
} spec_assumption;

typedef struct spec_measure spec_measure;
struct spec_measure {
    const char *name, *summary;
    /* parameter names, or "name=default", NULL-terminated; other names are errors. A parameter that
     * is also a column is a question: its value may ask for several rows, and it does not influence
     * the point's random numbers. */
    const char *const *parameters;
    /* the result columns, after those of the parameters, NULL-terminated */
    const char *const *columns;
    /* the columns that decide whether a row passes (spec_measure_check), NULL-terminated; NULL:
     * none */
    const char *const *checked;
    /* the columns that summaries show, the most important first; ended by a NULL column */
    const spec_headline *headlines;
    const spec_assumption *assumes; /* ended by a NULL parameter; NULL: none */
    /* result columns that, with the parameters, identify a row; NULL: none */
    const char *const *keys;
    bool simulates; /* uses the rounds and the standard error of the point */
    bool divides;   /* the work at a point consists of groups that machines can share */
    /* Computes the number of rows of the point before it runs; NULL: one. */
    int (*rows)(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                spec_error *error);
    /* Fills the current row of `table`. A measure with several rows appends all but the last.
     * Returns GSL_EMAXITER if the point is too large; if the measure has a verdict and one row,
     * that row then gets SPEC_TOO_LARGE. */
    int (*run)(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error);
};

/* NULL-terminated, experiments/measures/measures.c */
extern const spec_measure *const spec_measures[];
int spec_measure_find(const spec_measure **ret_measure, const char *name, spec_error *error);

/* Returns the measure that a table's provenance names. A table without provenance, for example from
 * JSON, is recognised by its columns: of the measures whose columns it contains, we take the one
 * with the most columns. Returns NULL if there is none. */
const spec_measure *spec_measure_of_table(const spec_table *table);

/* Checks a row by the measure's checked columns. The name of a column decides how:
 *     z, *_z     a standard normal number (spec_moments_z); fails beyond SPEC_CHECK_Z in size
 *     p, *_p     a p-value; fails below SPEC_CHECK_P
 *     verdict    fails if it begins with "NOT", is no check if it begins with "biased", is left out
 *                if it is SPEC_TOO_LARGE, else holds
 * Empty and missing cells are not checked. One failure fails the row. */
#define SPEC_CHECK_P 1e-6
spec_check spec_measure_check(const spec_measure *measure, const spec_table *table, size_t row);

/* Returns the first checked column that makes the row fail, or NULL. */
const char *spec_measure_failed(const spec_measure *measure, const spec_table *table, size_t row);

/* Returns whether a column holds z values, rather than p-values or verdicts. */
bool spec_measure_is_z(const char *column);

/* Returns whether the measure has a column of this name. */
bool spec_measure_tells(const spec_measure *measure, const char *name);

/* Returns the default of a parameter; NULL if it has none. *opt_known: whether it is a parameter of
 * the measure. */
const char *spec_measure_default(const spec_measure *measure, const char *name, bool *opt_known);

/* Returns a parameter of the point, or its default; NULL if it has neither. Errors name the
 * parameter and the value. */
const char *spec_point_text(const spec_point *point, const spec_measure *measure, const char *name);
int spec_point_double(double *ret, const spec_point *point, const spec_measure *measure,
                      const char *name, double low, double high, spec_error *error);
int spec_point_int(int *ret, const spec_point *point, const spec_measure *measure, const char *name,
                   int low, int high, spec_error *error);

/* Declares that all parameters have been read. Returns GSL_CONTINUE, which the measure must return,
 * if the run only checks parameters; otherwise GSL_SUCCESS. This is how a run can refuse a wrong
 * value in its last point before it writes the first row. Every measure calls it before it computes
 * anything or opens a model. */
int spec_point_read(const spec_point *point);

/* Declares the same for the models of the point. A measure with a parameter `target` calls it once
 * it has opened the models and checked what it can, before it computes. */
int spec_point_opened(const spec_point *point);

#endif
