/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hardware: the speed and memory of accelerators, and what share of the speed engines reach.
 * Peaks are dense matrix products that accumulate in 32 bits. Each figure has its source, and where
 * there is none, the word "assumed". docs/formats.md#cards. */
#ifndef SPECLAB_HARDWARE_H
#define SPECLAB_HARDWARE_H

/* A number that is only roughly known: the most and the least favourable plausible values, with the
 * default between them. */
typedef struct {
    double best, central, worst;
} spec_span;

/* What share of its peaks engines reach on a class of machines, and the time that they add. */
typedef struct {
    const char *source;
    spec_span efficiency;     /* of the bandwidth, when weights and caches are read */
    spec_span compute;        /* of the peak FLOP/s, in passes of few tokens */
    spec_span overhead;       /* s per pass of the target: launches, host, sampling */
    spec_span draft_overhead; /* s per call of the draft */
    spec_span round;          /* s to prepare and accept drafts, in each step that drafts */
} spec_engine_share;

/* A machine; the caller may fill in its own (name, source and share are not read). */
typedef struct {
    const char *name, *source;
    double flops;     /* dense peak, FLOP/s, 16-bit */
    double bandwidth; /* bytes/s */
    double memory;    /* bytes */
    double flops8;    /* peak for FP8, or for INT8 if there is no FP8; 0: neither */
    double flops4;    /* peak for FP4; 0: none */
    const spec_engine_share *share;
} spec_hardware;
extern const spec_hardware spec_hardware_known[]; /* ends with a NULL name */

/* Returns the known machine of this name; NULL if unknown. Ignores case, blanks, '-' and '_', and
 * makers, families and SXM: "4090" and "NVIDIA GeForce RTX 4090" are the RTX 4090. */
const spec_hardware *spec_hardware_find(const char *name);

/* Writes into buffer how a message about an unknown name ends: "; did you mean 'M2 Max' or 'M2
 * Ultra'?", or with the command that lists the cards. */
enum { SPEC_HARDWARE_MEANT_SIZE = 160 };
const char *spec_hardware_meant(char buffer[SPEC_HARDWARE_MEANT_SIZE], const char *name);

#endif
