/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/branching.h"

#include "speclab/status.h"

#include <gsl/gsl_minmax.h>
#include <math.h>
#include <stdlib.h>

/* Three sums over the requests of a step. We also compute them over a family, in each of its
 * steps. */
enum { NEW, ALL, TIME, SUMS }; /* requests in their first step; all requests; the time they add */

typedef struct {
    int n;              /* steps of the longest life */
    int steps;          /* the family's steps that the sums below cover; each array has n more */
    double ratio;       /* ratio of the means of two successive late steps */
    double *mean[SUMS]; /* (steps + n) of a family, by step */
    double *spread;     /* (steps + n) workspace */
    double *both[SUMS]; /* (n) sums over k of e_(k-d) times the sum's value at k, for lag d >= 1 */
} family;

/* Returns how many steps of a life matter. */
static int length_of(const spec_request_life *life)
{
    int n = life->n;
    while (n > 1 && life->alive[n - 1] < 1e-15) n--;
    return n;
}

static double value(const double *at_0, const double *level, const double *rise, int i, int j)
{
    return i == 0 ? at_0[j] : level[j] + i * rise[j];
}

static void pairs(family *f, const spec_request_life *life)
{
    for (int d = 1; d < f->n; d++) {
        double all = 0.0, time = 0.0;
        for (int j = d; j < f->n; j++) {
            all += value(life->early, life->level, life->rise, j - d, j);
            time += value(life->first, life->pair, life->slope, j - d, j);
        }
        f->both[ALL][d] = all;
        f->both[TIME][d] = time;
    }
}

/* Computes the means of a family's sums in steps from..to-1. Children of step k begin in step k +
 * 1. */
static void means(family *f, const spec_request_life *life, double rate, int from, int to)
{
    for (int k = from; k < to; k++) {
        const int reach = GSL_MIN(k, f->n - 1);
        const double *born = f->mean[NEW] + k;
        double all = 0.0, time = 0.0;
        f->mean[NEW][k] = k == 0 ? 1.0 : rate * f->mean[TIME][k - 1];
        for (int j = 0; j <= reach; j++) {
            all += life->alive[j] * born[-j];
            time += life->added[j] * born[-j];
        }
        f->mean[ALL][k] = all;
        f->mean[TIME][k] = time;
    }
}

static int family_grow(family *f, int steps)
{
    const size_t size = (size_t)steps + (size_t)f->n;
    double **arrays[] = {&f->mean[NEW], &f->mean[ALL], &f->mean[TIME], &f->spread};
    for (int i = 0; i < 4; i++) {
        double *grown = realloc(*arrays[i], size * sizeof *grown);
        if (grown == NULL) return GSL_ENOMEM;
        *arrays[i] = grown;
    }
    f->steps = steps;
    return GSL_SUCCESS;
}

/* Extends the means until the remaining ones are negligible or decrease by a constant ratio. We
 * know their total, so we know the remainder too. */
static int family_run(family *f, const spec_request_life *life, double rate, double load)
{
    const double total = 1.0 / (1.0 - load);
    double rest = total, before = 0.0;
    int done = 0, status;
    for (int steps = 2 * f->n;; steps *= 2) {
        SPEC_TRY(family_grow(f, steps));
        means(f, life, rate, done > 0 ? done + f->n : 0, steps + f->n);
        for (; done < steps; done++) rest -= f->mean[NEW][done];
        if (rest < 1e-13 * total) {
            f->ratio = 0.0;
            return GSL_SUCCESS;
        }
        f->ratio = 1.0 - f->mean[NEW][steps] / rest;
        const double share = rest / total, drift = (1.0 - before) / (1.0 - f->ratio) - 1.0;
        if (fabs(drift) * share * share < 1e-12 && f->ratio < 1.0) return GSL_SUCCESS;
        before = f->ratio;
        if (steps > 1 << 24) return GSL_EMAXITER;
    }
done:
    return status;
}

