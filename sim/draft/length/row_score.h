/* SPDX-License-Identifier: GPL-3.0-or-later */
/* row_score: the log-odds of a draft row's largest probability, a feature of acceptance.
 * It depends only on the row, not on the token drawn from it, so a policy that stops by this score
 * does not anticipate. */
#ifndef SPECLAB_ROW_SCORE_H
#define SPECLAB_ROW_SCORE_H

#define SPEC_SCORE_MAX 40.0 /* scores are clamped to +-40 */

/* Returns the log-odds of a probability. */
double spec_row_score_of(double probability);

/* Returns the score of a row (V); SPEC_SCORE_MAX for NULL, a token chosen without a model.
 * opt_token receives the most probable token, or -1 for NULL. */
double spec_row_score(int *opt_token, const double *opt_row, int vocab);

#endif
