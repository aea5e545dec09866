/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/length/row_score.h"

#include "models/row.h"

#include <math.h>
#include <stddef.h>

double spec_row_score_of(double probability)
{
    const double odds = log(probability) - log1p(-probability); /* inf at 1 */
    return fmax(-SPEC_SCORE_MAX, fmin(SPEC_SCORE_MAX, odds));
}

double spec_row_score(int *opt_token, const double *opt_row, int vocab)
{
    const int token = opt_row != NULL ? spec_row_argmax(opt_row, vocab) : -1;
    if (opt_token != NULL) *opt_token = token;
    return token < 0 ? SPEC_SCORE_MAX : spec_row_score_of(opt_row[token]);
}
