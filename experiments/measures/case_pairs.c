/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/case_pairs.h"

#include "base/names.h"
#include "base/settings.h"
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"
#include "models/model_open.h"
#include "models/synthetic/cases.h"

#include <math.h>
#include <string.h>

enum { CASES_MAX = 10000000 };

static bool is_family(const char *name)
{
    for (int i = 0; i < SPEC_CASES_FAMILIES; i++)
        if (strcmp(spec_cases_families[i], name) == 0) return true;
    return false;
}

int spec_case_pairs_init(spec_case_pairs *ret, const spec_point *point, const spec_measure *measure,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = (spec_case_pairs){.config = SPEC_DECODER_DEFAULT,
                             .limit = point->limit > 0 ? point->limit : SPEC_OUTPUT_LAW_LIMIT,
                             .opt_stop = point->stop};
    ret->config.opt_stop = point->stop;
    ret->config.drafting = spec_point_text(point, measure, "drafting");
    ret->config.policy = spec_point_text(point, measure, "policy");
    ret->family = spec_point_text(point, measure, "family");
    SPEC_TRY(spec_point_int(&ret->config.K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_int(&ret->vocab, point, measure, "V", 1, SPEC_CASES_VOCAB_MAX, error));
    SPEC_TRY(spec_point_int(&ret->order, point, measure, "order", 0, SPEC_ORDER_MAX, error));
    SPEC_TRY(spec_point_int(&ret->end, point, measure, "end", -1, ret->vocab - 1, error));
    SPEC_TRY(spec_point_int(&ret->cases, point, measure, "cases", 1, CASES_MAX, error));
    ret->n = ret->cases;
    if (strcmp(ret->family, "every") == 0) {
        ret->family = NULL;
        ret->n *= SPEC_CASES_FAMILIES;
    } else if (!is_family(ret->family)) {
        char meant[SPEC_NAMES_MEANT_SIZE];
        status =
            spec_fail(error, GSL_EINVAL, "family: '%.40s' is not known%s", ret->family,
                      spec_names_meant(
                          meant, ret->family, spec_cases_families,
                          "; they are plain, zeros, levels, equal, near, disjoint, one-hot, mixed, "
                          "and every"));
    }
done:
    return status;
}

int spec_case_pairs_prompt(spec_case_pairs *pairs, const spec_point *point,
                           const spec_measure *measure, spec_error *error)
{
    const char *text = spec_point_text(point, measure, "prompt");
    const size_t length = strlen(text);
    int status = GSL_SUCCESS;
    for (size_t at = 0; length > 0 && at <= length; pairs->n_prompt++) {
        if (pairs->n_prompt == SPEC_CASE_PROMPT_MAX)
            SPEC_TRY(
                spec_fail(error, GSL_EINVAL, "prompt: more than %d tokens", SPEC_CASE_PROMPT_MAX));
        double token;
        SPEC_TRY(
            spec_settings_list_double(&token, &at, "prompt", text, 0.0, pairs->vocab - 1.0, error));
        if (token != floor(token))
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "prompt: %g is not a token", token));
        pairs->prompt[pairs->n_prompt] = (int)token;
    }
done:
    return status;
}

const char *spec_case_pairs_family(const spec_case_pairs *pairs, int i)
{
    return pairs->family != NULL ? pairs->family : spec_cases_families[i / pairs->cases];
}

int spec_case_pairs_seed(const spec_case_pairs *pairs, int i)
{
    return i % pairs->cases + 1;
}

static int open_side(spec_model **ret_model, const spec_case_pairs *pairs, const char *side, int i,
                     int seed, spec_error *error)
{
    char spec[160];
    snprintf(spec, sizeof spec, "cases?V=%d&order=%d&family=%.40s&seed=%d&side=%s&end=%d",
             pairs->vocab, pairs->order, spec_case_pairs_family(pairs, i), seed, side, pairs->end);
    return spec_model_open(ret_model, spec, NULL, NULL, error);
}

int spec_case_pairs_law(spec_output_law *ret_law, const spec_case_pairs *pairs, const char *rule,
                        int i, int n_tokens, spec_error *error)
{
    spec_decoder_config config = pairs->config;
    spec_model *target = NULL, *draft = NULL, *inner = NULL;
    const int seed = spec_case_pairs_seed(pairs, i);
    int status = GSL_SUCCESS;
    *ret_law = (spec_output_law){0};
    SPEC_PASS(spec_stop_check(pairs->opt_stop, error));
    SPEC_TRY(open_side(&target, pairs, "target", i, seed, error));
    SPEC_TRY(open_side(&draft, pairs, "draft", i, seed, error));
    /* only a cascade uses the inner draft */
    SPEC_TRY(open_side(&inner, pairs, "draft", i, seed + 1, error));
    config.rule = rule;
    config.target = target;
    config.opt_draft = draft;
    config.opt_inner = inner;
    SPEC_TRY(spec_output_law_init(ret_law, &config, pairs->prompt, (size_t)pairs->n_prompt,
                                  n_tokens, pairs->limit, error));
done:
    spec_model_close(inner);
    spec_model_close(draft);
    spec_model_close(target);
    return status;
}
