/* SPDX-License-Identifier: GPL-3.0-or-later */
/* certificate: how close a draft must be to the target for its greedy tokens to be accepted.
 * A certificate is the least KL(target || draft) of all drafts that may be rejected, where ties
 * count as rejected; closer drafts are accepted for certain. Rows (n) that sum to 1; any NaN gives
 * NaN. [Sharma26]; docs/formulas/acceptance.md#certificates. */
#ifndef SPECLAB_CERTIFICATE_H
#define SPECLAB_CERTIFICATE_H

#include <stddef.h>

/* Returns the least KL(target || draft), nats, of the drafts whose most probable token is `token`,
 * alone or with others.
 *
 *     sum over A and token of target(x) log(target(x) / c),
 *     c = the mean of target over A and token,  A = the tokens with target(x) > c
 *         docs/formulas/acceptance.md#certificates
 *
 *   returns 0 if the token is the target's argmax. O(n k) for k tokens in A.
 * A rule that takes the draft's argmax and rejects tokens below a threshold has this certificate at
 * the most probable token that it rejects. Checked by: all drafts of a grid. */
double spec_certificate_token(const double *target, size_t n, size_t token);

/* Returns the least KL(target || draft) of the drafts whose `top` most probable tokens need not
 * contain the target's argmax; top = 1 is greedy decoding.
 *
 *     sum over B and the argmax of target(x) log(target(x) / c),
 *     c = the mean of target over them,  B = those of the next `top` tokens with target(x) < c
 *
 *   top      >= 1
 *   returns a number in [0, log(top + 1)]; inf if n <= top. O(n top) */
double spec_certificate_top(const double *target, size_t n, size_t top);

/* Returns the least spec_certificate_top of all targets whose two most probable tokens differ by
 * `margin`, nats: sharp, and near top margin^2 / 2 for a small margin.
 *
 *     ((1 + top margin) log(1 + top margin) + top (1 - margin) log(1 - margin)) / (top + 1)
 *
 *   margin   in [0,1], else NaN
 * With top = 1 it is also a lower bound of spec_certificate_token, if the token is less probable
 * than the argmax by `margin`. */
double spec_certificate_margin(double margin, size_t top);

/* Returns a lower bound of spec_certificate_top, nats, if the most probable token is ahead of the
 * (top + 1)th by `margin`: near (top + 1) margin^2 / 4 for a small margin.
 *
 *     s spec_certificate_margin(margin / s, 1),   s = (2 + (top - 1) margin) / (top + 1)
 *
 *   margin   in [0,1], else NaN */
double spec_certificate_margin_beyond(double margin, size_t top);

/* Returns the larger of these two bounds of spec_certificate_top; inf if n <= top. O(n top) */
double spec_certificate_margins(const double *target, size_t n, size_t top);

#endif
