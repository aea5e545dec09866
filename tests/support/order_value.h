/* SPDX-License-Identifier: GPL-3.0-or-later */
/* order_value: applies a function of a sorted pair of rows to unsorted rows; has known pairs. */
#ifndef SPECLAB_TESTS_ORDER_VALUE_H
#define SPECLAB_TESTS_ORDER_VALUE_H

#include "analysis/rules/ratio_order.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static const double target1[3] = {0.5, 0.3, 0.2}, draft1[3] = {0.2, 0.5, 0.3};
static const double target2[3] = {0.3, 0.4, 0.3}, draft2[3] = {0.6, 0.3, 0.1};

typedef double acceptance(const spec_ratio_order *order, int n);

/* Returns NaN for rows that cannot be sorted. A second call, with a used workspace, must give the
 * same value. */
static inline double value(acceptance *of, const double *target, const double *draft, int V, int n)
{
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, V), GSL_SUCCESS);
    spec_ratio_order_sort(&order, target, draft);
    const double accepted = of(&order, n);
    assert_same(of(&order, n), accepted);
    return accepted;
}

#endif
