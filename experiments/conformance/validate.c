#include "experiments/conformance/validate.h"

#include "analysis/evalue.h"
#include "analysis/goodness.h"
#include "models/names.h"
#include "sim/rng.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const spec_validate_verdicts[] = {"PASS", "FAIL", "LOSSY", "INCONCLUSIVE", NULL};

/* Rounds of one batch at most; tokens of a text of scope S, texts of a batch; shares of the budget after which the
 * evidence is looked at; how suspicious is enough for fresh data, and how much more of it. */
enum { BATCH_MOST = 4096, BATCH_LEAST = 64, TEXT_TOKENS = 512, TEXTS = 16, STAGES = 4, FRESH_TIMES = 4 };
static const double stage_share[STAGES] = {1.0 / 64, 1.0 / 16, 1.0 / 4, 1.0};
#define SUSPICIOUS 1e-3
/* A pass says little where differences so large may have been missed. */
#define LEAST_TELLING 0.1

/* ---- a run ------------------------------------------------------------------------------------------------------- */

typedef struct {
    spec_fixture fixture;
    spec_evidence *evidence;
    uint64_t draws;          /* its budget */
    uint64_t batches;        /* asked so far */
    double share;
    bool fresh;              /* its batches are of the second look */
} trial;

typedef struct {
    spec_subject subject;
    spec_evidence *evidence; /* of one batch */
    gsl_rng *rng;
    int32_t *text;
    spec_error error;
    int status;
} worker;

typedef struct {
    spec_validation *validation;
    const spec_validate_plan *plan;
    const char *subject;
    trial *trial;            /* (n_results) */
    worker *worker;          /* (threads) */
    int threads;
    uint64_t done;           /* draws */
    bool suspicious;
    struct timespec begun;
    spec_error *error;
} run;

static int no_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory");
}

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

static bool is_named(const spec_validate_plan *plan, const char *name)
{
    for (int i = 0; plan->opt_only != NULL && plan->opt_only[i] != NULL; i++)
        if (strcmp(plan->opt_only[i], name) == 0) return true;
    return false;
}

static bool names_a_fixture(const spec_validate_plan *plan)
{
    for (int i = 0; spec_fixtures[i] != NULL; i++)
        if (is_named(plan, spec_fixtures[i]->name)) return true;
    return false;
}

static bool names_a_test(const spec_validate_plan *plan)
{
    for (int i = 0; spec_tests[i].name != NULL; i++)
        if (is_named(plan, spec_tests[i].name)) return true;
    return false;
}

static bool is_wanted_fixture(const spec_validate_plan *plan, const char *name)
{
    return !names_a_fixture(plan) || is_named(plan, name);
}

static bool is_wanted_test(const spec_validate_plan *plan, const char *name)
{
    return !names_a_test(plan) || is_named(plan, name);
}

int spec_validate_check_only(const spec_validate_plan *plan, spec_error *error)
{
    const char *names[256];
    char meant[SPEC_NAMES_MEANT_SIZE];
    int n = 0;
    for (int i = 0; spec_fixtures[i] != NULL && n < 200; i++) names[n++] = spec_fixtures[i]->name;
    for (int i = 0; spec_tests[i].name != NULL && n < 255; i++) names[n++] = spec_tests[i].name;
    names[n] = NULL;
    for (int i = 0; plan->opt_only != NULL && plan->opt_only[i] != NULL; i++) {
        bool known = false;
        for (int k = 0; k < n; k++) known = known || strcmp(names[k], plan->opt_only[i]) == 0;
        if (!known)
            return spec_fail(error, GSL_EINVAL, "no fixture or test is named '%.60s'%s", plan->opt_only[i],
                             spec_names_meant(meant, plan->opt_only[i], names, "; --list shows them"));
    }
    return GSL_SUCCESS;
}

