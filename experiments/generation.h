/* generation: texts by speculation, or by the target alone, round by round as they come, with their times.
 * Times are of a monotonic clock, in seconds, without what is done with the text. Plain decoding is measured beside
 * speculation over the same text, a piece of it at a time, so that whatever slows the machine slows both. A generation
 * owns its decoders and borrows the models. */
#ifndef SPECLAB_GENERATION_H
#define SPECLAB_GENERATION_H

#include "sim/decode.h"

/* Where a token came from: an accepted draft token, what a rule put in the place of a rejected one, the token after a
 * draft that was accepted to its end, or the target where nothing was drafted. */
typedef enum { SPEC_FROM_DRAFT, SPEC_FROM_CORRECTION, SPEC_FROM_BONUS, SPEC_FROM_TARGET, SPEC_ORIGINS } spec_origin;
extern const char *const spec_origin_names[]; /* "draft", "correction", "bonus", "target", NULL */

/* Why a text ended. */
typedef enum { SPEC_ENDED_ASKED, SPEC_ENDED_TEXT, SPEC_ENDED_WINDOW, SPEC_ENDED_STOPPED } spec_ending;

/* Plain decoding goes over the text in pieces of at least so many tokens. */
enum { SPEC_GENERATION_PIECE = 16 };

typedef struct {
    spec_decoder_config decoder;
    bool plain;    /* the target alone */
    bool baseline; /* measure plain decoding beside it */
    uint64_t seed;
    const volatile int *opt_stop; /* ends a text between two rounds where it is not 0 */

    /* A round's tokens, cut to the text; an end of text is among them. Returns a status, and failure ends the text. */
    int (*hear)(void *self, const int *token, const spec_origin *origin, int n, spec_error *error);
    void *self;
} spec_generation_plan;

typedef struct {
    spec_generation_plan plan;
    spec_decoder decoder, beside; /* beside: the plain one, zeroed without a baseline */
    gsl_rng *rng, *beside_rng;

    /* Of all texts so far. */
    spec_tally tally;          /* of speculative rounds; its clock is the virtual one */
    uint64_t tokens;           /* of the texts, prompts not counted */
    uint64_t prompt_tokens;
    double seconds, prompt_seconds;
    double beside_seconds;     /* plain decoding of the same tokens */
} spec_generation;

/* Fails as spec_decoder_init does. */
int spec_generation_init(spec_generation *generation, const spec_generation_plan *plan, spec_error *error);
void spec_generation_free(spec_generation *generation); /* a zeroed one is fine */

/* Text number `text` after this prompt, of at most n_tokens: its chance is stream `text` of the seed. The same tokens
 * for any number of threads. On failure, of a model or of plan.hear, what was heard stays heard. */
int spec_generation_text(spec_generation *generation, spec_ending *ret_ending, const int *prompt, size_t n_prompt,
                         uint64_t text, uint64_t n_tokens, spec_error *error);

#endif
