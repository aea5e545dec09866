/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operations of training once more, in double and under names of their own. */
#define SPEC_TRAIN_DOUBLE
#define spec_elements_of double_elements_of
#define spec_elements_ref double_elements_ref
#define spec_sgemm_init double_sgemm_init
#define spec_sgemm_free double_sgemm_free
#define spec_sgemm_run double_sgemm_run
#define spec_parameters_init double_parameters_init
#define spec_parameters_free double_parameters_free
#define spec_parameters_add double_parameters_add
#define spec_parameters_allocate double_parameters_allocate
#define spec_parameters_value double_parameters_value
#define spec_parameters_gradient double_parameters_gradient
#define spec_parameters_clear_gradient double_parameters_clear_gradient
#define spec_parameters_update double_parameters_update
#define spec_graph_base_back double_graph_base_back
#define spec_graph_begin_evaluation double_graph_begin_evaluation
#define spec_graph_forward_trained double_graph_forward_trained
#define spec_graph_input double_graph_input
#define spec_graph_item_rows double_graph_item_rows
#define spec_graph_items double_graph_items
#define spec_graph_choose double_graph_choose
#define spec_graph_switch double_graph_switch
#define spec_graph_join double_graph_join
#define spec_graph_silu double_graph_silu
#define spec_graph_repeat double_graph_repeat
#define spec_graph_smooth_l1 double_graph_smooth_l1
#define spec_graph_window_row double_graph_window_row
#define spec_graph_init double_graph_init
#define spec_graph_free double_graph_free
#define spec_graph_append double_graph_append
#define spec_graph_allocate double_graph_allocate
#define spec_graph_share double_graph_share
#define spec_graph_adds double_graph_adds
#define spec_graph_forward double_graph_forward
#define spec_graph_evaluate double_graph_evaluate
#define spec_graph_backward double_graph_backward
#define spec_graph_embed double_graph_embed
#define spec_graph_product double_graph_product
#define spec_graph_norm double_graph_norm
#define spec_graph_attention double_graph_attention
#define spec_graph_gate double_graph_gate
#define spec_graph_loss double_graph_loss
#define spec_graph_loss_value double_graph_loss_value

#include "tests/support/double_training.h"

#include "tests/support/training_case.h"

#include <stdlib.h>
#include <string.h>

struct double_training {
    training_case c;
};

double_training *double_training_new(bool is_head, spec_losses_kind kind, int places,
                                     bool pairs_adjacent)
{
    double_training *training = malloc(sizeof *training);
    if (training == NULL ||
        training_case_init(&training->c, SPEC_ISA_PORTABLE, NULL,
                           &(training_case_shape){is_head, kind, places, pairs_adjacent}))
        return training;
    double_training_free(training);
    return NULL;
}

void double_training_free(double_training *training)
{
    if (training != NULL) training_case_free(&training->c);
    free(training);
}

size_t double_training_numbers(const double_training *training)
{
    return training->c.parameters.numbers;
}

double double_training_loss(double_training *training, const double *value)
{
    training_case *c = &training->c;
    memcpy(c->parameters.value, value, c->parameters.numbers * sizeof *value);
    spec_graph_forward_trained(&c->graph);
    return training_case_loss(c);
}

double double_training_gradient(double *ret_gradient, double_training *training,
                                const double *value)
{
    training_case *c = &training->c;
    const double loss = double_training_loss(training, value);
    spec_parameters_clear_gradient(&c->parameters);
    spec_graph_backward(&c->graph);
    memcpy(ret_gradient, c->parameters.gradient, c->parameters.numbers * sizeof *ret_gradient);
    return loss;
}

/* ---- products by the plain loop ---------------------------------------------------------------
 */

int spec_sgemm_init(spec_sgemm *work, spec_isa isa, spec_error *error)
{
    (void)isa;
    (void)error;
    *work = (spec_sgemm){0};
    return GSL_SUCCESS;
}

void spec_sgemm_free(spec_sgemm *work)
{
    (void)work;
}

void spec_sgemm_run(const spec_sgemm *work, const spec_sgemm_product *p)
{
    (void)work;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            double *c = &p->c[(size_t)i * p->stride + (size_t)j], sum = p->add ? *c : 0.0;
            for (int k = 0; k < p->k; k++)
                sum += p->a.at[(size_t)i * p->a.row + (size_t)k * p->a.col] *
                       p->b.at[(size_t)k * p->b.row + (size_t)j * p->b.col];
            *c = sum;
        }
}

const spec_elements *spec_elements_of(spec_isa isa)
{
    (void)isa;
    return &spec_elements_ref;
}

/* Each of these files has constants and functions with the same names. */
#define ALIGN ALIGN_PARAMETERS
#include "models/train/parameters.c"
#undef ALIGN
#define ALIGN ALIGN_GRAPH
#include "models/train/graph.c"
#undef ALIGN
#include "models/train/graph_attention.c"
#include "models/train/graph_columns.c"
#include "models/train/graph_rows.c"
#define ITEM_ROWS ITEM_ROWS_OF_LOSS
#include "models/train/graph_loss.c"
#undef ITEM_ROWS
#define norm elements_norm
#define gate elements_gate
#include "models/train/elements_ref.c"
