/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/idle_steps.h"

#include "analysis/capped_geometric.h"
#include "speclab/status.h"

#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* If a product of chances is below this, we say that the engine is never idle, or never without a
 * decoding request. */
#define NEVER 1e-9
enum { TERMS_MAX = 24 };

/* Requests of one kind that go on after s tokens of rounds, times P(they go on). If rounds may
 * repeat, there is a row for each number of tokens in the last round: row i for i tokens. Row 0 is
 * for the first round, or for any if rounds do not repeat. */
typedef struct {
    int L;              /* the most tokens that the rounds of a request emit */
    double round;       /* a round adds round + context s seconds */
    double *law;        /* (m) of tokens per round */
    double *tail;       /* (L + m) P(tokens of rounds > s), 0 from L on */
    double *ends;       /* (L) chance to go on after s tokens and to end with the next round */
    double *now, *next; /* (rows, L + m) */
} members;

typedef struct {
    const spec_request_kinds *kinds;
    const spec_affine_step *cost;
    double rate;
    double base[2]; /* time of a step in which requests decode, and of a step with only prefills */
    int m, rows, longest;
    double *weight;  /* (longest) exp(x kv s) for a step */
    members *member; /* (n) */
} load;

static void load_free(load *l)
{
    free(l->weight);
    if (l->member == NULL) return;
    for (int i = 0; i < l->kinds->n; i++) free(l->member[i].law);
    free(l->member);
}

static int members_init(members *a, const load *l, const spec_request_kind *kind)
{
    const int first = l->kinds->prefill ? 1 : 0, m = l->m;
    const spec_request_costs costs = spec_request_costs_shared(l->cost, l->kinds->K);
    a->L = kind->L - first;
    a->round = costs.round + costs.context * kind->prompt;
    const size_t width = (size_t)a->L + (size_t)m;
    a->law = calloc((size_t)m + width * (2 + 2 * (size_t)l->rows), sizeof *a->law);
    if (a->law == NULL) return GSL_ENOMEM;
    a->tail = a->law + m;
    a->ends = a->tail + width;
    a->now = a->ends + width;
    a->next = a->now + width * (size_t)l->rows;
    for (int i = 0; i < m; i++)
        a->law[i] = l->kinds->opt_round != NULL
                        ? l->kinds->opt_round[i]
                        : spec_capped_geometric_probability(kind->alpha, m - 1, i);
    for (int s = 0; s < a->L; s++)
        a->tail[s] = kind->opt_tail != NULL ? kind->opt_tail[s + first] : 1.0;
    for (int s = 0; s < a->L; s++)
        for (int i = 1; i <= m; i++) a->ends[s] += a->law[i - 1] * (a->tail[s] - a->tail[s + i]);
    return GSL_SUCCESS;
}

/* Moves from n - 1 remaining steps to n; x = rate (phi - 1) for a request that begins after
 * them. */
static void members_advance(members *a, const load *l, double x)
{
    const size_t width = (size_t)a->L + (size_t)l->m;
    const double stay = l->kinds->stay, round = exp(x * a->round);
    const double *now = a->now;
    memcpy(a->next, a->ends, (size_t)a->L * sizeof *a->next);
    for (int i = 1; i <= l->m; i++) {
        const double *later = now + (l->rows > 1 ? width * (size_t)i : 0) + i;
        for (int s = 0; s < a->L; s++) a->next[s] += a->law[i - 1] * later[s];
    }
    for (int i = 1; i < l->rows; i++) {
        const double *row = now + width * (size_t)i + i;
        double *next = a->next + width * (size_t)i;
        for (int s = 0; s < a->L; s++)
            next[s] = (1.0 - stay) * a->next[s] + stay * (a->tail[s] - a->tail[s + i] + row[s]);
    }
    for (int i = 0; i < l->rows; i++) {
        double *next = a->next + width * (size_t)i;
        for (int s = 0; s < a->L; s++) next[s] *= round * l->weight[s];
    }
    double *swap = a->now;
    a->now = a->next;
    a->next = swap;
}

