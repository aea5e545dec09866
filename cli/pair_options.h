/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_options: the options of verbs that decode: models, drafting, verification, sampling.
 * In the help, models are in group 1 and sampling in group 3. Bad usage prints one line that names
 * the option, and exits 2. */
#ifndef SPECLAB_PAIR_OPTIONS_H
#define SPECLAB_PAIR_OPTIONS_H

#include "cli/fields.h"
#include "models/model.h"
#include "sim/decode.h"

/* The number of sampling parameters, and where their rows begin in the table of fields, for a verb
 * with its own models. */
enum { SPEC_PAIR_SAMPLING = 4, SPEC_PAIR_OPTIONS_SAMPLING = 8 };

typedef struct {
    spec_context *context; /* context of the models */
    /* specs; NULL: none. As given, until _complete adds the device and the sampling. A verb that
     * supports cascades has a field for the inner draft. */
    const char *target, *draft, *inner_draft;
    char *whole[3];                       /* what they then point to; owned */
    const char *rule, *drafting, *policy; /* NULL if not given, until _complete sets them */
    spec_assumed assumed;                 /* set by _complete: the options that were not given */
    const char *device; /* as given, or NULL */
    bool ahead;
    int levels; /* set by _complete: spec_drafter.n_levels of the strategy */
    spec_verify_place verify;
    const char
        *sampling[SPEC_PAIR_SAMPLING]; /* temperature, top_k, top_p, min_p, as given, or NULL */

    /* set by the verb if it does not speculate, so that rule and drafts are not assumed */
    bool plain;

    /* Set by the verb, for the memory budget. */
    int laws;         /* maximum number of draft rows kept at a time */
    /* the draft is also timed alone; it then has its own KV cache, not the target's */
    bool draft_alone;
} spec_pair_options;

extern const spec_field spec_pair_options_fields[];

/* Completes the options after parsing: exits 2 without a target, chooses defaults for what was not
 * given, and writes the device and the sampling parameters into the specs. */
void spec_pair_options_complete(spec_pair_options *options, const char *verb);
void spec_pair_options_free(spec_pair_options *options);

/* The steps of spec_pair_options_complete, for a verb that opens models of its own. The first
 * returns the spec with the device and the sampling parameters added, which the caller frees;
 * `which` is "target" or "draft". The second exits 2 if a parameter is not a number. The third adds
 * the parameters that neither the options nor the target set to the line "assumed". */
char *spec_pair_options_spec(const char *spec, const char *which, const spec_pair_options *options,
                             const char *verb);
void spec_pair_options_check_sampling(const spec_pair_options *options, const char *verb);
void spec_pair_options_assume_sampling(spec_pair_options *options, const char *verb);

/* Returns the decoder's configuration with these options and models. */
spec_decoder_config spec_pair_options_decoder(const spec_pair_options *options,
                                              const spec_model *target,
                                              const spec_model *opt_draft);

/* If the user gave K, checks that the draft reaches that far; returns GSL_EINVAL with a line that
 * begins with "--K: " if it does not. Otherwise reduces the default to the draft's reach. */
int spec_pair_options_K(int *K, bool given, const spec_model *opt_draft, spec_error *error);

/* Opens the models; *opt_draft is NULL without a draft. Errors begin with "--target: " or "--draft:
 * ". Before it loads a model, it checks that there is enough memory for both, for one decoder, and
 * for what the verb itself needs. */
int spec_pair_options_open(spec_model **ret_target, spec_model **opt_draft,
                           const spec_pair_options *options, spec_error *error);

/* Opens the inner draft, which drafts for `draft`, after the models above. NULL: none was given. */
int spec_pair_options_open_inner(spec_model **ret_inner, const spec_pair_options *options,
                                 const spec_model *draft, spec_error *error);

/* Says in one line how many tokens the target shares with a draft that has another vocabulary. */
void spec_pair_options_say_translated(const spec_model *target, const spec_model *opt_draft,
                                      const char *verb);

/* Says in one line if the weights of a model were converted when it was loaded. `which` is "target"
 * or "draft". Prints nothing if there is no model, or for a draft made from the target. */
void spec_pair_options_say_converted(const spec_model *opt_model, const char *which,
                                     const char *verb);

#endif