/* One place for each fixture and each of the sampler's scopes that it is made for. */
static int make_trials(run *r)
{
    spec_validation *v = r->validation;
    static const uint32_t scopes[] = {SPEC_SCOPE_VERIFY, SPEC_SCOPE_DRAFT, SPEC_SCOPE_STREAM};
    int n_kinds = 0, status = GSL_SUCCESS;
    double shares = 0.0;
    while (spec_fixtures[n_kinds] != NULL) n_kinds++;
    v->result = calloc((size_t)n_kinds * 3, sizeof *v->result);
    r->trial = calloc((size_t)n_kinds * 3, sizeof *r->trial);
    if (v->result == NULL || r->trial == NULL) return no_memory(r->error);
    for (int i = 0; i < n_kinds; i++)
        for (int s = 0; s < 3; s++) {
            const spec_fixture_kind *kind = spec_fixtures[i];
            spec_validate_result *result = &v->result[v->n_results];
            trial *t = &r->trial[v->n_results];
            const bool asked = r->plan->scopes == 0 || (r->plan->scopes & scopes[s]);
            if (!(kind->scopes & v->about.scopes & scopes[s]) || !asked || !is_wanted_fixture(r->plan, kind->name))
                continue;
            *result = (spec_validate_result){.kind = kind, .scope = scopes[s], .log_e = 0.0, .p = 1.0,
                                             .detectable = NAN, .accepted = NAN};
            v->n_results++;
            SPEC_TRY(spec_fixture_open(&t->fixture, kind, r->error));
            if (!spec_fixture_fits(&t->fixture, &v->about, scopes[s], &result->skipped)) continue;
            SPEC_TRY(spec_evidence_init(&t->evidence, &t->fixture, scopes[s], r->error));
            /* As many draws for each state, but rows of many tokens take time in proportion. */
            t->share = t->fixture.n_states / (1.0 + (double)t->fixture.vocab * t->fixture.levels / 8192.0);
            shares += t->share;
        }
    for (int i = 0; i < v->n_results; i++) {
        r->trial[i].draws = (uint64_t)ceil((double)r->plan->draws * (r->trial[i].share / fmax(shares, 1e-300)));
        v->result[i].budget = r->trial[i].draws;
    }
done:
    return status;
}

static int make_workers(run *r)
{
    int status = GSL_SUCCESS;
    r->threads = r->plan->threads > 0 ? r->plan->threads : omp_get_max_threads();
    r->worker = calloc((size_t)r->threads, sizeof *r->worker);
    if (r->worker == NULL) return no_memory(r->error);
    for (int i = 0; i < r->threads; i++) {
        worker *w = &r->worker[i];
        SPEC_TRY(spec_subject_open(&w->subject, r->subject, &r->plan->limits, r->error));
        w->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
        w->text = malloc(TEXT_TOKENS * sizeof *w->text);
        if (w->rng == NULL || w->text == NULL) return no_memory(r->error);
    }
done:
    return status;
}

/* Small budgets are not to be overdrawn by the one batch that every stage has. */
static int batch_rounds(const trial *t)
{
    const double fits = fmin(4e6 / (double)t->fixture.vocab, (double)t->draws / STAGES) / t->fixture.levels;
    const int n = fits > BATCH_MOST ? BATCH_MOST : fits < BATCH_LEAST ? BATCH_LEAST : (int)fits;
    return n - n % 2;
}

static int batch_texts(const trial *t)
{
    const double fits = (double)t->draws / (STAGES * TEXT_TOKENS);
    return fits > TEXTS ? TEXTS : fits < 1.0 ? 1 : (int)fits;
}

static void run_text(worker *w, const trial *t)
{
    const spec_fixture *f = &t->fixture;
    const int start = f->levels * (int)gsl_rng_uniform_int(w->rng, (unsigned long)f->variants);
    const uint64_t seed = gsl_rng_get(w->rng);
    w->status = spec_subject_generate(&w->subject, start, f->n_nodes, seed, w->text, TEXT_TOKENS, &w->error);
    if (w->status == GSL_SUCCESS) spec_evidence_add_text(w->evidence, start, w->text, TEXT_TOKENS, w->rng);
}

static bool is_stopped(const run *r)
{
    return r->plan->limits.opt_stop != NULL && *r->plan->limits.opt_stop;
}

/* A second look takes the time that it needs. */
static bool must_end(const run *r, bool fresh)
{
    return is_stopped(r) || (!fresh && r->plan->seconds > 0.0 && seconds_since(&r->begun) > r->plan->seconds);
}

