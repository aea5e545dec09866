/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each row is a claim of a paper; it says which measure settles the claim, and with which
 * parameters. */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "base/names.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GIVEN_MAX = 1000, ROUNDED_MAX = 6 };

/* Rounding in exact sums; smaller results are 0. */
#define ROUNDING 1e-13

/* What a paper prints: a number with a unit in its last place, or a bound. */
typedef struct {
    char relation;      /* '=', '<' (at most) or '>' (at least) */
    double value, half; /* half a unit in the last printed place; 0 for a bound or a fraction */
} printed_number;

/* Returns half a unit in the last place of a number as it is printed. */
static double half_unit(const char *text)
{
    const char *point = strchr(text, '.');
    const size_t decimals = point != NULL ? strspn(point + 1, "0123456789") : 0;
    return 0.5 * pow(10.0, -(double)decimals);
}

/* Reads "2.46", "11/9", ">=0.63" or "<=1e-12". */
static int read_printed(printed_number *ret, const char *text, spec_error *error)
{
    char *end;
    const bool bound = strncmp(text, "<=", 2) == 0 || strncmp(text, ">=", 2) == 0;
    const char *digits = bound ? text + 2 : text;
    ret->relation = bound ? text[0] : '=';
    ret->value = strtod(digits, &end);
    ret->half = bound ? 0.0 : half_unit(digits);
    if (end != digits && *end == '/') {
        const char *below = end + 1;
        ret->value /= strtod(below, &end);
        ret->half = end == below ? NAN : 0.0;
    }
    if (end == digits || *end != '\0' || !isfinite(ret->value) || isnan(ret->half))
        return spec_fail(error, GSL_EINVAL,
                         "printed must be a number, a fraction or a bound such as '>=0.63', got "
                         "'%.100s'",
                         text);
    return GSL_SUCCESS;
}

static bool agrees(const printed_number *printed, double low, double high)
{
    const double slack = printed->half + 1e-9 * fmax(1.0, fabs(printed->value));
    if (printed->relation == '<') return low <= printed->value;
    if (printed->relation == '>') return high >= printed->value;
    return low - slack <= printed->value && printed->value <= high + slack;
}

/* ---- the measure that settles it ------------------------------------------------------------- */

typedef struct {
    const spec_measure *measure; /* NULL: `of` over `over` */
    const char *column;
    spec_grid grid;
    int rounded[ROUNDED_MAX], n_rounded; /* axes whose values are rounded in the paper */
} question;

static void close_question(question *q)
{
    spec_grid_free(&q->grid);
}