/* Returns E[exp(x token prompt)], x <= 0, if all prompts have the same length, or else for a gamma
 * distribution with the same two moments. */
static double prefill_factor(const spec_request_kind *kind, double x)
{
    const double mean = kind->prompt, variance = kind->prompt_square - mean * mean;
    if (variance <= 1e-9 * mean * mean) return exp(x * mean);
    return exp(-mean * mean / variance * log1p(-x * variance / mean));
}

/* Computes phi_n from phi_(n-1). phi_n is E[u^f] over families in their step n, where f is the
 * number of requests in their prefill. Families in which a request decodes contribute 0. */
static double advance(load *l, double phi)
{
    const double x = l->rate * (phi - 1.0);
    const double factor = exp(x * l->cost->kv);
    double next = 0.0, weight = 1.0;
    for (int s = 0; s < l->longest; s++, weight *= factor) l->weight[s] = weight;
    for (int i = 0; i < l->kinds->n; i++) {
        const spec_request_kind *kind = &l->kinds->kind[i];
        members *a = &l->member[i];
        const double tail = a->L > 0 ? a->tail[0] : 0.0, before = a->L > 0 ? a->now[0] : 0.0;
        members_advance(a, l, x);
        next += kind->share * (l->kinds->prefill ? prefill_factor(kind, x * l->cost->token) *
                                                       (1.0 - tail + before)
                                                 : a->now[0]);
    }
    return next;
}

/* Computes u T_k(2u - 1) for k < terms, where T_k are Chebyshev's polynomials. */
static void basis(double *value, double u, int terms)
{
    const double x = 2.0 * u - 1.0;
    double a = 1.0, b = x;
    for (int k = 0; k < terms; k++) {
        value[k] = u * a;
        const double c = 2.0 * x * b - a;
        a = b;
        b = c;
    }
}

/* The equation for G0 at u: G0(u) = ret_none + sum_k row[k] c_k + row[terms] idle, for G0(u) =
 * sum_k c_k u T_k(2u - 1). */
static int equation(double *row, double *ret_none, load *l, double u, int terms)
{
    for (int i = 0; i < l->kinds->n; i++) {
        members *a = &l->member[i];
        memset(a->now, 0, ((size_t)a->L + (size_t)l->m) * (size_t)l->rows * sizeof *a->now);
    }
    memset(row, 0, ((size_t)terms + 1) * sizeof *row);
    double product = 1.0, phi = l->kinds->prefill ? u : 0.0, value[TERMS_MAX];
    /* the gap one life ago, and 1 minus the ratio by which it shrinks per step */
    double before = 1.0, falls = 0.0;
    for (int n = 1; product >= NEVER; n++) {
        const double gap = 1.0 - phi, next = advance(l, phi);
        double later = 1.0; /* the weight of this step and all later ones, in units of this step */
        bool last = n > 1 && gap < 1e-13;
        if (n % l->longest == 0) {
            const double now = -expm1(log(gap / before) / l->longest);
            if (gap < 1e-5 && now > 0.0 && fabs(now - falls) < 1e-6 * now) last = true;
            if (last && gap > 0.0 && now > 0.0) later = 1.0 / now;
            before = gap;
            falls = now;
        }
        if (terms > 0) {
            basis(value, next, terms);
            const double drafts = exp(-l->rate * l->base[0] * gap),
                         none = exp(-l->rate * l->base[1] * gap);
            for (int k = 0; k < terms; k++) row[k] += product * (none - drafts) * later * value[k];
        }
        row[terms] -= product * gap * later;
        product *= exp(-l->rate * l->base[0] * gap * later);
        if (last) break;
        if (n > 1 << 24) return GSL_EMAXITER;
        phi = next;
    }
    *ret_none = product;
    return GSL_SUCCESS;
}

