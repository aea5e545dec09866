/* SPDX-License-Identifier: GPL-3.0-or-later */
/* observation: what one line of a log, one scrape of counters or one response says.
 * NaN means that the source does not give a number. Counts are whole unless they come from a
 * rounded mean. Headers only. */
#ifndef SPECLAB_OBSERVATION_H
#define SPECLAB_OBSERVATION_H

#include "speclab/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { SPEC_OBSERVED_DEPTHS = 64 };

typedef enum {
    SPEC_OBSERVED_WINDOW,  /* an interval of time: a line of a log, the difference of two scrapes */
    SPEC_OBSERVED_TOTAL,   /* counters since the engine started (counter_differences.h) */
    SPEC_OBSERVED_REQUEST, /* one response */
} spec_observation_kind;

typedef struct {
    spec_observation_kind kind;
    uint64_t line;  /* in the file, from 1 */
    /* hash of the names that distinguish engines, models and slots; 0: there are none */
    uint64_t label;
    int K;          /* draft tokens per round, as configured; -1: not given; 0: plain decoding */
    double rounds;  /* rounds with at least one draft token */
    /* the range of numbers of rounds that rounding allows; both equal rounds if there is only
     * one */
    double rounds_low, rounds_high;
    double passes;                  /* target passes per sequence, including those without a
                                     * draft */
    double drafted, accepted;       /* draft tokens */
    double emitted;                 /* tokens of the output */
    double prompt;                  /* of a request: tokens in its context before the output */
    int depths;                     /* entries of passed; 0: not given */
    double passed[SPEC_OBSERVED_DEPTHS]; /* [i]: rounds that accepted the draft token of depth i */
    double seconds;                      /* length of the window, or of the request's decoding */
    /* when a scrape was taken, in seconds since 1970; for a window, the difference of two
     * scrapes */
    double time;
    /* mean number of requests that decode at a time; 1 for an engine with one request */
    double running;
    /* seconds of decoding, summed over requests; seconds * running if not given */
    double busy;
    /* steps of the engine; one step is a simultaneous pass of all requests */
    double steps;
    double printed_length; /* the engine's own tokens per round, for the diagnoses */
    double printed_rate;   /* the engine's own acceptance rate, as a fraction */
} spec_observation;

static inline spec_observation spec_observation_empty(spec_observation_kind kind, uint64_t line)
{
    return (spec_observation){
        .kind = kind, .line = line, .K = -1, .rounds = NAN, .rounds_low = NAN, .rounds_high = NAN,
        .passes = NAN, .drafted = NAN, .accepted = NAN, .emitted = NAN, .prompt = NAN,
        .seconds = NAN, .time = NAN, .running = NAN, .busy = NAN, .steps = NAN,
        .printed_length = NAN, .printed_rate = NAN};
}

/* Fills in plain decoding: each token takes a pass, and there are no rounds. NaN: not given. */
static inline void spec_observation_decode_plainly(spec_observation *o, double tokens)
{
    o->K = o->depths = 0;
    o->rounds = o->rounds_low = o->rounds_high = o->drafted = o->accepted = 0.0;
    o->passes = o->emitted = tokens;
}

/* Returns whether rounding allows several numbers of rounds. */
static inline bool spec_observation_is_rounded(const spec_observation *observation)
{
    return observation->rounds_low < observation->rounds_high;
}

/* Receives observations in the order of the files. Any status but GSL_SUCCESS ends the reading and
 * is returned by it. */
typedef struct {
    int (*take)(void *self, const spec_observation *observation, spec_error *error);
    void *self;
} spec_observer;

#endif
