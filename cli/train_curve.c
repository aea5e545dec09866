/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/train_curve.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdio.h>

enum { BEFORE = 3, COLUMN = 24 }; /* columns of every method; most characters of a name */

/* Names of the columns of one temperature, in order; returns their number. */
static int name_columns(char name[][COLUMN], int temperature, int K)
{
    int n = 0;
    snprintf(name[n++], COLUMN, "tokens_T%d", temperature);
    for (int d = 1; d <= K; d++) snprintf(name[n++], COLUMN, "alpha_%d_T%d", d, temperature);
    for (int i = 0; i < SPEC_TRAINING_TREES; i++)
        snprintf(name[n++], COLUMN, "tree%d_T%d", spec_training_tree_nodes[i], temperature);
    return n;
}

enum { PER_TEMPERATURE = 1 + SPEC_EXACT_WALK_K_MAX + SPEC_TRAINING_TREES };

int spec_train_curve_init(spec_train_curve *curve, int K, spec_error *error)
{
    char name[2 * PER_TEMPERATURE][COLUMN];
    const char *column[BEFORE + 2 * PER_TEMPERATURE] = {"step", "loss", "bits_per_token"};
    int n = 0;
    *curve = (spec_train_curve){0};
    for (int temperature = 1; K > 0 && temperature >= 0; temperature--)
        n += name_columns(name + n, temperature, K);
    for (int i = 0; i < n; i++) column[BEFORE + i] = name[i];
    return spec_table_init(&curve->table, column, BEFORE + n) == GSL_SUCCESS
               ? GSL_SUCCESS
               : spec_no_memory(error);
}

void spec_train_curve_free(spec_train_curve *curve)
{
    spec_table_free(&curve->table);
}

int spec_train_curve_judge(spec_train_curve *curve, spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_table *table = &curve->table;
    const spec_training_score *score = &curve->score;
    SPEC_TRY(spec_training_score_judge(&curve->score, training, error));
    spec_table_integer(table, "step", training->step);
    spec_table_number(table, "loss",
                      curve->losses > 0 ? curve->loss / (double)curve->losses : (double)NAN);
    spec_table_number(table, "bits_per_token", score->bits);
    curve->loss = 0.0;
    curve->losses = 0;
    for (int i = 0; i < 2 && score->walk[1].K > 0; i++) {
        const spec_exact_walk *walk = &score->walk[i];
        char name[PER_TEMPERATURE][COLUMN];
        int n = 0;
        name_columns(name, i, walk->K);
        spec_table_number(table, name[n++], spec_exact_walk_tokens_per_round(walk, walk->K));
        for (int d = 1; d <= walk->K; d++)
            spec_table_number(table, name[n++], spec_exact_walk_alpha(walk, d));
        for (int k = 0; k < SPEC_TRAINING_TREES; k++)
            spec_table_number(table, name[n++], score->tree[i][k]);
    }
    if (spec_table_append(table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
done:
    return status;
}

void spec_train_curve_note(char *text, size_t size, const spec_train_curve *curve, double loss)
{
    const spec_exact_walk *walk = &curve->score.walk[1];
    int K, at = snprintf(text, size, "loss %.3f", loss);
    if (walk->K == 0) {
        snprintf(text + at, size - (size_t)at, ", %.3f bits", curve->score.bits);
        return;
    }
    at += snprintf(text + at, size - (size_t)at, ", alpha");
    for (int d = 1; d <= walk->K && d <= 5; d++)
        at += snprintf(text + at, size - (size_t)at, " %.2f", spec_exact_walk_alpha(walk, d));
    at += snprintf(text + at, size - (size_t)at, ", %.2f tokens per round",
                   spec_exact_walk_tokens_per_round(walk, walk->K));
    if (curve->speed.K > 0)
        snprintf(text + at, size - (size_t)at, ", speed-up %.2f",
                 spec_training_speed_best(&K, &curve->speed, walk));
}

void spec_train_curve_prediction(char *text, size_t size, const spec_train_curve *curve)
{
    int at = snprintf(text, size, "predicted speed-up: ");
    for (int i = 1; i >= 0; i--) {
        int K;
        const double best = spec_training_speed_best(&K, &curve->speed, &curve->score.walk[i]);
        at += snprintf(text + at, size - (size_t)at, "%.2f with K = %d at temperature %d%s", best,
                       K, i, i == 1 ? ", " : "");
    }
    snprintf(text + at, size - (size_t)at, "; passes of the target are measured, draft calls %s",
             curve->speed.draft_measured ? "too" : "estimated from their weights");
}