/* Batch b of a trial, into the worker's own counts: they depend on the seed and b alone. */
static void run_batch(worker *w, const trial *t, const spec_validate_result *result, uint64_t seed, uint64_t b)
{
    const int n = batch_rounds(t);
    const uint64_t first = b * (uint64_t)n;
    w->status = GSL_SUCCESS;
    spec_rng_stream(w->rng, seed, b);
    spec_evidence_clear(w->evidence);
    if (result->scope == SPEC_SCOPE_STREAM) {
        for (int k = 0; k < batch_texts(t) && w->status == GSL_SUCCESS; k++) run_text(w, t);
        return;
    }
    spec_evidence_ask(w->evidence, &w->subject.batch, n, first, seed, w->rng);
    w->status = spec_subject_run(&w->subject, n, &w->error);
    if (w->status == GSL_SUCCESS) spec_evidence_add(w->evidence, &w->subject.batch, n, first, w->rng);
}

static uint64_t trial_seed(const run *r, const spec_validate_result *result, bool fresh)
{
    char name[128];
    snprintf(name, sizeof name, "%s/%u/%d", result->kind->name, result->scope, fresh);
    return spec_rng_named_seed(r->plan->seed, name);
}

/* Draws more, in batches that run in parallel and merge in order. */
static int run_trial(run *r, trial *t, spec_validate_result *result, uint64_t draws, bool fresh)
{
    const int per_batch = result->scope == SPEC_SCOPE_STREAM ? batch_texts(t) * TEXT_TOKENS
                                                             : batch_rounds(t) * t->fixture.levels;
    const uint64_t batches = (draws + (uint64_t)per_batch - 1) / (uint64_t)per_batch;
    const uint64_t seed = trial_seed(r, result, fresh);
    int status = GSL_SUCCESS;
    for (int i = 0; i < r->threads; i++) {
        worker *w = &r->worker[i];
        SPEC_TRY(spec_evidence_init(&w->evidence, &t->fixture, result->scope, r->error));
        SPEC_TRY(spec_subject_begin(&w->subject, &t->fixture, result->scope, batch_rounds(t), r->error));
    }
    for (uint64_t done = 0; done < batches && spec_evidence_hard(t->evidence) == NULL && !must_end(r, fresh);) {
        const int n = batches - done < (uint64_t)r->threads ? (int)(batches - done) : r->threads;
#pragma omp parallel for num_threads(n) schedule(static, 1)
        for (int i = 0; i < n; i++) run_batch(&r->worker[i], t, result, seed, t->batches + (uint64_t)i);
        /* What comes after a broken rule is not looked at: the result would depend on the number of threads. */
        for (int i = 0; i < n && spec_evidence_hard(t->evidence) == NULL; i++) {
            worker *w = &r->worker[i];
            if (w->status != GSL_SUCCESS && is_stopped(r)) goto done; /* a ctrl-C may have reached its process, too */
            if (w->status != GSL_SUCCESS) {
                *r->error = w->error;
                SPEC_TRY(w->status);
            }
            spec_evidence_merge(t->evidence, w->evidence);
            done++;
            t->batches++;
            r->done += (uint64_t)per_batch;
        }
    }
done:
    for (int i = 0; i < r->threads; i++) {
        spec_evidence_free(r->worker[i].evidence);
        r->worker[i].evidence = NULL;
    }
    return status;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static void read_result(const run *r, int i)
{
    spec_validate_result *result = &r->validation->result[i];
    const trial *t = &r->trial[i];
    spec_finding all[SPEC_TESTS_MAX];
    double log_e[SPEC_TESTS_MAX];
    result->n_findings = 0;
    if (t->evidence == NULL || spec_evidence_tokens(t->evidence) + spec_evidence_rounds(t->evidence) == 0) return;
    const int n = spec_evidence_findings(all, t->evidence);
    for (int k = 0; k < n; k++)
        if (is_wanted_test(r->plan, all[k].name)) {
            log_e[result->n_findings] = all[k].log_e;
            result->finding[result->n_findings++] = all[k];
        }
    result->rounds = spec_evidence_rounds(t->evidence);
    result->draws = spec_evidence_tokens(t->evidence);
    result->accepted = spec_evidence_accepted(t->evidence);
    result->log_e = result->n_findings > 0 ? spec_evalue_mean(log_e, result->n_findings) : 0.0;
    result->hard = spec_evidence_hard(t->evidence) != NULL ? spec_evidence_hard(t->evidence)->hard : SPEC_HARD_NONE;
}

/* The capital over everything: fixtures that have not been run hold what they began with. */
static void read_all(const run *r)
{
    spec_validation *v = r->validation;
    double *log_e = malloc((size_t)(v->n_results + 1) * sizeof *log_e);
    int n = 0;
    v->rounds = v->draws = 0;
    for (int i = 0; i < v->n_results; i++) {
        read_result(r, i);
        v->rounds += v->result[i].rounds;
        v->draws += v->result[i].draws;
        if (v->result[i].skipped == NULL && log_e != NULL) log_e[n++] = v->result[i].log_e;
    }
    v->log_e = n > 0 ? spec_evalue_mean(log_e, n) : 0.0;
    free(log_e);
}

static int first_hard(const spec_validation *v)
{
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].hard != SPEC_HARD_NONE) return i;
    return -1;
}

