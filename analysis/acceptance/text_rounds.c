/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/text_rounds.h"

void spec_text_rounds_add(spec_text_rounds *sum, double *opt_came, double *opt_passed,
                          double *reach, const spec_text_rounds_draft *draft, int K)
{
    const size_t n = draft->n;
    for (size_t t = 0; t < n; t++) reach[t] = t == 0 ? 1.0 : 0.0;
    for (size_t t = 0; t < n; t++) {
        const int *limit = draft->opt_limit;
        const size_t most = (size_t)(limit != NULL && limit[t] < K ? limit[t] : K);
        /* the chance that a round begins here and accepts all tokens before token i */
        double here = reach[t];
        sum->rounds += here;
        sum->emitted += here;
        for (size_t i = 0; i < most; i++) {
            const size_t at = t * draft->stride + i;
            const double stops = here * (1.0 - draft->ratio[at]);
            sum->emitted += here * draft->going[at];
            if (opt_came != NULL) {
                opt_came[i] += here;
                opt_passed[i] += here * draft->overlap[at];
            }
            if (t + i + 1 < n) reach[t + i + 1] += stops;
            here *= draft->ratio[at];
        }
        if (t + most + 1 < n) reach[t + most + 1] += here;
    }
}