/* Adds the axes of "alpha=0.75;K=7". */
static int read_given(spec_grid *grid, const char *given, spec_error *error)
{
    char text[GIVEN_MAX];
    if (strlen(given) >= sizeof text)
        return spec_fail(error, GSL_EINVAL, "given must have fewer than %d bytes", GIVEN_MAX);
    strcpy(text, given);
    char *rest = NULL;
    for (char *item = strtok_r(text, ";", &rest); item != NULL; item = strtok_r(NULL, ";", &rest)) {
        item += strspn(item, " ");
        char *equals = strchr(item, '=');
        if (equals == NULL || equals == item)
            return spec_fail(error, GSL_EINVAL, "given must be NAME=VALUE;..., got '%.100s'", item);
        *equals = '\0';
        const char *value = equals + 1;
        if (spec_grid_axis(grid, item) != NULL)
            return spec_fail(error, GSL_EINVAL, "given has '%.100s' twice", item);
        const int status = spec_grid_add(grid, item, &value, 1, false);
        if (status != GSL_SUCCESS) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

static int read_rounded(question *q, const char *names, spec_error *error)
{
    char text[GIVEN_MAX];
    snprintf(text, sizeof text, "%s", names);
    char *rest = NULL;
    for (char *name = strtok_r(text, " ", &rest); name != NULL; name = strtok_r(NULL, " ", &rest)) {
        spec_axis *axis = spec_grid_axis(&q->grid, name);
        if (axis == NULL || q->n_rounded == ROUNDED_MAX)
            return spec_fail(error, GSL_EINVAL,
                             "rounded must be at most %d names in given, got '%.100s'", ROUNDED_MAX,
                             name);
        q->rounded[q->n_rounded++] = (int)(axis - q->grid.axis);
    }
    return GSL_SUCCESS;
}

static int open_question(question *q, const spec_point *point, const spec_measure *measure,
                         spec_error *error)
{
    const char *name = spec_point_text(point, measure, "measure");
    int status = GSL_SUCCESS;
    q->column = spec_point_text(point, measure, "column");
    if (strcmp(name, "ratio") != 0) {
        SPEC_TRY(spec_measure_find(&q->measure, name, error));
        if (q->measure == measure || !spec_measure_tells(q->measure, q->column)) {
            status = spec_fail(error, GSL_EINVAL, "the measure '%.100s' has no column '%.100s'",
                               name, q->column);
            goto done;
        }
    }
    SPEC_TRY(read_given(&q->grid, spec_point_text(point, measure, "given"), error));
    for (int i = 0; q->measure != NULL && i < q->grid.n_axes; i++) {
        bool known;
        spec_measure_default(q->measure, q->grid.axis[i].name, &known);
        if (known) continue;
        status = spec_fail(error, GSL_EINVAL, "the measure '%.100s' has no parameter '%.100s'",
                           name, q->grid.axis[i].name);
        goto done;
    }
    SPEC_TRY(read_rounded(q, spec_point_text(point, measure, "rounded"), error));
done:
    return status;
}

static int divide(double *ret, const spec_grid *grid, spec_error *error)
{
    const char *of = spec_grid_value(grid, 0, "of"), *over = spec_grid_value(grid, 0, "over");
    if (of == NULL || over == NULL)
        return spec_fail(error, GSL_EINVAL, "the measure 'ratio' needs 'of' and 'over' in given");
    *ret = strtod(of, NULL) / strtod(over, NULL);
    return GSL_SUCCESS;
}

/* Computes the number at the values of the grid. */
static int compute(double *ret, const question *q, const spec_point *outer, spec_error *error)
{
    spec_table table = {0};
    spec_point point = *outer;
    int status = GSL_SUCCESS;
    if (q->measure == NULL) return divide(ret, &q->grid, error);
    const char *columns[SPEC_AXES_MAX];
    int n = 0;
    for (; q->measure->columns[n] != NULL && n < SPEC_AXES_MAX; n++)
        columns[n] = q->measure->columns[n];
    point.grid = &q->grid;
    point.index = 0;
    if (spec_table_init(&table, columns, n) != GSL_SUCCESS) return spec_no_memory(error);
    SPEC_TRY(q->measure->run(&table, &point, q->measure, error));
    if (spec_table_append(&table) != GSL_SUCCESS) {
        status = spec_no_memory(error);
        goto done;
    }
    *ret = spec_cell_number(
        spec_table_cell(&table, table.n_rows - 1, spec_table_column(&table, q->column)));
done:
    spec_table_free(&table);
    return status;
}

/* Sets the axis to a rounded value moved by half a unit in its last place. */
static int move(spec_axis *axis, const char *value, bool up)
{
    char text[64];
    const double half = half_unit(value);
    snprintf(text, sizeof text, "%.17g", strtod(value, NULL) + (up ? half : -half));
    char *copy = strdup(text);
    if (copy == NULL) return GSL_ENOMEM;
    free(axis->value[0]);
    axis->value[0] = copy;
    return GSL_SUCCESS;
}

/* Computes the smallest and the largest result when each rounded input moves to the ends of its
 * range. */
static int compute_ends(double *ret_low, double *ret_high, question *q, const spec_point *point,
                        spec_error *error)
{
    char *printed[ROUNDED_MAX] = {NULL};
    int status = GSL_SUCCESS;
    for (int i = 0; i < q->n_rounded; i++) {
        printed[i] = strdup(q->grid.axis[q->rounded[i]].value[0]);
        if (printed[i] == NULL) status = spec_no_memory(error);
    }
    for (unsigned ends = 0; status == GSL_SUCCESS && ends < 1u << q->n_rounded; ends++) {
        double here = NAN;
        for (int i = 0; i < q->n_rounded && status == GSL_SUCCESS; i++)
            if (move(&q->grid.axis[q->rounded[i]], printed[i], ends >> i & 1) != GSL_SUCCESS)
                status = spec_no_memory(error);
        if (status == GSL_SUCCESS) status = compute(&here, q, point, error);
        *ret_low = fmin(*ret_low, here);
        *ret_high = fmax(*ret_high, here);
    }
    for (int i = 0; i < q->n_rounded; i++) free(printed[i]);
    return status;
}

static const char *verdict_of(const printed_number *printed, double ours, double low, double high,
                              const char *condition)
{
    if (agrees(printed, ours, ours)) return condition[0] == '\0' ? "holds" : "holds if";
    if (agrees(printed, low, high)) return "holds as rounded";
    return "does not hold";
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    question q = {0};
    printed_number printed;
    double ours = NAN;
    int status = GSL_SUCCESS;
    const char *condition = spec_point_text(point, measure, "condition");
    SPEC_TRY(read_printed(&printed, spec_point_text(point, measure, "printed"), error));
    SPEC_TRY(open_question(&q, point, measure, error));
    /* only checks the parameters, if the run only checks */
    SPEC_TRY(compute(&ours, &q, point, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_opened(point));
    double low = ours, high = ours;
    if (q.n_rounded > 0) SPEC_TRY(compute_ends(&low, &high, &q, point, error));

    spec_table_number(table, "ours", fabs(ours) < ROUNDING ? 0.0 : ours);
    if (q.n_rounded > 0) {
        spec_table_number(table, "ours_low", low);
        spec_table_number(table, "ours_high", high);
    }
    spec_table_text(table, "verdict", verdict_of(&printed, ours, low, high, condition));
done:
    close_question(&q);
    return status;
}

static const char *const parameters[] = {"printed",  "measure",    "column=", "given",
                                         "rounded=", "condition=", NULL};
static const char *const columns[] = {"ours", "ours_low", "ours_high", "verdict", NULL};
static const spec_headline headlines[] = {{.column = "ours", .exact = true}, {0}};

const spec_measure spec_measure_papers = {
    .name = "papers",
    .summary = "a number that a paper prints, and what another measure computes for it",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
