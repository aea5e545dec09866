/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/observation_counts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const double COUNT_MAX = 0x1p53; /* larger counts are not exact */

__attribute__((format(printf, 3, 4))) static void broken(spec_counts_verdict *v, bool impossible,
                                                         const char *format, ...)
{
    va_list args;
    v->impossible |= impossible;
    if (v->broken) return;
    v->broken = true;
    va_start(args, format);
    vsnprintf(v->text, sizeof v->text, format, args);
    va_end(args);
}

static bool is_whole(double x)
{
    return x == floor(x);
}

/* Checks that counts are NaN or in 0..2^53, and that K and depths are within the arrays. */
static void check_ranges(spec_counts_verdict *v, const spec_observation *o)
{
    const struct {
        const char *name;
        double value;
    } counts[] = {{"rounds", o->rounds},     {"passes", o->passes},   {"drafted", o->drafted},
                  {"accepted", o->accepted}, {"emitted", o->emitted}, {"rounds", o->rounds_low},
                  {"rounds", o->rounds_high}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].value < 0.0 || counts[i].value > COUNT_MAX)
            broken(v, true, "%s is not a count: %g", counts[i].name, counts[i].value);
    if (o->K < -1 || o->K > SPEC_OBSERVED_DEPTHS)
        broken(v, true, "K is outside 0..%d: %d", SPEC_OBSERVED_DEPTHS, o->K);
    if (o->depths < 0 || o->depths > SPEC_OBSERVED_DEPTHS) {
        broken(v, true, "more than %d depths: %d", SPEC_OBSERVED_DEPTHS, o->depths);
        return;
    }
    for (int i = 0; i < o->depths; i++)
        if (!(o->passed[i] >= 0.0 && o->passed[i] <= COUNT_MAX))
            broken(v, true, "passed at depth %d is not a count: %g", i + 1, o->passed[i]);
}

static int draft_length(const spec_observation *o)
{
    if (o->K >= 0) return o->K;
    if (o->depths > 0 && !(o->drafted > o->rounds * o->depths)) return o->depths;
    const double K = o->drafted / o->rounds;
    return o->rounds > 0.0 && K >= 1.0 && K <= SPEC_OBSERVED_DEPTHS && is_whole(K) ? (int)K : -1;
}

/* Fills in what follows from other numbers. Numbers that do not follow stay NaN. */
static void complete(spec_observation *o, bool *ret_inexact)
{
    const bool depths_cover = o->depths > 0 && o->depths >= o->K;
    *ret_inexact = spec_observation_is_rounded(o);
    if (o->K == 0) {
        o->rounds = o->drafted = o->accepted = 0.0;
        if (isnan(o->passes)) o->passes = o->emitted;
        if (isnan(o->emitted)) o->emitted = o->passes;
        return;
    }
    if (isnan(o->accepted) && depths_cover) o->accepted = spec_observation_counts_passed(o);
    if (isnan(o->rounds)) {
        if (isnan(o->passes) && !(o->K > 0 && o->drafted >= 0.0) && o->emitted >= o->accepted)
            o->passes = o->emitted - o->accepted;
        if (o->drafted == 0.0) {
            o->rounds = 0.0;
        } else {
            *ret_inexact = true;
            /* Only the last draft of a request may be shorter. */
            const double rounds = o->drafted / o->K;
            o->rounds =
                o->K > 0 && o->drafted > 0.0
                    ? fmin(o->kind == SPEC_OBSERVED_REQUEST ? ceil(rounds) : rounds, o->passes)
                    : o->passes;
        }
    }
    if (isnan(o->passes)) o->passes = o->rounds;
    if (isnan(o->accepted)) o->accepted = o->drafted == 0.0 ? 0.0 : o->emitted - o->passes;
    if (isnan(o->drafted) && o->K > 0) o->drafted = o->rounds * o->K;
    if (isnan(o->emitted)) o->emitted = o->passes + o->accepted;
}

/* Checks identities between the counts that the source gives. */
static void check_given(spec_counts_verdict *v, const spec_observation *o, int K)
{
    const double passed = spec_observation_counts_passed(o), whole = o->rounds + o->accepted;
    if (K == 0 && o->drafted > 0.0)
        broken(v, true, "drafted tokens with a draft length of 0: %.0f", o->drafted);
    if (spec_observation_is_rounded(o)) return;
    if (o->depths > 0 && o->depths >= K && is_whole(passed) && passed < o->accepted)
        broken(v, false, "passed by depth sums to less than accepted: %.0f, not %.0f", passed,
               o->accepted);
    if (o->rounds > o->drafted)
        broken(v, false, "rounds exceed drafted: %.0f of %.0f", o->rounds, o->drafted);
    if (o->rounds > o->passes)
        broken(v, false, "rounds exceed passes: %.0f of %.0f", o->rounds, o->passes);
    /* The last round of a request may be cut at its end. We check requests only, because requests
     * begin and end within a window. */
    if (o->kind == SPEC_OBSERVED_REQUEST && isnan(o->passes) && is_whole(o->emitted) &&
        (o->emitted > whole + 1.0 || o->emitted < whole - (K > 0 ? K : 0)))
        broken(v, false, "emitted is not rounds + accepted: %.0f, not %.0f + %.0f", o->emitted,
               o->rounds, o->accepted);
}

/* Checks bounds that every run of every engine obeys, on completed counts. Rounded means allow a
 * range of rounds. */
static void check_possible(spec_counts_verdict *v, const spec_observation *o)
{
    const bool exact = !spec_observation_is_rounded(o);
    const double rounds = exact ? o->rounds : fmax(o->rounds, o->rounds_high);
    const double passed = spec_observation_counts_passed(o);
    if (o->accepted > o->drafted)
        broken(v, true, "accepted exceeds drafted: %.0f of %.0f", o->accepted, o->drafted);
    if (o->K > 0 && o->accepted > rounds * o->K * (1.0 + 1e-9))
        broken(v, true, "accepted exceeds K times rounds: %.0f of %d times %.0f", o->accepted, o->K,
               rounds);
    if (o->depths > 0 && o->passed[0] > rounds)
        broken(v, true, "passed at depth 1 exceeds rounds: %.0f of %.0f", o->passed[0], rounds);
    for (int i = 1; i < o->depths; i++)
        if (o->passed[i] > o->passed[i - 1])
            broken(v, true, "passed rises from depth %d to %d: %.0f after %.0f", i, i + 1,
                   o->passed[i], o->passed[i - 1]);
    if (exact && is_whole(passed) && passed > o->accepted)
        broken(v, true, "passed by depth sums to more than accepted: %.0f, not %.0f", passed,
               o->accepted);
}

static bool is_idle(const spec_observation *o)
{
    return !(o->rounds > 0.0 || o->passes > 0.0 || o->drafted > 0.0 || o->accepted > 0.0 ||
             o->emitted > 0.0);
}

double spec_observation_counts_passed(const spec_observation *o)
{
    double sum = 0.0;
    for (int i = 0; i < o->depths; i++) sum += o->passed[i];
    return sum;
}

spec_counts_verdict spec_observation_counts_complete(spec_observation *o)
{
    spec_counts_verdict v = {.broken = false};
    check_ranges(&v, o);
    if (v.broken) return v;
    o->K = draft_length(o);
    const bool idle = is_idle(o);
    check_given(&v, o, o->K);
    complete(o, &v.inexact);
    v.idle = idle || isnan(o->accepted) || o->accepted < 0.0;
    if (!v.idle) check_possible(&v, o);
    return v;
}
