#include "conformance/evidence/nearest.h"

#include "conformance/mutants/mutants_run.h"

#include <math.h>

enum { HINTS = 3, VOCAB_MOST = 1024, DRAWS_LEAST = 16000, DRAWS_MOST = 64000 };

/* Share of the difference that a near mistake may leave unexplained; by how many standard deviations of chance the
 * difference must show at all. */
static const double unexplained = 0.1, showing = 5.0;

/* Twice the logarithm of the likelihood that is lost by taking a law for the best one, and what chance alone would
 * lose, in the mean. */
typedef struct {
    double lost, chance;
} deviance;

/* Of the counts after a state: against the law of opt_other's, smoothed by one draw of the promised law, or against the
 * promised law itself. */
static void add_state(deviance *d, const spec_evidence *seen, const spec_evidence *opt_other, const spec_fixture *f,
                      int state)
{
    const double *law = f->target_law + (size_t)state * (size_t)f->vocab, n = (double)spec_evidence_visits(seen, state);
    const double m = opt_other != NULL ? (double)spec_evidence_visits(opt_other, state) : 0.0;
    if (n == 0.0 || (opt_other != NULL && m == 0.0)) return;
    d->chance -= 1.0 + (m > 0.0 ? n / m : 0.0);
    for (int i = 0; i < f->vocab; i++) {
        const double count = (double)spec_evidence_count(seen, state, i);
        const double other = m > 0.0 ? ((double)spec_evidence_count(opt_other, state, i) + law[i]) / (m + 1.0) : law[i];
        if (count > 0.0) d->lost += 2.0 * count * log(count / n / fmax(other, 1e-9));
        if (law[i] > 0.0) d->chance += 1.0 + (m > 0.0 ? n / m : 0.0);
    }
}

/* What tests count, as far as it is a share of events: their excess over what was expected, which varies. */
static void add_finding(deviance *d, const spec_finding *seen, const spec_finding *opt_other)
{
    const double chance = seen->expected, more = seen->seen - chance;
    const double other = opt_other != NULL ? opt_other->seen - opt_other->expected : 0.0;
    if (!(chance > 0.0 && chance < 1.0 && seen->n > 0.0) || !isfinite(other)) return;
    d->lost += seen->n * (more - other) * (more - other) / (chance * (1.0 - chance));
    d->chance += 1.0 + (opt_other != NULL ? seen->n / opt_other->n : 0.0);
}

static deviance deviance_from(const spec_evidence *seen, const spec_evidence *opt_other, const spec_fixture *f)
{
    deviance d = {0.0, 0.0};
    spec_finding mine[SPEC_TESTS_MAX], others[SPEC_TESTS_MAX];
    const int n = spec_evidence_findings(mine, seen);
    if (opt_other != NULL) (void)spec_evidence_findings(others, opt_other); /* the same tests */
    for (int state = 0; state < f->n_states; state++) add_state(&d, seen, opt_other, f, state);
    for (int k = 0; k < n; k++) add_finding(&d, &mine[k], opt_other != NULL ? &others[k] : NULL);
    return d;
}

static double excess(const deviance *d)
{
    return d->lost - d->chance;
}

/* Less what chance may do, and never more than a half. */
static bool is_near(const deviance *d, const deviance *promised)
{
    const double left = excess(d), all = excess(promised);
    return left <= 0.5 * all && left - 2.0 * sqrt(2.0 * d->chance) <= unexplained * all;
}

static spec_hard hard_of(const spec_evidence *e)
{
    const spec_exhibit *exhibit = spec_evidence_hard(e);
    return exhibit != NULL ? exhibit->hard : SPEC_HARD_NONE;
}

/* Insert in the order of likelihood; the last of four falls off. */
static int insert(spec_hint *hint, int n, const spec_hint *one)
{
    int at = n;
    while (at > 0 && hint[at - 1].log_likelihood < one->log_likelihood) at--;
    if (at == HINTS) return n;
    for (int k = n < HINTS ? n : HINTS - 1; k > at; k--) hint[k] = hint[k - 1];
    hint[at] = *one;
    return n < HINTS ? n + 1 : n;
}

static bool is_candidate(const spec_mutant *mutant, const spec_fixture *fixture, uint32_t scope)
{
    const bool mistake = mutant->kind == SPEC_MUTANT_WRONG || mutant->kind == SPEC_MUTANT_HARD ||
                         mutant->kind == SPEC_MUTANT_LOSSY;
    return mistake && (mutant->scope == scope || mutant->everywhere) && (fixture->chain || !mutant->chains_only);
}

int spec_nearest(spec_hint ret_hint[3], int *ret_n, const spec_evidence *seen, const spec_fixture *fixture,
                 uint32_t scope, uint64_t seed, spec_error *error)
{
    const spec_hard hard = hard_of(seen);
    const deviance promised = deviance_from(seen, NULL, fixture);
    const double tokens = (double)spec_evidence_tokens(seen);
    const uint64_t draws = (uint64_t)fmax(DRAWS_LEAST, fmin(DRAWS_MOST, 4.0 * tokens));
    spec_evidence *other = NULL;
    const spec_mutant *mutant;
    int status = GSL_SUCCESS;
    *ret_n = 0;
    if (fixture->vocab > VOCAB_MOST) return status;
    if (hard == SPEC_HARD_NONE && excess(&promised) < showing * sqrt(2.0 * promised.chance)) return status;
    for (int i = 0; (mutant = spec_mutants_at(i)) != NULL; i++) {
        if (!is_candidate(mutant, fixture, scope)) continue;
        SPEC_TRY(spec_evidence_init(&other, fixture, scope, error));
        SPEC_TRY(spec_mutants_run(other, mutant, fixture, scope, draws, seed, error));
        const deviance d = deviance_from(seen, other, fixture);
        if (hard_of(other) == hard && (hard != SPEC_HARD_NONE || is_near(&d, &promised))) {
            const spec_hint one = {mutant->name, mutant->where, -0.5 * excess(&d) / fmax(tokens, 1.0)};
            *ret_n = insert(ret_hint, *ret_n, &one);
        }
        spec_evidence_free(other);
        other = NULL;
    }
    for (int k = *ret_n; k-- > 0;) ret_hint[k].log_likelihood -= ret_hint[0].log_likelihood;
done:
    spec_evidence_free(other);
    return status;
}
