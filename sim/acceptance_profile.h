/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_profile: the acceptance of an engine at one draft length, as a JSON file.
 * An unconditional rate is the share of all rounds that accept a depth. A conditional rate is the
 * share of those that accept the depth before. docs/formats.md#profile. Owns the names of its
 * files. */
#ifndef SPECLAB_ACCEPTANCE_PROFILE_H
#define SPECLAB_ACCEPTANCE_PROFILE_H

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
    double rounds; /* with a draft */
    double passes; /* of the target, per request, with those without a draft */
    bool one_rate; /* the engine shows only a mean: one conditional rate is assumed at all depths */
    /* (K) by depth; conditional ones are NaN behind an unconditional rate of 0 */
    spec_profile_number unconditional[SPEC_PROFILE_K], conditional[SPEC_PROFILE_K];
    spec_profile_number length; /* mean tokens of a round, the bonus or correction token included */
    char engine[64], format[64]; /* "" if not known */
    int n_files;
    char **file; /* (n_files) that the numbers were read from */
} spec_acceptance_profile;

/* Reads a profile. Unconditional rates must be numbers in [0,1] that never rise; conditional rates
 * and the mean length may be missing, and agree with them within .001 (a token: .001 K). Then they
 * are computed from them, without intervals. GSL_EFAILED, GSL_EINVAL or GSL_ENOMEM with one line
 * that begins with the path, and a zeroed profile. */
int spec_acceptance_profile_load(spec_acceptance_profile *profile, const char *path,
                                 spec_error *error);
/* The same from n bytes; `name` appears in messages. */
int spec_acceptance_profile_parse(spec_acceptance_profile *profile, const char *bytes, size_t n,
                                  const char *name, spec_error *error);
void spec_acceptance_profile_free(spec_acceptance_profile *profile); /* accepts a zeroed one */

/* Appends a copy of the name; GSL_ENOMEM, and GSL_EINVAL beyond SPEC_PROFILE_FILES. */
int spec_acceptance_profile_add_file(spec_acceptance_profile *profile, const char *path,
                                     spec_error *error);

/* 1 + the sum of the unconditional rates up to depth K <= profile->K. */
double spec_acceptance_profile_length(const spec_acceptance_profile *profile, int K);

/* Writes the JSON, which _load reads. GSL_ENOMEM; errors of the stream are the caller's. */
int spec_acceptance_profile_write(const spec_acceptance_profile *profile, FILE *out,
                                  spec_error *error);

#endif
