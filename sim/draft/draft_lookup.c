/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lookup: prompt lookup [Saxena23]: find the last m tokens earlier in the context and propose the
 * tokens that followed them there. The longest m in max..min that occurs wins; of its occurrences,
 * the earliest (as in the original) or the latest. The original requires that as many tokens follow
 * as are wanted (full=1), and that the two n-grams do not overlap. Here a shorter draft is allowed
 * by default, because it is better than none. */
#include "sim/draft/drafter.h"

#include <stdlib.h>

enum { LOOKUP_MAX = 64 };

typedef struct {
    int max, min; /* n-gram lengths tried, longest first */
    int full;     /* 1: require that as many tokens follow as are wanted */
    int latest;   /* 1: take the latest of several occurrences */
} lookup;

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    static const char *const occurrences[] = {"earliest", "latest", NULL};
    int status = GSL_SUCCESS;
    lookup *keys = drafter->state = calloc(1, sizeof *keys);
    if (keys == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&keys->max, settings, "max", 3, 1, LOOKUP_MAX, error));
    SPEC_TRY(spec_settings_int(&keys->min, settings, "min", 1, 1, keys->max, error));
    SPEC_TRY(spec_settings_int(&keys->full, settings, "full", 0, 0, 1, error));
    SPEC_TRY(spec_settings_choice(&keys->latest, settings, "occurrence", 0, occurrences, error));
done:
    return status;
}

/* Returns the index of the continuation, or n without a match. One pass counts, for each `end`, how
 * many tokens before it equal the last tokens of the context. Of the indices with the largest
 * count, the first is the earliest of the longest matches, the last is the latest. */
static size_t continuation(const lookup *keys, const int *context, size_t n, int wanted)
{
    const size_t last = keys->full && wanted > 0 ? (size_t)wanted : 1; /* tokens that must follow */
    const size_t longest = (size_t)keys->max;
    size_t best = 0, at = n;
    for (size_t end = 1; end + last <= n && (keys->latest || best < longest); end++) {
        size_t m = 0;
        while (m < longest && m < end && context[end - 1 - m] == context[n - 1 - m]) m++;
        if (m > best || (keys->latest && m > 0 && m == best)) {
            best = m;
            at = end;
        }
    }
    return best >= (size_t)keys->min ? at : n;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    (void)chance, (void)error;
    for (size_t i = continuation(drafter->state, context, n, policy->now); i < n; i++) {
        if (!spec_policy_go_on(policy, ret_draft, NULL)) break;
        spec_draft_append(ret_draft, context[i], ret_draft->n_nodes - 1, NULL, false);
    }
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_lookup = {
    .name = "lookup",
    .usage = "lookup?max=3&min=1&full=0&occurrence=earliest",
    .summary = "what followed the last tokens of the context where they occurred before (one-hot, "
               "no model)",
    .reference = "Saxena23",
    .init = init,
    .free = free,
    .draft = draft,
};
