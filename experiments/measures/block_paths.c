/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/block_paths.h"

#include "sim/verify/verify.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

size_t spec_block_paths_all(int V, int K)
{
    size_t n = 1;
    for (int i = 0; i + 1 < K; i++) {
        n *= (size_t)V;
        if (n > SPEC_BLOCK_PATHS_MAX) return 0;
    }
    return n;
}

int spec_block_paths_init(spec_block_paths *paths, int V, int K, size_t n, spec_error *error)
{
    *paths = (spec_block_paths){.V = V, .K = K, .n = n};
    paths->weight = malloc(n * sizeof *paths->weight);
    paths->token = malloc(n * (size_t)K * sizeof *paths->token);
    paths->row = malloc(n * (size_t)K * (size_t)V * sizeof *paths->row);
    if (paths->weight != NULL && paths->token != NULL && paths->row != NULL) return GSL_SUCCESS;
    spec_block_paths_free(paths);
    return spec_fail(error, GSL_ENOMEM, "out of memory for %d rows of %zu paths", K, n);
}

void spec_block_paths_free(spec_block_paths *paths)
{
    free(paths->weight);
    free(paths->token);
    free(paths->row);
    *paths = (spec_block_paths){0};
}

/* Fills the row at offset i of path s: the row after the first i tokens of the path, which the text
 * contains now. */
static int fill_row(double **ret_row, spec_block_paths *paths, const spec_block_place *place,
                    size_t s, int i, spec_error *error)
{
    const size_t V = (size_t)paths->V;
    double *to = *ret_row = paths->row + ((size_t)i * paths->n + s) * V;
    const double *row =
        i == 0 ? place->row
               : spec_session_row(place->session, place->text, place->n + (size_t)i, to, error);
    if (row == NULL) return GSL_EFAILED;
    if (row != to) memcpy(to, row, V * sizeof *to);
    return GSL_SUCCESS;
}

int spec_block_paths_sample(spec_block_paths *paths, const spec_block_place *place,
                            spec_chance *chance, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (size_t s = 0; s < paths->n; s++) {
        int *token = paths->token + s * (size_t)paths->K;
        paths->weight[s] = 1.0 / (double)paths->n;
        for (int i = 0; i < paths->K; i++) {
            double *row;
            SPEC_TRY(fill_row(&row, paths, place, s, i, error));
            token[i] = -1;
            if (i + 1 == paths->K) break;
            token[i] = place->text[place->n + (size_t)i] =
                spec_verify_sample(row, paths->V, chance);
        }
    }
done:
    return status;
}

int spec_block_paths_list(spec_block_paths *paths, const spec_block_place *place, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (size_t s = 0; s < paths->n; s++) {
        int *token = paths->token + s * (size_t)paths->K;
        size_t left = s, power = paths->n;
        paths->weight[s] = 1.0;
        for (int i = 0; i < paths->K; i++) {
            double *row;
            SPEC_TRY(fill_row(&row, paths, place, s, i, error));
            token[i] = -1;
            if (i + 1 == paths->K) break;
            power /= (size_t)paths->V;
            token[i] = place->text[place->n + (size_t)i] = (int)(left / power);
            left %= power;
            paths->weight[s] *= row[token[i]];
        }
    }
done:
    return status;
}
