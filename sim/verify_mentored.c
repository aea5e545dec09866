/* mentored: mentored decoding [TranThien23]: accept as much as a divergence of `budget` nats a token allows;
 * docs/formulas.md#mentored. What comes out is the draft's row pulled into target/b .. target/a. About 200 passes over
 * a pair of rows a token that the draft likes better. */
#include "sim/verify.h"

#include <assert.h>
#include <math.h>

enum { BISECTIONS = 50 };

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_double(&rule->budget, settings, "budget", 0.1, 0.0, 1000.0, error);
}

/* The two rows at one place; opt_law NULL: the draft is one-hot at `token`. */
typedef struct {
    const double *target, *opt_law;
    int token, vocab;
} place;

static double drafted(const place *at, int i)
{
    return at->opt_law != NULL ? at->opt_law[i] : i == at->token ? 1.0 : 0.0;
}

/* 1/b: the scale at which the target stands out of the draft by the mass that acceptance with target/(a draft) rejects.
 * The mass is convex and piecewise linear in the scale, so Newton's method from above ends after as many steps as there
 * are kinks on the way. */
static double residual_scale(const place *at, double a)
{
    double rejected = 0.0, scale = 1.0;
    for (int i = 0; i < at->vocab; i++) rejected += fmax(drafted(at, i) - at->target[i] / a, 0.0);
    for (int active, before = at->vocab + 1;; before = active) {
        double draft = 0.0, target = 0.0;
        active = 0;
        for (int i = 0; i < at->vocab; i++) {
            if (!(scale * at->target[i] > drafted(at, i))) continue;
            draft += drafted(at, i);
            target += at->target[i];
            active++;
        }
        if (active == 0 || active >= before) return scale;
        scale = fmin((rejected + draft) / target, scale);
    }
}

/* KL(target || what comes out), infinite where a token that the target has does not come at all. */
static double divergence(const place *at, double a, double scale)
{
    double sum = 0.0;
    for (int i = 0; i < at->vocab; i++) {
        const double target = at->target[i], draft = drafted(at, i);
        if (target > 0.0)
            sum += target * log(scale * target > draft ? 1.0 / scale : draft > target / a ? a : target / draft);
    }
    return sum;
}

/* The smallest a whose divergence is within the budget, and its 1/b. At a = 1 both rows agree with the target, and none
 * is lost. */
static void solve(double *ret_a, double *ret_scale, const place *at, double budget)
{
    double low = 0.0;
    *ret_a = *ret_scale = 1.0;
    for (int i = 0; i < BISECTIONS && budget > 0.0; i++) {
        const double a = (low + *ret_a) / 2.0, scale = residual_scale(at, a);
        if (divergence(at, a, scale) <= budget) {
            *ret_a = a;
            *ret_scale = scale;
        } else {
            low = a;
        }
    }
}

static int correct(const place *at, double scale, double *weight, spec_chance *chance)
{
    double mass = 0.0;
    for (int i = 0; i < at->vocab; i++) {
        weight[i] = fmax(scale * at->target[i] - drafted(at, i), 0.0);
        mass += weight[i];
    }
    return spec_chance_pick(chance, mass > 0.0 ? weight : at->target, at->vocab);
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft, const double *const *target,
                   double *weight, spec_chance *chance)
{
    int last = -1; /* the last accepted node */
    spec_verify_begin(ret_round, draft);
    for (int node; (node = spec_verify_child(draft, last, last + 1)) >= 0; last = node) {
        const place at = {target[last + 1], spec_draft_law(draft, node), draft->token[node], draft->vocab};
        const double wanted = at.target[at.token], had = drafted(&at, at.token);
        double a = 1.0, scale = 1.0;
        assert(had > 0.0); /* else it was not drawn from that law */
        if (wanted < had) solve(&a, &scale, &at, rule->budget);
        if (!spec_chance_accept(chance, wanted, a * had)) {
            spec_verify_end(ret_round, correct(&at, scale, weight, chance));
            return;
        }
        spec_verify_accept(ret_round, draft, node);
    }
    spec_verify_end(ret_round, spec_verify_sample(target[last + 1], draft->vocab, chance));
}

const spec_rule spec_verify_mentored = {
    .name = "mentored",
    .usage = "mentored?budget=0.1",
    .summary = "LOSSY on purpose: accept the most that KL(target, output) <= budget nats a token allows",
    .reference = "TranThien23",
    .claim = SPEC_LOSSY,
    .init = init,
    .verify = verify,
};