/* Returns sum_k x[k] y[k]; beyond the arrays, each term is ratio^2 times the one before. */
static double dot(const family *f, const double *x, const double *y)
{
    double sum = x[f->steps] * y[f->steps] / (1.0 - f->ratio * f->ratio);
    for (int k = f->steps; k-- > 0;) sum += x[k] * y[k];
    return sum;
}

/* Returns sum_k x[k] y[k + 1]; y ends at f->steps, so beyond it terms are extrapolated. */
static double dot_with_next(const family *f, const double *x, const double *y)
{
    double sum = x[f->steps] * y[f->steps] * f->ratio / (1.0 - f->ratio * f->ratio);
    for (int k = f->steps; k-- > 0;) sum += x[k] * y[k + 1];
    return sum;
}

/* Computes spread[k] = sum_(i,j) E[e_i e_j] y[k + i - j]. */
static void spread(family *f, double square, const double *y)
{
    for (int k = 0; k <= f->steps; k++) {
        double sum = square * y[k];
        const int back = GSL_MIN(k, f->n - 1);
        for (int d = 1; d < f->n; d++) sum += f->both[TIME][d] * y[k + d];
        for (int d = 1; d <= back; d++) sum += f->both[TIME][d] * y[k - d];
        f->spread[k] = sum;
    }
}

/* Computes Q[x][y] = sum_k E[x y] for a family's sums x and y in its step k. Given the life of the
 * first request, the families of its children are independent, so
 *
 *     (1 - load) Q = sum_k E[E[x | life] E[y | life]] */
static void family_squares(double Q[SUMS][SUMS], family *f, const spec_request_life *life,
                           double rate, double load)
{
    double own[SUMS][SUMS] = {{1.0, 1.0, life->added[0]}}, square = 0.0;
    for (int j = f->n; j-- > 0;) {
        own[ALL][ALL] += life->alive[j];
        own[ALL][TIME] += life->added[j];
        square += life->square[j];
    }
    own[TIME][TIME] = square;
    for (int y = 0; y < SUMS; y++) {
        spread(f, square, f->mean[y]);
        for (int x = 0; x <= y; x++) {
            double mixed = 0.0;
            for (int d = 1; d < f->n; d++)
                mixed += f->both[x][d] * f->mean[y][d - 1] + f->both[y][d] * f->mean[x][d - 1];
            Q[x][y] = Q[y][x] =
                (own[x][y] + rate * mixed + rate * rate * dot(f, f->mean[x], f->spread)) /
                (1.0 - load);
        }
    }
}

/* Moments of the sums in a step. */
typedef struct {
    double mean[SUMS], covariance[SUMS][SUMS];
} moments;

/* On average `begins` families begin per step. Given the state, their number is Poisson, plus one
 * after an idle period. The Poisson mean is rate * base, but rate * undrafted after a step with
 * only prefills. */
static void family_sums(moments *m, family *f, double Q[SUMS][SUMS], const double total[SUMS],
                        const double poisson[2], const spec_idle_steps *steps)
{
    const double excess = poisson[0] - poisson[1];
    const double begins = poisson[0] - excess * steps->undrafted + steps->idle;
    const double same =
        poisson[0] * (begins - poisson[0]) + steps->undrafted * excess * (poisson[0] + poisson[1]);
    for (int x = 0; x < SUMS; x++) m->mean[x] = begins * total[x];
    for (int y = 0; y < SUMS; y++)
        for (int x = 0; x <= y; x++) {
            const double *X = f->mean[x], *Y = f->mean[y];
            double c = begins * Q[x][y] - begins * (begins - poisson[0]) * total[x] * total[y] -
                       same * dot(f, X, Y);
            if (excess > 0.0)
                c -= excess * steps->newcomers * (dot_with_next(f, X, Y) + dot_with_next(f, Y, X));
            m->covariance[x][y] = m->covariance[y][x] = c;
        }
}

