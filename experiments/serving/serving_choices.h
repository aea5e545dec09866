/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_choices: the ways to choose draft lengths that a point of serving compares.
 * A list of lengths such as "fixed,goodput" and a list of K such as "0,1,3,5": fixed has one way
 * for each K, others one way whose largest K is that of the list. Plain decoding, K = 0, is always
 * among them: speed-ups compare with it. Owns its choices. */
#ifndef SPECLAB_SERVING_CHOICES_H
#define SPECLAB_SERVING_CHOICES_H

#include "sim/serving/length_choice.h"

#include <stdbool.h>

enum { SPEC_SERVING_WAYS = 32 };

typedef struct {
    char *lengths; /* as given, such as "fixed" */
    int K;         /* fixed: draft tokens of every request; else the most */
    bool fixed;
    bool asked; /* false: plain decoding that the lists lack, which has no row */
    spec_length_choice *choice;
} spec_serving_way;

typedef struct {
    int n;
    int plain; /* the way of plain decoding */
    spec_serving_way way[SPEC_SERVING_WAYS];
} spec_serving_choices;

/* The number of rows that the lists ask for. Lists as in _init. */
int spec_serving_choices_count(uint64_t *ret_rows, const char *K, const char *lengths,
                               spec_error *error);

/* `lengths` has length choices between commas; commas within brackets separate none. The cost must
 * outlive the choices. Errors begin with the parameter at fault, K or lengths: a list without
 * values, a K that is no whole number of 0..SPEC_K_MAX or appears twice, too many ways, or a wrong
 * choice. */
int spec_serving_choices_init(spec_serving_choices *choices, const char *K, const char *lengths,
                              const spec_step_cost *cost, spec_error *error);
void spec_serving_choices_free(spec_serving_choices *choices);

#endif
