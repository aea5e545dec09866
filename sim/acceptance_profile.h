/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_profile: the acceptance of an engine at one draft length, stored as JSON.
 * An unconditional rate is the share of all rounds that accept a depth; a conditional rate is the
 * share among the rounds that accepted the previous depth. docs/formats.md#profile. It owns its
 * file names. */
#ifndef SPECLAB_ACCEPTANCE_PROFILE_H
#define SPECLAB_ACCEPTANCE_PROFILE_H

#include "base/context_steps.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stdio.h>

enum { SPEC_PROFILE_VERSION = 1, SPEC_PROFILE_K = 64, SPEC_PROFILE_FILES = 1024 };

/* NaN: not known. */
typedef struct {
    double value;
    double low, high; /* 95 % interval */
} spec_profile_number;

typedef struct {
    int K;         /* draft tokens per round, 1..SPEC_PROFILE_K */
    double rounds; /* rounds with a draft */
    double passes; /* target passes per request, including those without a draft */
    /* the engine reports only a mean, so we assume the same conditional rate at all depths */
    bool one_rate;
    /* (K) by depth; conditional ones are NaN after an unconditional rate of 0 */
    spec_profile_number unconditional[SPEC_PROFILE_K], conditional[SPEC_PROFILE_K];
    /* alpha by tokens of a request's context, at all depths; n = 0: not known */
    spec_context_steps context;
    spec_profile_number length; /* mean tokens of a round, the bonus or correction token included */
    char engine[64], format[64]; /* "" if not known */
    int n_files;
    char **file; /* (n_files) the files that the numbers were read from */
} spec_acceptance_profile;

/* Reads a profile. Unconditional rates must be numbers in [0,1] that never rise. Conditional rates
 * and the mean length are computed from them, without intervals, if missing; if given, they must
 * agree with them within .001 (the length within .001 K). On failure returns GSL_EFAILED,
 * GSL_EINVAL or GSL_ENOMEM with one line that begins with the path, and zeroes the profile. */
int spec_acceptance_profile_load(spec_acceptance_profile *profile, const char *path,
                                 spec_error *error);
/* Does the same from n bytes; `name` appears in messages. */
int spec_acceptance_profile_parse(spec_acceptance_profile *profile, const char *bytes, size_t n,
                                  const char *name, spec_error *error);
void spec_acceptance_profile_free(spec_acceptance_profile *profile); /* accepts a zeroed one */

/* Appends a copy of the name. Returns GSL_ENOMEM, or GSL_EINVAL beyond SPEC_PROFILE_FILES. */
int spec_acceptance_profile_add_file(spec_acceptance_profile *profile, const char *path,
                                     spec_error *error);

/* Returns 1 + the sum of the unconditional rates up to depth K <= profile->K. */
double spec_acceptance_profile_length(const spec_acceptance_profile *profile, int K);

/* Writes the JSON that _load reads. Returns GSL_ENOMEM; the caller checks the stream for errors. */
int spec_acceptance_profile_write(const spec_acceptance_profile *profile, FILE *out,
                                  spec_error *error);

#endif
