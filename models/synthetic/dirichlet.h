/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dirichlet: random rows that are a pure function of a key.
 * A row comes from the symmetric Dirichlet law, drawn as independent gammas in logs so that small
 * concentrations do not underflow; or from integer levels, which have ties. The kinds dirichlet and
 * markov share this code. */
#ifndef SPECLAB_DIRICHLET_H
#define SPECLAB_DIRICHLET_H

#include "models/model.h"

typedef struct {
    double
        concentration; /* > 0; near 0 one token has nearly all mass, at infinity the row is
                          uniform */
    double zeros; /* the probability that a token gets exactly 0, in [0,1]; one token
                     always keeps mass */
    int levels;           /* 0: Dirichlet; n >= 1: weights are integers 1..n, equally likely */
    uint64_t seed;
} spec_dirichlet;

/* Reads concentration, zeros, levels and seed, with these defaults. */
int spec_dirichlet_read(spec_dirichlet *ret_law, const spec_dirichlet *defaults,
                        spec_settings *settings, spec_error *error);

/* Computes the row of `key`: normalised, a pure function of key and law. */
void spec_dirichlet_row(double *row, int vocab, const spec_dirichlet *law, uint64_t key);

#endif