/* Holm over the p-values of the results that are named by `mask` (NULL: all); fills in result->p, returns the least. */
static double holm(spec_validation *v, const bool *opt_mask)
{
    const size_t most = (size_t)v->n_results * SPEC_TESTS_MAX + 1;
    double *p = malloc(most * sizeof *p), least = 1.0;
    size_t *order = malloc(most * sizeof *order), n = 0;
    if (p == NULL || order == NULL) goto done;
    for (int i = 0; i < v->n_results; i++)
        for (int k = 0; k < v->result[i].n_findings; k++)
            if (opt_mask == NULL || opt_mask[i]) p[n++] = v->result[i].finding[k].p;
    spec_holm(p, p, n, order);
    n = 0;
    for (int i = 0; i < v->n_results; i++) {
        if (opt_mask != NULL && !opt_mask[i]) continue;
        v->result[i].p = 1.0;
        for (int k = 0; k < v->result[i].n_findings; k++, n++) v->result[i].p = fmin(v->result[i].p, p[n]);
        least = fmin(least, v->result[i].p);
    }
done:
    free(p);
    free(order);
    return least;
}

static double log_fail(const run *r)
{
    return -log(0.5 * r->plan->alpha); /* half of alpha for the bets, half for fresh data */
}

/* The size from which on every difference would have been found: the largest over the fixtures, but those with pooled
 * cells. */
static void fill_detectable(const run *r)
{
    spec_validation *v = r->validation;
    int tests = 0;
    v->detectable = 0.0;
    for (int i = 0; i < v->n_results; i++) tests += v->result[i].n_findings;
    for (int i = 0; i < v->n_results; i++) {
        spec_validate_result *result = &v->result[i];
        if (r->trial[i].evidence == NULL || result->draws == 0) continue;
        result->detectable =
            spec_evidence_detectable(r->trial[i].evidence, SUSPICIOUS / fmax(tests, 1), r->plan->power);
        (void)spec_reproducer_state(&r->trial[i].fixture, r->trial[i].evidence, &result->tv);
        if (!isnan(result->detectable)) v->detectable = fmax(v->detectable, result->detectable);
    }
}

/* Whole passes over all fixtures, each with a larger share, so that what is grossly wrong is found soon. */
static int run_stages(run *r, bool *ret_failed)
{
    spec_validation *v = r->validation;
    const bool open = r->plan->seconds > 0.0 || r->plan->endless;
    double share = 0.0;
    int status = GSL_SUCCESS;
    *ret_failed = false;
    for (int stage = 0; open || stage < STAGES; stage++) {
        const double until = stage < STAGES ? stage_share[stage] : 2.0 * share;
        for (int i = 0; i < v->n_results; i++) {
            if (v->result[i].skipped != NULL) continue;
            if (must_end(r, false)) return status;
            const double more = (until - share) * (double)r->trial[i].draws;
            SPEC_TRY(run_trial(r, &r->trial[i], &v->result[i], (uint64_t)ceil(more), false));
            read_all(r);
            if (r->plan->progress != NULL)
                r->plan->progress(r->plan->self, v->result[i].kind->name, r->done, r->plan->draws, v->log_e);
            if (first_hard(v) >= 0 || v->log_e >= log_fail(r)) {
                *ret_failed = true;
                return status;
            }
        }
        share = until;
        if (r->plan->stage == NULL) continue;
        v->p = holm(v, NULL);
        fill_detectable(r);
        r->plan->stage(r->plan->self, v, stage);
    }
done:
    return status;
}

