/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/request_kinds.h"

#include "analysis/law.h"
#include "speclab/status.h"

#include <string.h>

static int check(int *ret_longest, const spec_request_kinds *kinds)
{
    double sum = 0.0;
    *ret_longest = 1;
    for (int i = 0; i < kinds->n; i++) {
        const spec_request_kind *kind = &kinds->kind[i];
        if (!(kind->share >= 0.0) || kind->L < 1) return GSL_EDOM;
        /* A request can only end without a round if the prefill emits its first token. */
        if (kind->opt_tail != NULL && !spec_law_is_whole(kind->opt_tail[0])) return GSL_EDOM;
        if (kind->L > *ret_longest) *ret_longest = kind->L;
        sum += kind->share;
    }
    return spec_law_is_whole(sum) ? GSL_SUCCESS : GSL_EDOM;
}

int spec_request_kinds_life(spec_request_life *ret_life, spec_rounds_law *opt_rounds,
                            const spec_request_kinds *kinds, const spec_request_costs *costs)
{
    memset(ret_life, 0, sizeof *ret_life);
    if (opt_rounds != NULL) memset(opt_rounds, 0, sizeof *opt_rounds);
    int status, longest;
    spec_rounds_law rounds = {0};
    const int first = kinds->prefill ? 1 : 0;
    SPEC_TRY(check(&longest, kinds));
    SPEC_TRY(spec_request_life_init(ret_life, longest, kinds->prefill));
    if (opt_rounds != NULL) SPEC_TRY(spec_rounds_law_init(opt_rounds, longest - first));
    for (int i = 0; i < kinds->n; i++) {
        const spec_request_kind *kind = &kinds->kind[i];
        const double *opt_tail = kind->opt_tail != NULL ? kind->opt_tail + first : NULL;
        const int L = kind->L - first;
        spec_rounds_law_free(&rounds);
        SPEC_TRY(spec_rounds_law_init(&rounds, L));
        SPEC_TRY(kinds->opt_round != NULL
                     ? spec_rounds_law_add(&rounds, 1.0, kinds->opt_round, kinds->K + 1,
                                           kinds->stay, opt_tail, L)
                     : spec_rounds_law_add_alpha(&rounds, 1.0, kind->alpha, kinds->K, kinds->stay,
                                                 opt_tail, L));
        SPEC_TRY(spec_request_life_add(ret_life, kind->share, costs, &rounds, kind->prompt,
                                       kind->prompt_square));
        for (int j = 0; opt_rounds != NULL && j < L; j++) {
            opt_rounds->longer[j] += kind->share * rounds.longer[j];
            opt_rounds->tokens[j] += kind->share * rounds.tokens[j];
            opt_rounds->tokens2[j] += kind->share * rounds.tokens2[j];
        }
    }
done:
    spec_rounds_law_free(&rounds);
    if (status != GSL_SUCCESS) {
        spec_request_life_free(ret_life);
        if (opt_rounds != NULL) spec_rounds_law_free(opt_rounds);
    }
    return status;
}
