/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_cost: seconds of a step of a serving engine, from its work.
 * There are four kinds: affine; a roofline from a card's data sheet; either of these, fitted to a
 * few measured times; and a table of times measured by tokens and KV tokens, with bilinear
 * interpolation. A cost is constant and shared by threads. */
#ifndef SPECLAB_STEP_COST_H
#define SPECLAB_STEP_COST_H

#include "speclab/serving.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct spec_step_cost spec_step_cost;

/* Creates a cost from specs (docs/formats.md#step-costs). The target's spec is
 * affine?step=&token=&kv=, roofline?..., fit:FILE or table:FILE. The draft's is
 * affine?round=&pass=&token=, roofline?..., or table:FILE; with NULL or none drafting takes no
 * time. ':' and ',' may stand for '?' and '&', which shells treat as special, and "affine:" may be
 * omitted: step=7.1ms,token=21us and round=2.1ms. On failure returns GSL_EINVAL, GSL_EDOM or the
 * error of a file, with a message of one line; *ret_cost is then NULL. */
int spec_step_cost_create(spec_step_cost **ret_cost, const char *target, const char *opt_draft,
                          spec_error *error);
void spec_step_cost_free(spec_step_cost *cost); /* NULL is legal */

/* Writes the settings that matter and that the spec leaves at their defaults:
 * "kv_bytes=0,efficiency=0.8"; "" if there are none, or if the spec is wrong. `draft` is true for
 * the spec of a draft. */
enum { SPEC_STEP_COST_DEFAULTS = 256 };
void spec_step_cost_defaults(char *ret_text, size_t size, const char *spec, bool draft);

/* Writes the spec with these settings added, taken at a corner of the uncertain range
 * (spec_pass_time_roofline_defaults). Returns whether anything is uncertain; if not, writes the
 * spec itself. */
enum { SPEC_STEP_COST_CORNERS = 32 };
bool spec_step_cost_corner(char *ret_spec, size_t size, const char *spec, bool draft, int corner);

/* Returns a warning about a table, such as times that fall with the number of tokens, or a note
 * about a fit; "" if there is neither. */
const char *spec_step_cost_warning(const spec_step_cost *cost);

/* Return the target's and the draft's part of a step, s. If both run on one device, the step takes
 * the sum. */
double spec_step_cost_target(const spec_step_cost *cost, const spec_step_work *work);
double spec_step_cost_draft(const spec_step_cost *cost, const spec_step_work *work);

/* Bytes of the target's cards, of the weights and of a token in the KV caches; 0: unknown, or no
 * draft. The cards of a draft do not count: those of the target must hold both. */
typedef struct {
    double cards;
    double weights, draft_weights;
    double kv_token, draft_kv_token;
} spec_step_memory;
spec_step_memory spec_step_cost_memory(const spec_step_cost *cost);

/* Returns the affine record if the cost is affine, else NULL. Theory exists only for affine costs,
 * and engines compute them inline. A roofline with form=sum of a dense model is affine, too. */
const spec_affine_step *spec_step_cost_affine(const spec_step_cost *cost);

#endif
