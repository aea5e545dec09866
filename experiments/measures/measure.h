/* measure: what an experiment computes at one grid point.
 * A measure reads the point's parameters, and fills the columns it declared. Measures are lines of the table
 * spec_measures; each lives in an experiments/measure_*.c. A new experiment over known measures is a text file, no C.
 */
#ifndef SPECLAB_MEASURE_H
#define SPECLAB_MEASURE_H

#include "experiments/grid.h"
#include "experiments/model_cache.h"
#include "base/table.h"

#include <stdint.h>

/* One point: its parameters, and how much work to spend on it. */
typedef struct {
    const spec_grid *grid;
    uint64_t index;
    uint64_t rounds;           /* Monte Carlo rounds, or 0 to stop by standard_error */
    double standard_error;
    uint64_t seed;             /* this point's own, hashed from the run's seed and the point's identity */
    int threads;
    uint64_t limit;            /* most branches of an enumeration; 0: the default */
    const volatile int *stop;  /* set by ctrl-C; may be NULL */
    spec_model_cache *models;  /* models opened by earlier points of this run */
} spec_point;

/* How a row stands against its check. */
typedef enum { SPEC_CHECK_NONE, SPEC_CHECK_HOLDS, SPEC_CHECK_FAILS } spec_check;

typedef struct spec_measure spec_measure;
struct spec_measure {
    const char *name, *summary;
    const char *const
        *parameters; /* names it reads, NULL-terminated; others are errors. "name=default" gives a default. One that is
                        a column too is a question: its value may ask for several rows, each of which tells what it is
                        about, and it leaves the point's random numbers alone */
    const char *const *columns;    /* the result columns, after the parameters' own, NULL-terminated */
    const char *const
        *checked; /* the columns by which a row is judged (spec_measure_check), NULL-terminated; NULL: none */
    bool simulates;                /* the point's rounds and standard error matter to it */
    /* How many rows the point gives, known before it is run; NULL: one. */
    int (*rows)(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure, spec_error *error);
    /* Fill the columns of `table`'s current row; of several rows each but the last is appended by the measure. */
    int (*run)(spec_table *table, const spec_point *point, const spec_measure *measure, spec_error *error);
};

extern const spec_measure *const spec_measures[]; /* NULL-terminated, experiments/measures/measure.c */
int spec_measure_find(const spec_measure **ret_measure, const char *name, spec_error *error);

/* Judge a row by the measure's checked columns, by their names:
 *     z, *_z     a number of standard errors; beyond SPEC_CHECK_Z in size it fails
 *     p, *_p     a p-value; below SPEC_CHECK_P it fails
 *     verdict    fails where it begins with "NOT", says nothing where it begins with "biased", else holds
 * Empty and absent cells say nothing. One failure fails the row. */
#define SPEC_CHECK_Z 5.0
#define SPEC_CHECK_P 1e-6
spec_check spec_measure_check(const spec_measure *measure, const spec_table *table, size_t row);

/* Is there such a column? */
bool spec_measure_tells(const spec_measure *measure, const char *name);

/* The default of a parameter; NULL where it has none; *opt_known tells whether the measure reads such a parameter. */
const char *spec_measure_default(const spec_measure *measure, const char *name, bool *opt_known);

/* A parameter of the point, or the measure's default; NULL where there is neither. The errors name the parameter and
 * the value. */
const char *spec_point_text(const spec_point *point, const spec_measure *measure, const char *name);
int spec_point_double(double *ret, const spec_point *point, const spec_measure *measure, const char *name, double low,
                      double high, spec_error *error);
int spec_point_int(int *ret, const spec_point *point, const spec_measure *measure, const char *name, int low, int high,
                   spec_error *error);

#endif
