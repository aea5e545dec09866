/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_paths: continuations of a text, and the target's row before each of their tokens.
 * They are either sampled from the target, or all the possible ones. A path does not stop at an end
 * of text. */
#ifndef SPECLAB_BLOCK_PATHS_H
#define SPECLAB_BLOCK_PATHS_H

#include "models/model.h"
#include "sim/chance/chance.h"

/* Maximum paths at one position. */
enum { SPEC_BLOCK_PATHS_MAX = 4096 };

typedef struct {
    int V, K;
    size_t n;
    double *weight; /* (n) sum to 1 */
    int *token;     /* (n, K); the last token of each path is not drawn: -1 */
    double *row;    /* (K, n, V) rows of offset i: after the first i tokens */
} spec_block_paths;

/* Returns the number of all paths of K - 1 tokens; 0 if it exceeds SPEC_BLOCK_PATHS_MAX. */
size_t spec_block_paths_all(int V, int K);

/* Allocates memory for n paths. Returns GSL_ENOMEM. The paths must be zeroed or initialised before
 * they are freed. */
int spec_block_paths_init(spec_block_paths *paths, int V, int K, size_t n, spec_error *error);
void spec_block_paths_free(spec_block_paths *paths);

/* A text with room for K more tokens, the session that reads it, and the row after it. */
typedef struct {
    spec_session *session;
    int *text; /* (n + K) */
    size_t n;
    const double *row; /* (V) */
} spec_block_place;

/* Samples n paths from the target, with equal weights. */
int spec_block_paths_sample(spec_block_paths *paths, const spec_block_place *place,
                            spec_chance *chance, spec_error *error);

/* Lists every path of K - 1 tokens, weighted by its probability; n is spec_block_paths_all. */
int spec_block_paths_list(spec_block_paths *paths, const spec_block_place *place,
                          spec_error *error);

#endif
