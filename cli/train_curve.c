/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/train_curve.h"

#include "speclab/no_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BEFORE = 3, COLUMN = 24 }; /* columns of every method; maximum characters of a name */

/* Names of the columns of one temperature, in order, for K draft tokens or for early exits; returns
 * their number. */
static int name_columns(char name[][COLUMN], int temperature, int K, int n_exits)
{
    static const char *const best[] = {"exit", "K", "tokens", "speedup"};
    int n = 0;
    for (int i = 0; n_exits > 0 && i < 4; i++)
        snprintf(name[n++], COLUMN, "%s_T%d", best[i], temperature);
    for (int l = 1; l <= n_exits; l++)
        snprintf(name[n++], COLUMN, "alpha_exit%d_T%d", l, temperature);
    if (n_exits > 0) return n;
    snprintf(name[n++], COLUMN, "tokens_T%d", temperature);
    for (int d = 1; d <= K; d++) snprintf(name[n++], COLUMN, "alpha_%d_T%d", d, temperature);
    for (int i = 0; i < SPEC_TRAINING_TREES; i++)
        snprintf(name[n++], COLUMN, "tree%d_T%d", spec_training_tree_nodes[i], temperature);
    return n;
}

enum {
    PER_TEMPERATURE = 1 + SPEC_EXACT_WALK_K_MAX + SPEC_TRAINING_TREES,
    PER_TEMPERATURE_OF_EXITS = 4 + SPEC_LAYERS_MAX /* more than PER_TEMPERATURE */
};