static void nothing(spec_branching *ret)
{
    *ret = (spec_branching){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
}

/* Computes times and batch from the moments. Steps with only prefills are shorter by `excess`. */
static void results(spec_branching *ret, const moments *m, const spec_request_life *life,
                    double rate, const double base[2], const spec_idle_steps *steps)
{
    const double excess = base[0] - base[1], q = steps->undrafted, alone = steps->newcomers;
    const double time = m->mean[TIME];
    ret->step = base[0] - excess * q + time;
    ret->step2 = base[0] * base[0] + 2.0 * base[0] * time + time * time +
                 m->covariance[TIME][TIME] - (base[0] + base[1]) * excess * q -
                 2.0 * excess * life->added[0] * alone;
    double with_time[SUMS]; /* E[x step] */
    for (int x = NEW; x <= ALL; x++)
        with_time[x] = m->mean[x] * (base[0] + time) + m->covariance[x][TIME] - excess * alone;

    const double arrivals = rate * ret->step + steps->idle; /* per step */
    const double waiting = 0.5 * rate * ret->step2;         /* s, total for the requests that arrive
                                                             * in a step */
    ret->batch = m->mean[ALL];
    ret->batch_variance = m->covariance[ALL][ALL];
    if (life->prefill) {
        ret->batch -= m->mean[NEW];
        ret->batch_variance += m->covariance[NEW][NEW] - 2.0 * m->covariance[NEW][ALL];
    }
    ret->prefills = m->mean[NEW];
    ret->wait = waiting / arrivals;
    ret->first_token = (waiting + with_time[NEW]) / arrivals;
    ret->latency = (waiting + with_time[ALL]) / arrivals;
    ret->busy = ret->step / (ret->step + steps->idle / rate);
}

int spec_branching_of_life(spec_branching *ret, const spec_request_life *life, double rate,
                           double base, double undrafted, const spec_idle_steps *steps)
{
    nothing(ret);
    const double load = rate * spec_request_life_total(life);
    if (!(rate > 0.0 && base >= undrafted && undrafted >= 0.0 && load < 1.0)) return GSL_EDOM;
    int status;
    family f = {.n = length_of(life)};
    double *both = calloc((size_t)f.n * SUMS, sizeof *both);
    if (both == NULL) return GSL_ENOMEM;
    for (int x = 0; x < SUMS; x++) f.both[x] = both + (size_t)x * (size_t)f.n;
    pairs(&f, life);
    SPEC_TRY(family_run(&f, life, rate, load));

    double Q[SUMS][SUMS];
    family_squares(Q, &f, life, rate, load);
    const double family_size = 1.0 / (1.0 - load);
    const double total[SUMS] = {family_size, spec_request_life_steps(life) * family_size,
                                spec_request_life_total(life) * family_size};
    moments m;
    const double bases[2] = {base, undrafted}, poisson[2] = {rate * base, rate * undrafted};
    family_sums(&m, &f, Q, total, poisson, steps);
    ret->load = load;
    results(ret, &m, life, rate, bases, steps);
done:
    for (int x = 0; x < SUMS; x++) free(f.mean[x]);
    free(f.spread);
    free(both);
    return status;
}

int spec_branching_of_kinds(spec_branching *ret, const spec_request_kinds *kinds,
                            const spec_affine_step *cost, double rate)
{
    nothing(ret);
    int status;
    const int K = kinds->K;
    spec_request_life life = {0};
    spec_idle_steps steps;
    const spec_request_costs costs = spec_request_costs_shared(cost, K);
    const double draft = K > 0 ? cost->draft_round + cost->draft_pass * K : 0.0;
    SPEC_TRY(spec_idle_steps_solve(&steps, kinds, cost, rate));
    SPEC_TRY(spec_request_kinds_life(&life, NULL, kinds, &costs));
    SPEC_TRY(spec_branching_of_life(ret, &life, rate, cost->step + draft,
                                    cost->step + (kinds->prefill ? 0.0 : draft), &steps));
done:
    spec_request_life_free(&life);
    return status;
}