static bool is_suspicious(double p, double log_e)
{
    return p <= SUSPICIOUS || log_e > -log(SUSPICIOUS);
}

/* What looked suspicious is asked again, with new seeds and more draws, and judged by these alone. */
static int run_fresh(run *r, double *ret_p)
{
    spec_validation *v = r->validation;
    bool *again = calloc((size_t)v->n_results + 1, sizeof *again);
    int status = GSL_SUCCESS;
    *ret_p = 1.0;
    if (again == NULL) return no_memory(r->error);
    for (int i = 0; i < v->n_results; i++) {
        again[i] = v->result[i].skipped == NULL && is_suspicious(v->result[i].p, v->result[i].log_e);
        if (!again[i]) continue;
        trial *t = &r->trial[i];
        const uint64_t draws = FRESH_TIMES * v->result[i].draws;
        spec_evidence_free(t->evidence);
        t->evidence = NULL;
        t->batches = 0;
        t->fresh = true;
        SPEC_TRY(spec_evidence_init(&t->evidence, &t->fixture, v->result[i].scope, r->error));
        SPEC_TRY(run_trial(r, t, &v->result[i], draws, true));
        v->fresh = true;
    }
    read_all(r);
    *ret_p = holm(v, again);
done:
    free(again);
    return status;
}

static int count_run(const spec_validation *v)
{
    int n = 0;
    for (int i = 0; i < v->n_results; i++) n += v->result[i].skipped == NULL;
    return n;
}

