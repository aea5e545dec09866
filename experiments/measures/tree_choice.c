/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/tree_choice.h"

#include "analysis/tree_plan.h"
#include "analysis/tree_shape.h"
#include "base/memory_text.h"
#include "base/names.h"

#include <math.h>
#include <stdlib.h>

enum { SEQUOIA = SPEC_FORMS, MEDUSA };
const char *const spec_tree_methods[] = {[SPEC_FORM_CHAIN] = "chain",
                                         [SPEC_FORM_K_ARY] = "k-ary",
                                         [SPEC_FORM_BRANCHES] = "branches",
                                         [SPEC_FORM_DELAYED] = "delayed",
                                         [SEQUOIA] = "sequoia",
                                         [MEDUSA] = "medusa",
                                         NULL};

static const char *name_of(int i)
{
    return spec_tree_methods[i];
}

/* Writes "key=3.2.0.1", without trailing zeros of children; NULL if memory runs out. */
static char *written(const char *key, const int *number, int n)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    while (n > 1 && number[n - 1] == 0) n--;
    fprintf(text.out, "%s=", key);
    for (int i = 0; i < n; i++) fprintf(text.out, "%s%d", i > 0 ? "." : "", number[i]);
    return spec_memory_text_take(&text, NULL);
}

/* Workspace of the methods: integers for a budget, in one block. */
typedef struct {
    int *parent, *rank, *children, *work;
    double *product;
} tree_room;

static int write_children(spec_tree_choice *ret, const tree_room *room, int n)
{
    ret->depth = spec_tree_children(room->children, room->parent, n, room->work);
    ret->shape = written("children", room->children, n + 1);
    return ret->shape != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

static int choose_form(spec_tree_choice *ret, spec_form form, const spec_branch_chances *chances,
                       int nodes, double c, const double *verify)
{
    int *width = calloc((size_t)chances->levels + 1, sizeof *width);
    if (width == NULL) return GSL_ENOMEM;
    const spec_tree_shape_search search = {.form = form,
                                           .accept = chances->accept,
                                           .levels = chances->levels,
                                           .ranks = chances->ranks,
                                           .nodes = nodes,
                                           .c = c,
                                           .verify = verify};
    const spec_tree_shape_found found = spec_tree_shape_fastest(width, &search);
    ret->nodes = found.nodes;
    ret->depth = found.depth;
    ret->emitted = found.emitted;
    ret->speedup = found.speedup;
    ret->shape =
        ret->depth > 0 ? written("widths", width, ret->depth) : written("children", &(int){0}, 1);
    free(width);
    return ret->shape != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

static int choose_sequoia(spec_tree_choice *ret, const tree_room *room,
                          const spec_branch_chances *chances, int nodes, double c,
                          const double *verify, spec_error *error)
{
    spec_tree_plan plan = {0};
    int depth, status = GSL_SUCCESS;
    if (chances->by_level)
        return spec_fail(error, GSL_EINVAL,
                         "sequoia needs one list of probabilities for all levels; medusa takes a "
                         "table");
    SPEC_TRY(spec_tree_plan_init(&plan, chances->accept, chances->ranks, nodes, chances->levels));
    ret->speedup = spec_tree_plan_fastest(&ret->nodes, &depth, &plan, c, verify);
    ret->emitted = spec_tree_plan_emitted(&plan, ret->nodes, depth);
    if (spec_tree_plan_build(room->parent, room->rank, &plan, ret->nodes, depth) != ret->nodes) {
        status = GSL_EDOM;
        goto done;
    }
    status = write_children(ret, room, ret->nodes);
done:
    spec_tree_plan_free(&plan);
    return status;
}

/* Chooses Medusa's tree. The first m nodes of its list form its best tree of m nodes, if there are
 * as many heads as levels. */
static int choose_medusa(spec_tree_choice *ret, const tree_room *room,
                         const spec_branch_chances *chances, int nodes, double c,
                         const double *verify, spec_error *error)
{
    const int ranks = chances->ranks;
    for (int i = 0; i < chances->levels * ranks; i++) {
        if (i % ranks == 0 || !(chances->accept[i] > chances->accept[i - 1])) continue;
        return spec_fail(
            error, GSL_EINVAL,
            "level %d: rank %d, of probability %g, is more probable than the rank before it: "
            "medusa needs ranks of descending probability",
            i / ranks + 1, i % ranks + 1, chances->accept[i]);
    }
    ret->speedup = 1 / verify[0];
    ret->emitted = 1;
    int best = 0, best_depth = 0;
    for (int depth = 1; depth <= chances->levels; depth++) {
        const int n = spec_tree_plan_medusa(room->parent, room->rank, room->product, nodes,
                                            chances->accept, depth, ranks, room->work);
        double emitted = 1;
        if (n < 0) return GSL_EDOM;
        for (int m = 1; m <= n; m++) {
            emitted += room->product[m - 1];
            const double speedup = emitted / (depth * c + verify[m]);
            if (speedup <= ret->speedup) continue;
            ret->speedup = speedup;
            ret->emitted = emitted;
            best = m;
            best_depth = depth;
        }
    }
    if (best_depth > 0)
        spec_tree_plan_medusa(room->parent, room->rank, room->product, best, chances->accept,
                              best_depth, ranks, room->work);
    ret->nodes = best;
    return write_children(ret, room, best);
}

int spec_tree_choose(spec_tree_choice *ret, const char *method, const spec_branch_chances *chances,
                     int nodes, double c, const double *verify, spec_error *error)
{
    const int line = spec_names_find(name_of, method, "method", error);
    const size_t n = (size_t)nodes + 1, table = (size_t)chances->levels * (size_t)chances->ranks;
    int status = GSL_EINVAL;
    *ret = (spec_tree_choice){0};
    if (line < 0) return GSL_EINVAL;
    error->text[0] = '\0';
    int *integer = malloc((4 * n + table) * sizeof *integer);
    double *product = malloc(n * sizeof *product);
    const tree_room room = {.parent = integer, .rank = integer + n, .children = integer + 2 * n,
                            .work = integer + 3 * n, .product = product};
    if (integer == NULL || product == NULL) status = GSL_ENOMEM;
    else if (line < SPEC_FORMS)
        status = choose_form(ret, (spec_form)line, chances, nodes, c, verify);
    else if (line == SEQUOIA) status = choose_sequoia(ret, &room, chances, nodes, c, verify, error);
    else status = choose_medusa(ret, &room, chances, nodes, c, verify, error);
    if (status == GSL_SUCCESS && isnan(ret->speedup)) status = GSL_EDOM;
    free(integer);
    free(product);
    if (status == GSL_SUCCESS) return status;
    spec_tree_choice_free(ret);
    if (error->text[0] != '\0') return status;
    return spec_fail(error, status,
                     status == GSL_ENOMEM ? "out of memory for a tree of %d nodes"
                                          : "no probabilities, or no costs, for a tree of %d nodes",
                     nodes);
}

void spec_tree_choice_free(spec_tree_choice *choice)
{
    free(choice->shape);
    *choice = (spec_tree_choice){0};
}