int spec_train_curve_init(spec_train_curve *curve, const spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS, n = BEFORE;
    const int K = training->plan.opt_target != NULL ? training->plan.K : 0;
    char name[2 * PER_TEMPERATURE_OF_EXITS][COLUMN];
    const char *column[BEFORE + 1 + 2 * PER_TEMPERATURE_OF_EXITS] = {"step", "loss",
                                                                     "bits_per_token"};
    *curve = (spec_train_curve){0};
    if (training->plan.exits.rotation > 0) {
        SPEC_TRY(spec_exit_score_init(&curve->exits, training, error));
        column[n++] = "overlap";
    }
    for (int temperature = 1, at = 0; K > 0 && temperature >= 0; temperature--)
        for (int end = at + name_columns(name + at, temperature, K, curve->exits.n_exits); at < end;
             at++)
            column[n++] = name[at];
    if (spec_table_init(&curve->table, column, n) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
done:
    return status;
}

void spec_train_curve_free(spec_train_curve *curve)
{
    spec_table_free(&curve->table);
    spec_exit_score_free(&curve->exits);
}

static void fill_walks(spec_table *table, const spec_training_score *score)
{
    for (int i = 0; i < 2 && score->walk[1].K > 0; i++) {
        const spec_exact_walk *walk = &score->walk[i];
        char name[PER_TEMPERATURE][COLUMN];
        int n = 0;
        name_columns(name, i, walk->K, 0);
        spec_table_number(table, name[n++], spec_exact_walk_tokens_per_round(walk, walk->K));
        for (int d = 1; d <= walk->K; d++)
            spec_table_number(table, name[n++], spec_exact_walk_alpha(walk, d));
        for (int k = 0; k < SPEC_TRAINING_TREES; k++)
            spec_table_number(table, name[n++], score->tree[i][k]);
    }
}

static void fill_exits(spec_table *table, const spec_exit_score *score)
{
    spec_table_number(table, "overlap", score->overlap);
    for (int i = 0; i < 2; i++) {
        const spec_exit_choice best = spec_exit_score_best(score, i, NULL);
        char name[PER_TEMPERATURE_OF_EXITS][COLUMN];
        int n = 0;
        name_columns(name, i, 0, score->n_exits);
        spec_table_integer(table, name[n++], best.exit);
        spec_table_integer(table, name[n++], best.K);
        spec_table_number(table, name[n++], best.tokens);
        spec_table_number(table, name[n++], best.speed_up);
        for (int l = 0; l < score->n_exits; l++)
            spec_table_number(table, name[n++], spec_exact_walk_alpha(&score->walk[i][l], 1));
    }
}

int spec_train_curve_score(spec_train_curve *curve, spec_training *training, spec_error *error)
{
    return curve->exits.n_exits > 0 ? spec_exit_score_judge(&curve->exits, training, error)
                                    : spec_training_score_judge(&curve->score, training, error);
}

int spec_train_curve_judge(spec_train_curve *curve, spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_table *table = &curve->table;
    const bool has_exits = curve->exits.n_exits > 0;
    SPEC_TRY(spec_train_curve_score(curve, training, error));
    spec_table_integer(table, "step", training->step);
    spec_table_number(table, "loss",
                      curve->losses > 0 ? curve->loss / (double)curve->losses : (double)NAN);
    spec_table_number(table, "bits_per_token", has_exits ? curve->exits.bits : curve->score.bits);
    curve->loss = 0.0;
    curve->losses = 0;
    if (has_exits)
        fill_exits(table, &curve->exits);
    else
        fill_walks(table, &curve->score);
    if (spec_table_append(table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
done:
    return status;
}

enum { LOSSES = 2 }; /* numbers before the rows */

int spec_train_curve_save(spec_training_numbers *ret, const spec_train_curve *curve)
{
    const spec_table *table = &curve->table;
    const size_t columns = (size_t)table->n_columns, cells = table->n_rows * columns;
    *ret = (spec_training_numbers){malloc((LOSSES + cells) * sizeof *ret->number), LOSSES + cells};
    if (ret->number == NULL) return GSL_ENOMEM;
    ret->number[0] = curve->loss;
    ret->number[1] = (double)curve->losses;
    for (size_t i = 0; i < cells; i++)
        ret->number[LOSSES + i] =
            spec_cell_exact(spec_table_cell(table, i / columns, (int)(i % columns)));
    return GSL_SUCCESS;
}

int spec_train_curve_restore(spec_train_curve *curve, const spec_training_numbers *numbers)
{
    spec_table *table = &curve->table;
    const size_t columns = (size_t)table->n_columns;
    if (numbers->n < LOSSES || (numbers->n - LOSSES) % columns != 0 ||
        !(numbers->number[1] >= 0.0 && numbers->number[1] <= 0x1p53))
        return GSL_EINVAL;
    curve->loss = numbers->number[0];
    curve->losses = (long)numbers->number[1];
    for (const double *row = numbers->number + LOSSES; row < numbers->number + numbers->n;
         row += columns) {
        for (size_t i = 0; i < columns; i++) spec_table_number(table, table->column[i], row[i]);
        if (spec_table_append(table) != GSL_SUCCESS) return GSL_ENOMEM;
    }
    return GSL_SUCCESS;
}

static void note_exits(char *text, size_t size, const spec_train_curve *curve)
{
    const spec_exit_score *score = &curve->exits;
    int at = snprintf(text, size, ", %.3f bits, overlap %.3f, alpha of exits", score->bits,
                      score->overlap);
    for (int l = 0; l < score->n_exits && l < 5; l++)
        at += snprintf(text + at, size - (size_t)at, " %.2f",
                       spec_exact_walk_alpha(&score->walk[1][l], 1));
    snprintf(text + at, size - (size_t)at, ", speed-up %.2f",
             spec_exit_score_best(score, 1, curve->speed.pass).speed_up);
}

void spec_train_curve_note(char *text, size_t size, const spec_train_curve *curve, double loss)
{
    const spec_exact_walk *walk = &curve->score.walk[1];
    int K, at = snprintf(text, size, "loss %.3f", loss);
    if (curve->exits.n_exits > 0) {
        note_exits(text + at, size - (size_t)at, curve);
        return;
    }
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
        spec_exit_choice best = {0};
        if (curve->exits.n_exits > 0)
            best = spec_exit_score_best(&curve->exits, i, curve->speed.pass);
        else
            best.speed_up = spec_training_speed_best(&best.K, &curve->speed, &curve->score.walk[i]);
        at += snprintf(text + at, size - (size_t)at, "%.2f with ", best.speed_up);
        if (best.exit > 0) at += snprintf(text + at, size - (size_t)at, "exit=%d, ", best.exit);
        at += snprintf(text + at, size - (size_t)at, "K = %d at temperature %d%s", best.K, i,
                       i == 1 ? ", " : "");
    }
    snprintf(text + at, size - (size_t)at, "; passes of the target are measured, draft calls %s",
             curve->speed.draft_measured ? "too" : "estimated from their weights");
}

void spec_train_curve_change(char *text, size_t size, const spec_train_curve *curve)
{
    const spec_exit_score *score = &curve->exits;
    snprintf(text, size,
             "the model is no longer the target: their overlap is %.3f, its cross-entropy %.4f "
             "bits per token instead of %.4f",
             score->overlap, score->bits, score->target_bits);
}
