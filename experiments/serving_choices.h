/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_choices: the methods of choosing draft lengths that a point of serving compares.
 * They come from a list of methods such as "fixed,goodput" and a list of K such as "0,1,3,5".
 * `fixed` gives one entry for each K; any other method gives one entry, and the largest K of the
 * list is its maximum. Plain decoding, K = 0, is always included, because speed-ups are relative to
 * it. Owns its choices. */
#ifndef SPECLAB_SERVING_CHOICES_H
#define SPECLAB_SERVING_CHOICES_H

#include "sim/serving/length_choice.h"

#include <stdbool.h>

enum { SPEC_SERVING_WAYS = 32 };

typedef struct {
    char *lengths; /* as given, such as "fixed" */
    int K;         /* fixed: draft tokens of every request; otherwise the maximum */
    bool fixed;
    bool asked; /* false: plain decoding that the lists leave out; it gets no row */
    spec_length_choice *choice;
} spec_serving_way;

typedef struct {
    int n;
    int plain; /* the entry for plain decoding */
    spec_serving_way way[SPEC_SERVING_WAYS];
} spec_serving_choices;

/* Computes the number of rows that the lists ask for. Takes the lists of _init. */
int spec_serving_choices_count(uint64_t *ret_rows, const char *K, const char *lengths,
                               spec_error *error);

/* Parses the lists. Commas separate the methods in `lengths`, except within brackets. The cost must
 * outlive the choices. Errors begin with the parameter at fault, K or lengths: a list is empty, a K
 * is not a whole number in 0..SPEC_K_MAX or appears twice, there are too many methods, or a method
 * is wrong. */
int spec_serving_choices_init(spec_serving_choices *choices, const char *K, const char *lengths,
                              const spec_step_cost *cost, spec_error *error);
void spec_serving_choices_free(spec_serving_choices *choices);

#endif
