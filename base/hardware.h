/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hardware: arithmetic, bandwidth and memory of accelerators, and what engines reach of them.
 * Peaks are dense matrix products that accumulate in 32 bits. Each figure has its source, and where
 * there is none, the word "assumed". docs/formats.md#cards. */
#ifndef SPECLAB_HARDWARE_H
#define SPECLAB_HARDWARE_H

/* A number that is not known well: from the most favourable to the least favourable value, both
 * plausible, with the default between them. */
typedef struct {
    double best, central, worst;
} spec_span;

/* Shares of a class of machines that engines reach, and their own times. */
typedef struct {
    const char *source;
    spec_span efficiency;     /* of the bandwidth, when weights and caches are read */
    spec_span compute;        /* of the peak FLOP/s, in passes of few tokens */
    spec_span overhead;       /* s per pass of the target: launches, host, sampling */
    spec_span draft_overhead; /* s per call of the draft */
    spec_span round;          /* s per step that drafts: to prepare drafts and to accept them */
} spec_engine_share;

/* A machine; the caller may fill in its own (name, source and share are not read). */
typedef struct {
    const char *name, *source;
    double flops;     /* dense peak, FLOP/s, 16-bit */
    double bandwidth; /* bytes/s */
    double memory;    /* bytes */
    double flops8;    /* the same for FP8, or INT8 where there is none; 0: neither */
    double flops4;    /* for FP4; 0: none */
    const spec_engine_share *share;
} spec_hardware;
extern const spec_hardware spec_hardware_known[]; /* ends with a NULL name */

/* Returns the known machine of this name, ignoring case, blanks, '-' and '_'; NULL if unknown. */
const spec_hardware *spec_hardware_find(const char *name);

/* Lists the names of the known machines, as candidates for spec_names_nearest: NULL-terminated. */
enum { SPEC_HARDWARE_MAX = 64 };
void spec_hardware_names(const char *ret_names[SPEC_HARDWARE_MAX]);

#endif
