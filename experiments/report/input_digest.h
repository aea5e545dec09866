/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input_digest: a hash of the inputs of an experiment, to know whether its finding still applies.
 * The digest covers the measure, every point of the grid, rounds, standard error, seed, and the
 * bytes of the files of models. It is "9f3c1b2a77e0d4c5", or "9f3c1b2a77e0d4c5+01ab..." with
 * files. 64-bit FNV-1a detects changes; it does not protect against forgery. */
#ifndef SPECLAB_INPUT_DIGEST_H
#define SPECLAB_INPUT_DIGEST_H

#include "experiments/experiment.h"

enum { SPEC_INPUT_DIGEST_SIZE = 40 };

/* Computes the digest of an experiment's current inputs; `opt_share` is the folder of shared texts.
 * Returns GSL_EFAILED if a file cannot be read. */
int spec_input_digest(char digest[SPEC_INPUT_DIGEST_SIZE], const spec_experiment *experiment,
                      const char *opt_share, spec_error *error);

/* Returns whether the experiment's finding is about these inputs; false without a finding or a
 * digest. Reads files only if everything else agrees. */
bool spec_input_digest_agrees(const spec_experiment *experiment, const char *opt_share);

#endif