static void say(spec_validation *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(spec_validation *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(v->reason, sizeof v->reason, format, args);
    va_end(args);
}

/* The result that shows it best: of those that are enough by themselves the one with the smallest rows; or else the one
 * with the most capital, or, on fresh data, the least p-value. */
static int mark_failed(run *r)
{
    spec_validation *v = r->validation;
    int best = -1, worst = -1;
    for (int i = 0; i < v->n_results; i++) {
        spec_validate_result *result = &v->result[i];
        if (result->skipped != NULL) continue;
        result->failed = result->hard != SPEC_HARD_NONE || result->log_e >= log_fail(r) ||
                         (v->fresh && result->p <= 0.5 * r->plan->alpha);
        if (result->failed && (best < 0 || r->trial[i].fixture.vocab < r->trial[best].fixture.vocab)) best = i;
        if (worst < 0 || result->log_e > v->result[worst].log_e) worst = i;
    }
    if (best < 0) best = worst;
    v->result[best].failed = true;
    return best;
}

static int reproduce(run *r, int i)
{
    const trial *t = &r->trial[i];
    const spec_validate_result *result = &r->validation->result[i];
    const spec_reproducer_case found = {.fixture = &t->fixture,
                                        .evidence = t->evidence,
                                        .finding = result->finding,
                                        .n_findings = result->n_findings,
                                        .scope = result->scope,
                                        .seed = trial_seed(r, result, t->fresh),
                                        .batches = t->batches,
                                        .rounds = batch_rounds(t),
                                        .texts = batch_texts(t),
                                        .text_tokens = TEXT_TOKENS};
    return spec_reproducer_find(&r->validation->reproducer, &found, &r->worker[0].subject, r->error);
}

static int judge(run *r, bool failed, double fresh_p)
{
    spec_validation *v = r->validation;
    const int hard = first_hard(v);
    int status = GSL_SUCCESS;
    fill_detectable(r);
    failed = failed || hard >= 0 || fresh_p <= 0.5 * r->plan->alpha;
    if (count_run(v) == 0) {
        v->verdict = SPEC_VERDICT_INCONCLUSIVE;
        say(v, "no fixture fits this sampler");
    } else if (failed) {
        v->verdict = v->about.lossy && hard < 0 ? SPEC_VERDICT_LOSSY : SPEC_VERDICT_FAIL;
        const int worst = mark_failed(r);
        status = reproduce(r, worst);
        if (v->result[worst].hard != SPEC_HARD_NONE)
            say(v, "%s: %s", v->result[worst].kind->name, spec_hard_reasons[v->result[worst].hard]);
        else if (v->result[worst].tv == 0.0)
            say(v, "%s: no state alone shows it, but the test '%s' does", v->result[worst].kind->name,
                v->reproducer.test);
        else
            say(v, "%s: the tokens after a state have another law, by a TV of about %.2g", v->result[worst].kind->name,
                v->result[worst].tv);
    } else if (r->suspicious && v->stopped) {
        v->verdict = SPEC_VERDICT_INCONCLUSIVE;
        say(v, "suspicious, and stopped before it was asked again");
    } else if (v->fresh && fresh_p <= SUSPICIOUS) {
        v->verdict = SPEC_VERDICT_INCONCLUSIVE;
        say(v, "suspicious, also on fresh data (p = %.2g), but not beyond doubt: a larger budget will tell", fresh_p);
    } else if (r->plan->eps > 0.0 && !(v->detectable <= r->plan->eps)) {
        v->verdict = SPEC_VERDICT_INCONCLUSIVE;
        say(v, "a TV of %g could not be certified with this budget: the smallest is %.2g", r->plan->eps, v->detectable);
    } else if (!(v->detectable <= LEAST_TELLING)) {
        v->verdict = SPEC_VERDICT_INCONCLUSIVE;
        say(v, "too few draws to tell: a TV of %.2g could have been missed", v->detectable);
    } else {
        v->verdict = SPEC_VERDICT_PASS;
        say(v, "no difference seen; one of TV %.2g or more would have been, with a chance of %g", v->detectable,
            r->plan->power);
    }
    return status;
}

int spec_validate(spec_validation *ret, const char *subject, const spec_validate_plan *plan, spec_error *error)
{
    run r = {.validation = ret, .plan = plan, .subject = subject, .error = error};
    bool failed = false;
    double fresh_p = 1.0;
    int status = GSL_SUCCESS;
    *ret = (spec_validation){.plan = *plan, .subject = subject};
    clock_gettime(CLOCK_MONOTONIC, &r.begun);
    SPEC_TRY(spec_validate_check_only(plan, error));
    SPEC_TRY(make_workers(&r));
    ret->about = r.worker[0].subject.about;
    SPEC_TRY(make_trials(&r));
    SPEC_TRY(run_stages(&r, &failed));
    ret->p = holm(ret, NULL);
    r.suspicious = !failed && is_suspicious(ret->p, ret->log_e);
    if (r.suspicious && !is_stopped(&r)) SPEC_TRY(run_fresh(&r, &fresh_p));
    ret->stopped = is_stopped(&r);
    if (ret->stopped && !plan->endless) SPEC_TRY(spec_fail(error, GSL_EFAILED, "interrupted"));
    SPEC_TRY(judge(&r, failed, fresh_p));
    ret->seconds = seconds_since(&r.begun);
done:
    for (int i = 0; i < ret->n_results && r.trial != NULL; i++) {
        spec_evidence_free(r.trial[i].evidence);
        spec_fixture_close(&r.trial[i].fixture);
    }
    free(r.trial);
    for (int i = 0; i < r.threads && r.worker != NULL; i++) {
        spec_subject_close(&r.worker[i].subject);
        if (r.worker[i].rng != NULL) gsl_rng_free(r.worker[i].rng);
        free(r.worker[i].text);
    }
    free(r.worker);
    if (status != GSL_SUCCESS) spec_validation_free(ret);
    return status;
}

void spec_validation_free(spec_validation *validation)
{
    free(validation->result);
    spec_reproducer_free(&validation->reproducer);
    *validation = (spec_validation){.n_results = 0};
}
