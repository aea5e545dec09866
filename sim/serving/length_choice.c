/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/length_choice.h"

#include "base/names.h"
#include "sim/serving/length_kind.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>

#define LINE(name) &spec_length_##name,
const spec_length_kind *const spec_length_kinds[] = {SPEC_LENGTHS(LINE) NULL};

static const char *name_of(int i)
{
    return spec_length_kinds[i] != NULL ? spec_length_kinds[i]->name : NULL;
}

bool spec_length_choice_line(int i, const char **ret_usage, const char **ret_summary,
                             const char **ret_reference)
{
    const spec_length_kind *kind = spec_length_kinds[i];
    if (kind == NULL) return false;
    *ret_usage = kind->usage;
    *ret_summary = kind->summary;
    *ret_reference = kind->reference;
    return true;
}

int spec_length_choice_create(spec_length_choice **ret_choice, const char *spec,
                              const spec_step_cost *cost, spec_error *error)
{
    spec_settings settings = {0};
    int status = GSL_SUCCESS;
    spec_length_choice *choice = calloc(1, sizeof *choice);
    *ret_choice = NULL;
    if (choice == NULL) SPEC_TRY(spec_no_memory(error));
    choice->cost = cost;
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    const int line = spec_names_find(name_of, settings.name, "length choice", error);
    SPEC_TRY(line < 0 ? GSL_EINVAL : GSL_SUCCESS);
    choice->kind = spec_length_kinds[line];
    SPEC_TRY(spec_settings_check(&settings, choice->kind->usage, NULL, error));
    choice->learns = choice->kind->observe != NULL;
    SPEC_TRY(choice->kind->init(choice, &settings, error));
    assert(choice->K_max >= 0 && choice->K_max <= SPEC_K_MAX);
    *ret_choice = choice;
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) spec_length_choice_free(choice);
    return status;
}

void spec_length_choice_free(spec_length_choice *choice)
{
    free(choice);
}

int spec_length_begin(void **ret_state, const spec_length_choice *choice, int slots)
{
    *ret_state = NULL;
    if (choice->kind->state_size == NULL) return GSL_SUCCESS;
    *ret_state = calloc(1, choice->kind->state_size(choice, slots));
    if (*ret_state == NULL) return GSL_ENOMEM;
    if (choice->kind->begin != NULL) choice->kind->begin(choice, *ret_state, slots);
    return GSL_SUCCESS;
}

void spec_length_end(void *state)
{
    free(state);
}

bool spec_length_learns(const spec_length_choice *choice)
{
    return choice->learns;
}

bool spec_length_reads(const spec_length_choice *choice)
{
    return choice->kind->reads;
}

bool spec_length_reads_context(const spec_length_choice *choice)
{
    return choice->kind->reads_context;
}

bool spec_length_drafts_all(const spec_length_choice *choice)
{
    return choice->kind->drafts_all;
}

void spec_length_enter(const spec_length_choice *choice, void *state, int slot)
{
    if (choice->learns && choice->kind->enter != NULL) choice->kind->enter(choice, state, slot);
}

int spec_length_choose(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                       int32_t *ret_K)
{
    assert(batch->n >= 1);
    return choice->kind->choose(choice, state, batch, ret_K);
}

void spec_length_observe(const spec_length_choice *choice, void *state,
                         const spec_step_batch *batch, const int32_t *K, const int32_t *accepted,
                         double seconds)
{
    if (choice->learns) choice->kind->observe(choice, state, batch, K, accepted, seconds);
}

int spec_length_K_max(const spec_length_choice *choice)
{
    return choice->K_max;
}

/* ---- fixed ----------------------------------------------------------------------------------- */

static int fixed_init(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    return spec_settings_int(&choice->K_max, settings, "K", 3, 0, SPEC_K_MAX, error);
}

static int fixed_choose(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                        int32_t *ret_K)
{
    (void)state, (void)batch, (void)ret_K;
    return choice->K_max;
}

const spec_length_kind spec_length_fixed = {
    .name = "fixed",
    .usage = "fixed?K=3",
    .summary = "K tokens for every request in every step",
    .reference = "Leviathan23",
    .init = fixed_init,
    .choose = fixed_choose,
};
