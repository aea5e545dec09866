/* lookup: prompt lookup [Saxena23]: find the last m tokens earlier in the context and propose what followed them there.
 * The longest m in max..min that occurs wins, and of its occurrences the earliest, as in the original. The original
 * takes only occurrences that are followed by as many tokens as it wants (full=1), and in which the two n-grams do not
 * overlap; here the tokens up to the end of the context will do, because a short draft is better than none. */
#include "sim/draft/drafter.h"

enum { LOOKUP_MAX = 64 };

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int full = 0;
    int status = spec_settings_int(&drafter->lookup_max, settings, "max", 3, 1, LOOKUP_MAX, error);
    if (status == GSL_SUCCESS)
        status = spec_settings_int(&drafter->lookup_min, settings, "min", 1, 1, drafter->lookup_max, error);
    if (status == GSL_SUCCESS) status = spec_settings_int(&full, settings, "full", 0, 0, 1, error);
    drafter->lookup_full = full == 1;
    return status;
}

/* Where the continuation begins, or n where nothing matches. One pass: for each place `end` it counts how many tokens
 * before it are the last tokens of the context, so the first place with the most is the earliest of the longest. */
static size_t continuation(const spec_drafter *drafter, const int *context, size_t n, int wanted)
{
    const size_t last = drafter->lookup_full && wanted > 0 ? (size_t)wanted : 1; /* tokens that must follow */
    const size_t longest = (size_t)drafter->lookup_max;
    size_t best = 0, at = n;
    for (size_t end = 1; end + last <= n && best < longest; end++) {
        size_t m = 0;
        while (m < longest && m < end && context[end - 1 - m] == context[n - 1 - m]) m++;
        if (m > best) {
            best = m;
            at = end;
        }
    }
    return best >= (size_t)drafter->lookup_min ? at : n;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n, const spec_policy *policy,
                 spec_chance *chance, spec_error *error)
{
    (void)chance, (void)error;
    for (size_t i = continuation(drafter, context, n, policy->now); i < n; i++) {
        if (!spec_policy_go_on(policy, ret_draft, NULL)) break;
        spec_draft_append(ret_draft, context[i], ret_draft->n_nodes - 1, NULL, false);
    }
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_lookup = {
    .name = "lookup",
    .usage = "lookup?max=3&min=1&full=0",
    .summary = "what followed the context's last tokens when they came before (one-hot, no model)",
    .reference = "Saxena23",
    .init = init,
    .draft = draft,
};
