/* SPDX-License-Identifier: GPL-3.0-or-later */
/* observed_sums: sums of observations, in clusters, by draft length and by batch.
 * A series has the clusters of one source label, one K and one range of batches, in order. Memory
 * is bounded: a full series joins neighbours in time, two by two. Counts stay exact. Owns its
 * arrays. */
#ifndef SPECLAB_OBSERVED_SUMS_H
#define SPECLAB_OBSERVED_SUMS_H

#include "tools/advise/context_acceptance.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- Counts of an observation ---------------------------------------------------------------- */

enum { SPEC_OBSERVATION_FAULT = 120 };

/* Verdict on the counts of an observation. */
typedef struct {
    bool idle; /* no token, or nothing about acceptance, so faults are ignored */
    /* rounds are not known exactly: rounding allows several numbers, or we derived them */
    bool inexact;
    bool broken;     /* the counts break an identity */
    bool impossible; /* they break an identity that every run obeys, so they are meaningless */
    /* the first identity that breaks, e.g. "accepted exceeds drafted: 70 of 60" */
    char text[SPEC_OBSERVATION_FAULT];
} spec_counts_verdict;

/* Fills in counts that follow from the others, unless one of these is not a valid count or does not
 * fit the arrays.
 *
 *     K         the number of depths if drafted tokens permit, else drafted / rounds if whole
 *     rounds    drafted / K, at most the passes; the passes if K is not known
 *     passes    emitted - accepted if rounds do not follow otherwise, else rounds
 *     drafted   rounds K
 *     accepted  the sum of passed if all depths are given, else emitted - passes
 *     emitted   passes + accepted
 *
 * In plain decoding (K = 0) there are no rounds, and each pass emits a token. */
spec_counts_verdict spec_observation_counts_complete(spec_observation *observation);

/* Returns the sum of passed over its depths. */
double spec_observation_counts_passed(const spec_observation *observation);

/* ---- Sums ------------------------------------------------------------------------------------ */

/* The columns of a cluster: counts, completed as above, and times. An unknown number adds 0. */
enum {
    SPEC_SUM_ROUNDS, /* rounds with at least one draft token */
    SPEC_SUM_PASSES, /* target passes, including those without a draft */
    SPEC_SUM_DRAFTED,
    SPEC_SUM_ACCEPTED,
    SPEC_SUM_EMITTED,
    SPEC_SUM_SECONDS,
    /* busy seconds if given; else seconds of a request, or of a window times running if both are
     * given */
    SPEC_SUM_BUSY,
    SPEC_SUM_BUSY_EMITTED, /* tokens emitted in that time */
    SPEC_SUM_BUSY_ROUNDS,  /* passes in that time, including those without a draft */
    SPEC_SUM_RUNNING,      /* requests at a time, multiplied by that time; 0 if not known */
    /* number of observations, and the sum of their indices in order of arrival ... */
    SPEC_SUM_OBSERVATIONS,
    SPEC_SUM_ORDER,        /* ... whose mean sorts the clusters of several series by time */
    SPEC_SUM_DEPTH_ROUNDS, /* rounds of observations that give all depths */
    SPEC_SUM_PASSED,       /* this and the following: by depth */
    SPEC_SUM_COLUMNS = SPEC_SUM_PASSED + SPEC_OBSERVED_DEPTHS
};

/* Ranges of batch sizes. The size is passes / steps if these are given, else `running`. Range 0:
 * not given, or no request was running when the line was printed. Range b >= 1: 2^(b-2) + 1 to
 * 2^(b-1) requests (1, 2, 3-4, ...); the last has no upper end. */
enum { SPEC_SUM_BATCHES = 16, SPEC_SUM_CLUSTERS = 1024, SPEC_SUM_SERIES = 512 };
int spec_observed_sums_batch(double running);

/* If all series together have more clusters than this, a series joins neighbours once it has 64.
 * Until then, each request is a cluster. */
enum { SPEC_SUM_MOST = 16384 };

typedef struct {
    int K; /* -1: not given; 0: plain decoding */
    int batch;
    uint64_t label;
    spec_observation_kind kind; /* WINDOW or REQUEST */
    int depths;                 /* maximum over its observations */
    size_t n;                   /* clusters */
    uint64_t each; /* observations per cluster, a power of 2; the last may have fewer */
    uint64_t observations;
    double *column; /* (n, SPEC_SUM_COLUMNS) */
} spec_observed_series;

typedef struct {
    spec_observed_series *series; /* (n) in order of appearance */
    size_t n, capacity;
    /* inexact: rounds are not known exactly */
    uint64_t observations, inexact;
    uint64_t idle; /* no token, or nothing about acceptance: left out */
    spec_context_sums context[SPEC_CONTEXT_OCTAVES];
    /* from the newest observation that could print them; NaN if it printed none, 0 before the
     * first */
    double printed_length, printed_rate;
    uint64_t contradictions; /* observations whose counts break an identity */
    uint64_t impossible;     /* of these, left out: their counts have no meaning */
    uint64_t contradiction_line;
    char contradiction[SPEC_OBSERVATION_FAULT]; /* the first one */
    /* The smallest draft length possible for an observation whose own is smaller or not known, and
     * the numbers that show it: the drafted (or else accepted) tokens of its rounds */
    double least_K, least_K_tokens, least_K_rounds;
} spec_observed_sums;

/* Returns an observer that adds to the sums, which must be zeroed at first. Totals must have passed
 * through counter_differences.h. Returns GSL_EINVAL for more than SPEC_SUM_SERIES series;
 * GSL_ENOMEM. */
spec_observer spec_observed_sums_observer(spec_observed_sums *sums);
void spec_observed_sums_free(spec_observed_sums *sums);

#endif
