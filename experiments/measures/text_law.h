/* text_law: does a decoder emit the law it promises? The exact law of the first tokens, and a chi-square test of
 * sampled texts against it. The promised law is a product of the target's rows (or its argmax text), written here anew
 * and not taken from the decoder. A law is an array of V^m probabilities, the first token being the most significant
 * digit. Texts begin with the empty context. */
#ifndef SPECLAB_TEXT_LAW_H
#define SPECLAB_TEXT_LAW_H

#include "analysis/statistics/goodness.h"
#include "sim/decode.h"

/* Most texts of a law that is tested. */
enum { SPEC_TEXT_LAW_MAX = 1000000 };

typedef struct {
    const spec_decoder_config *config; /* the caller's */
    spec_rule rule;
    int tokens;
    size_t size;     /* V^tokens */
    double *promise; /* (size) */
} spec_text_law;

/* GSL_EINVAL for an unknown rule, and where V^tokens is over SPEC_TEXT_LAW_MAX. A text that ends early is filled up
 * with its last token. */
int spec_text_law_init(spec_text_law *law, const spec_decoder_config *config, int tokens, spec_error *error);
void spec_text_law_free(spec_text_law *law);

/* Sample texts and test them. The work is split into 64 streams of `seed`, whatever the number of threads; counts are
 * integers, so that the result is the same for all of them. */
int spec_text_law_test(spec_goodness *ret, const spec_text_law *law, uint64_t samples, uint64_t seed, int threads,
                       const volatile int *opt_stop, spec_error *error);

#endif
