/* pair_options: the options of verbs that decode: the models, how they draft and verify, and sampling parameters.
 * An argp child whose input is a spec_pair_options; models are in group 1 of the help, sampling in group 3. Bad usage
 * says one line that names the option, and exits 2. */
#ifndef SPECLAB_PAIR_OPTIONS_H
#define SPECLAB_PAIR_OPTIONS_H

#include "models/model.h"
#include "sim/decode.h"

#include <argp.h>

enum { SPEC_PAIR_SAMPLING = 4 };

typedef struct {
    char *target, *draft; /* specs, owned; draft NULL: none */
    const char *rule, *drafting, *policy;
    const char *device; /* as given, or NULL */
    bool ahead;
    spec_verify_place verify;
    const char *sampling[SPEC_PAIR_SAMPLING]; /* temperature, top_k, top_p, min_p, as given, or NULL */

    /* The verb's own, for the room that is asked for. */
    int laws;         /* draft tokens that may be kept at a time with what they were drawn from */
    bool draft_alone; /* the draft is also timed alone, without what it shares with the target */
} spec_pair_options;

#define SPEC_PAIR_OPTIONS_DEFAULT                                                                                      \
    ((spec_pair_options){.rule = "token", .policy = "fixed", .verify = SPEC_VERIFY_AUTO})

extern const struct argp spec_pair_options_argp;

/* After the parsing: a target there is, the strategy is chosen, and the specs have the device and the sampling
 * parameters. */
void spec_pair_options_complete(spec_pair_options *options, const char *verb);
void spec_pair_options_free(spec_pair_options *options);

/* What a decoder takes of them, over these models. */
spec_decoder_config spec_pair_options_decoder(const spec_pair_options *options, const spec_model *target,
                                              const spec_model *opt_draft);

/* Open the models; *opt_draft is NULL where there is none. The line begins with "--target: " or "--draft: ". Before any
 * of both is loaded there is room for both, for one decoder, and for what the verb needs besides. */
int spec_pair_options_open(spec_model **ret_target, spec_model **opt_draft, const spec_pair_options *options,
                           spec_error *error);

#endif
