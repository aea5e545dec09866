/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_cost: seconds of a step of a serving engine, from its work.
 * Four kinds: affine; a roofline of a card's data sheet; either of them, fitted to a few measured
 * times; a table of measured times by tokens and KV tokens, with bilinear interpolation. A cost is
 * constant and shared by threads. */
#ifndef SPECLAB_STEP_COST_H
#define SPECLAB_STEP_COST_H

#include "speclab/serving.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct spec_step_cost spec_step_cost;

/* A cost from specs (docs/formats.md#step-costs). The target's is affine?step=&token=&kv=,
 * roofline?..., fit:FILE or table:FILE. The draft's is affine?round=&pass=&token=, roofline?..., or
 * table:FILE; NULL or none: drafting takes no time. ':' and ',' may stand for '?' and '&', which
 * shells treat as special, and "affine:" may be omitted: step=7.1ms,token=21us and round=2.1ms.
 * GSL_EINVAL, GSL_EDOM and the errors of files, in one line; *ret_cost is then NULL. */
int spec_step_cost_create(spec_step_cost **ret_cost, const char *target, const char *opt_draft,
                          spec_error *error);
void spec_step_cost_free(spec_step_cost *cost); /* NULL is legal */

/* The settings that matter and that a spec leaves to their defaults: "kv_bytes=0,efficiency=0.8";
 * "" if there are none, or the spec is wrong. `draft`: of a draft. */
enum { SPEC_STEP_COST_DEFAULTS = 256 };
void spec_step_cost_defaults(char *ret_text, size_t size, const char *spec, bool draft);

/* The spec with these settings, at a corner of what is uncertain
 * (spec_pass_time_roofline_defaults). Returns whether anything is; else it is the spec itself. */
enum { SPEC_STEP_COST_CORNERS = 32 };
bool spec_step_cost_corner(char *ret_spec, size_t size, const char *spec, bool draft, int corner);

/* A doubt about a table, such as times that fall with the number of tokens, or what a fit gives; ""
 * without either. */
const char *spec_step_cost_warning(const spec_step_cost *cost);

/* The target's part and the draft's part of a step, s. A draft on the same device adds them. */
double spec_step_cost_target(const spec_step_cost *cost, const spec_step_work *work);
double spec_step_cost_draft(const spec_step_cost *cost, const spec_step_work *work);

/* Bytes that a token takes in the draft's own KV cache; 0: the draft has none. */
double spec_step_cost_draft_kv_bytes(const spec_step_cost *cost);

/* The affine record, if the cost is affine, else NULL: theory exists for it alone, and engines
 * compute it inline. A roofline of the form `sum` of a dense model is affine, too. */
const spec_affine_step *spec_step_cost_affine(const spec_step_cost *cost);

#endif
