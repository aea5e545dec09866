/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Temperature and filters that are not those of the request. */
#include "tools/validate/mutants/mutants.h"

#include <math.h>

static bool is_bonus(const spec_reference_sampler *s, int place)
{
    int child[SPEC_FIXTURE_NODES_MAX];
    return spec_reference_sampler_children(s, place, child) == 0;
}

static void temperature_ignored(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_TARGET) t->temperature = 1.0;
}

static void target_default(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_TARGET) *t = SPEC_TRANSFORM_NONE;
}

static void draft_default(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_DRAFT) *t = SPEC_TRANSFORM_NONE;
}

static void bonus_default(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    if (side == SPEC_REFERENCE_TARGET && is_bonus(s, place)) *t = SPEC_TRANSFORM_NONE;
}

static void filters_on_bonus(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    if (side != SPEC_REFERENCE_TARGET || is_bonus(s, place)) return;
    t->top_k = 0;
    t->top_p = 1.0;
    t->min_p = 0.0;
}

/* Treats the last of every eight requests as padding. */
static void some_default(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)place;
    if (side == SPEC_REFERENCE_TARGET && s->at % 8 == 7) t->temperature = 1.0;
}

static void top_p_ignored(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_TARGET) t->top_p = 1.0;
}

/* Compares min-p with the ratio to the largest probability before the temperature. */
static void min_p_untempered(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)side;
    (void)place;
    if (t->temperature > 0.0) t->min_p = pow(t->min_p, 1.0 / t->temperature);
}

/* A code path for top-k that returns before top-p is applied. */
static void draft_top_k_alone(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_DRAFT && t->top_k > 0) t->top_p = 1.0;
}

static void draft_top_p_ignored(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_DRAFT) t->top_p = 1.0;
}

static void draft_min_p_ignored(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_DRAFT) t->min_p = 0.0;
}

static void min_p_ignored(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_TARGET) t->min_p = 0.0;
}

static void temperature_squared(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_TARGET) t->temperature *= t->temperature;
}

static void zero_is_one(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)s;
    (void)place;
    if (side == SPEC_REFERENCE_TARGET && t->temperature == 0.0) t->temperature = 1.0;
}

/* At temperature 0, takes the argmax of bf16 rows: tokens that are equal only in low precision may
 * go either way. */
static void argmax_of_bf16(spec_reference_sampler *s, int side, int place, double *row)
{
    (void)side;
    (void)place;
    if (s->sampling.temperature != 0.0f) return;
    for (int i = 0; i < s->vocab; i++) row[i] = spec_mutants_bf16(row[i]);
    const int best = spec_reference_sampler_argmax(row, s->vocab);
    for (int i = 0; i < s->vocab; i++) row[i] = i == best ? 1.0 : 0.0;
}

static void argmax_later(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)side;
    (void)place;
    if (s->sampling.temperature == 0.0f) t->temperature = 1.0;
}

const spec_mutant spec_mutants_parameters[] = {
    {"temperature-ignored", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the verifier ignores the request's temperature", "ohdearquant/lattice #388",
     .everywhere = true, .hooks = {.parameters = temperature_ignored}},
    {"target-default", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the target is scored with default parameters, the draft with the request's",
     "vllm-project/vllm #9834, #10198", .everywhere = true,
     .hooks = {.parameters = target_default}},
    {"draft-default", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the draft's row is used without the request's parameters", "", .everywhere = true,
     .hooks = {.parameters = draft_default}},
    {"bonus-default", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the bonus is drawn without the request's parameters", "", .everywhere = true,
     .hooks = {.parameters = bonus_default}},
    {"filters-on-bonus", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "filters are applied only to the bonus row", "vllm-project/vllm #42744", .everywhere = true,
     .hooks = {.parameters = filters_on_bonus}},
    {"padding-temperature", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "rows in use get the temperature of padding",
     "vllm-project/tpu-inference #2860, vllm-project/vllm #42638", .everywhere = true,
     .hooks = {.parameters = some_default}},
    {"filters-chained", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "top-p is computed after top-k, not on the same probabilities", "ztxz16/fastllm #738",
     .everywhere = true, .hooks = {.filters = "chained"}},
    {"filters-before-temperature", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "filters are computed before the temperature is applied, which is not declared", "",
     .everywhere = true, .hooks = {.filters = "top_k+top_p+min_p,temperature"}},
    {"min-p-before-temperature", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "min-p, unlike the others, is computed before the temperature is applied, which is not "
     "declared",
     "", .everywhere = true, .hooks = {.filters = "min_p,temperature,top_k+top_p"}},
    {"min-p-untempered", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "min-p is compared with untempered probabilities", "", .everywhere = true,
     .hooks = {.parameters = min_p_untempered}},
    {"draft-top-k-alone", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "where there is a top-k, top-p is not applied to the draft's row", "", .everywhere = true,
     .hooks = {.parameters = draft_top_k_alone}},
    {"draft-top-p-ignored", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "top-p is not applied to the draft's row", "", .everywhere = true,
     .hooks = {.parameters = draft_top_p_ignored}},
    {"draft-min-p-ignored", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "min-p is not applied to the draft's row", "", .everywhere = true,
     .hooks = {.parameters = draft_min_p_ignored}},
    {"top-p-ignored", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "top-p is not applied to the target", "",
     .everywhere = true, .hooks = {.parameters = top_p_ignored}},
    {"min-p-ignored", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "min-p is not applied to the target", "",
     .everywhere = true, .hooks = {.parameters = min_p_ignored}},
    {"temperature-twice", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "the temperature is applied twice",
     "", .everywhere = true, .hooks = {.parameters = temperature_squared}},
    {"greedy-sampled", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY, "temperature 0 is treated as 1", "",
     .everywhere = true, .hooks = {.parameters = zero_is_one}},
    {"filters-in-turn", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: renormalises after top-k, top-p and min-p in turn, as it declares",
     "huggingface/transformers 5.23.0", .filters = "temperature,top_k,top_p,min_p",
     .hooks = {.filters = "chained"}},
    {"filters-min-p-first", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: renormalises after min-p, top-k and top-p in turn, as it declares",
     "vllm-project/vllm 0.33.0", .filters = "temperature,min_p,top_k,top_p",
     .hooks = {.filters = "temperature,min_p,top_k,top_p"}},
    {"filters-temperature-last", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: filters in turn, and then applies the temperature, as it declares",
     "ggml-org/llama.cpp", .filters = "top_k,top_p,min_p,temperature",
     .hooks = {.filters = "top_k,top_p,min_p,temperature"}},
    {"argmax-in-bf16", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: at temperature 0, takes the argmax of rows in low precision", "",
     .hooks = {.parameters = argmax_later, .shape = argmax_of_bf16}},
    {.name = NULL},
};
