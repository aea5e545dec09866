/* SPDX-License-Identifier: GPL-3.0-or-later */
/* drawn_law: the law of a token that a server draws, from the scorer's most probable tokens.
 * The list is before temperature and filters, which are applied here as the engine applies them.
 * Which tokens get a cell is decided without the token that was drawn. */
#ifndef SPECLAB_DRAWN_LAW_H
#define SPECLAB_DRAWN_LAW_H

#include "tools/live/dialects.h"
#include "tools/validate/fixtures/filter_order.h"

typedef struct {
    spec_transform transform;
    spec_filter_order order;
    bool penalised; /* lists come from spec_penalties_apply, and are not normalised */
    int vocab;      /* 0: unknown */
    double noise; /* of log-probabilities: if a token is this close to a filter's edge, the position
                   * is not judged */
} spec_drawn_rule;

typedef enum {
    SPEC_REST_KNOWN,   /* all other tokens together have what the cells leave of 1 */
    SPEC_REST_NONE,    /* the filters exclude all other tokens */
    SPEC_REST_UNKNOWN, /* the cells are the law of the token if it is one of them */
    SPEC_REST_SKIP     /* the position cannot be judged */
} spec_drawn_rest;

/* Returns GSL_EINVAL if lists of `top` tokens do not determine the law under these parameters; the
 * message names the options. */
int spec_drawn_check(const spec_drawn_rule *rule, int top, spec_error *error);

/* Fills in chance (place->n) of the tokens of the list, 0 for those that the filters exclude. */
spec_drawn_rest spec_drawn_law(double *chance, const spec_drawn_rule *rule,
                               const spec_live_place *place);

#endif