/* Solves one linear system for the coefficients of G0 and for idle. Needed if a drafting step has a
 * cost of its own. */
static int solve(spec_idle_steps *ret, load *l, int terms)
{
    double matrix[(TERMS_MAX + 1) * (TERMS_MAX + 1)], right[TERMS_MAX + 1], x[TERMS_MAX + 1];
    const int size = terms + 1;
    int status;
    for (int i = 0; i < size; i++) {
        double *row = matrix + (size_t)i * (size_t)size, value[TERMS_MAX];
        const double u = i < terms ? 0.5 * (1.0 + cos(M_PI * i / terms)) : 0.0;
        SPEC_TRY(equation(row, &right[i], l, u, terms));
        /* The first equation is for u = 1, where the product is largest. */
        if (i == 0 && right[0] < NEVER) return GSL_SUCCESS;
        basis(value, u, terms);
        for (int k = 0; k < size; k++) row[k] = (k < terms ? value[k] : 0.0) - row[k];
    }
    gsl_matrix_view A = gsl_matrix_view_array(matrix, (size_t)size, (size_t)size);
    gsl_vector_view b = gsl_vector_view_array(right, (size_t)size);
    gsl_vector_view c = gsl_vector_view_array(x, (size_t)size);
    /* Without memory gsl_linalg_LU_decomp would crash; this fails. */
    SPEC_TRY(gsl_linalg_HH_solve(&A.matrix, &b.vector, &c.vector));
    for (int k = 0; k < terms; k++) {
        ret->undrafted += x[k];
        ret->newcomers += (1.0 + 2.0 * k * k) * x[k];
    }
    ret->idle = x[terms];
done:
    return status;
}

/* Returns how many terms are needed to follow the chances of 0, 1, 2, ... arrivals in a step to
 * about 1e-10, given their mean. */
static int terms_for(double arrivals)
{
    return arrivals < 0.05  ? 4
           : arrivals < 0.3 ? 6
           : arrivals < 1.0 ? 8
           : arrivals < 5.0 ? 14
                            : TERMS_MAX;
}

int spec_idle_steps_solve(spec_idle_steps *ret, const spec_request_kinds *kinds,
                          const spec_affine_step *cost, double rate)
{
    *ret = (spec_idle_steps){0};
    const int K = kinds->K;
    int status;
    spec_request_life life = {0};
    load l = {.kinds = kinds, .cost = cost, .rate = rate, .m = K + 1};
    const spec_request_costs costs = spec_request_costs_shared(cost, K);
    SPEC_TRY(spec_request_kinds_life(&life, NULL, kinds, &costs));
    const double extra = spec_request_life_total(&life);
    if (!(rate > 0.0 && rate * extra < 1.0)) SPEC_TRY(GSL_EDOM);

    const double draft = K > 0 ? cost->draft_round + cost->draft_pass * K : 0.0;
    l.base[0] = cost->step + draft;
    l.base[1] = kinds->prefill ? cost->step : l.base[0];
    l.rows = kinds->stay > 0.0 ? l.m + 1 : 1;
    l.longest = life.n;
    l.member = calloc((size_t)kinds->n, sizeof *l.member);
    l.weight = calloc((size_t)life.n, sizeof *l.weight);
    if (l.member == NULL || l.weight == NULL) SPEC_TRY(GSL_ENOMEM);
    for (int i = 0; i < kinds->n; i++) SPEC_TRY(members_init(&l.member[i], &l, &kinds->kind[i]));
    if (l.base[0] > l.base[1]) {
        const double step = l.base[0] + life.added[0];
        SPEC_TRY(solve(ret, &l, terms_for(rate * step)));
    } else {
        double row[1], none;
        SPEC_TRY(equation(row, &none, &l, 0.0, 0));
        if (none >= NEVER) ret->idle = -none / row[0];
    }
done:
    load_free(&l);
    spec_request_life_free(&life);
    if (status != GSL_SUCCESS) *ret = (spec_idle_steps){0};
    return status;
}
