/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks the sampler and counts its answers. */
#include "base/stop_flag.h"
#include "tools/validate/fixtures/design.h"
#include "tools/validate/validate_run.h"

#include "base/clock.h"
#include "base/parallel.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The share of the budget for fixtures of pairs. If the budget is small, or in seconds, the
 * fixtures that decide about a PASS get more. */
#define OF_PAIRS 0.5
#define OF_PAIRS_SMALL 0.25
#define SMALL_BUDGET (SPEC_VALIDATE_DRAWS / 2)
/* Brief texts test the first round of a text, which longer texts have too rarely. */
#define OF_BRIEF_TEXTS 4.0

/* BATCH_*: rounds of a batch. TEXTS, BRIEF_TEXTS: texts of a batch. */
enum { BATCH_MOST = 1024, BATCH_LEAST = 64, TEXTS = 8, BRIEF_TEXTS = 256 };
enum { PORTION = 4096 /* batches of one parallel loop, which cannot end early */ };

/* ---- making ---------------------------------------------------------------------------------- */

static bool is_named(const spec_validate_plan *plan, const char *name)
{
    for (int i = 0; plan->opt_only != NULL && plan->opt_only[i] != NULL; i++)
        if (strcmp(plan->opt_only[i], name) == 0) return true;
    return false;
}

static bool names_a_fixture(const spec_validate_plan *plan)
{
    const spec_fixture_kind *kind;
    for (int i = 0; (kind = spec_validate_fixture(plan, i)) != NULL; i++)
        if (is_named(plan, kind->name)) return true;
    return false;
}

bool spec_validate_names_a_test(const spec_validate_plan *plan)
{
    for (int i = 0; spec_tests[i].name != NULL; i++)
        if (is_named(plan, spec_tests[i].name)) return true;
    return false;
}

static void choose_tests(spec_trial *t, const spec_validate_plan *plan)
{
    const bool all = !spec_validate_names_a_test(plan);
    for (int k = 0; spec_tests[k].name != NULL; k++) {
        t->applies[k] = (all || is_named(plan, spec_tests[k].name)) &&
                        (spec_tests[k].applies == NULL || spec_tests[k].applies(t->evidence));
        t->n_applies += t->applies[k];
    }
}

/* Inserts trial n into the order of the trials before it. */
static void take_turn(spec_validate_run *r, int n)
{
    const double size = spec_fixture_round_size(&r->trial[n].fixture);
    int at = n;
    for (; at > 0 && spec_fixture_round_size(&r->trial[r->turn[at - 1]].fixture) > size; at--)
        r->turn[at] = r->turn[at - 1];
    r->turn[at] = n;
}

int spec_validate_make_trials(spec_validate_run *r)
{
    spec_validation *v = r->validation;
    static const uint32_t scopes[] = {SPEC_SCOPE_VERIFY, SPEC_SCOPE_DRAFT, SPEC_SCOPE_STREAM};
    const bool all = !names_a_fixture(r->plan);
    const uint64_t draws = r->plan->draws > 0 ? r->plan->draws : SPEC_VALIDATE_DRAWS;
    int n_kinds = 0, status = GSL_SUCCESS;
    double shares = 0.0, of_pairs = 0.0;
    while (spec_validate_fixture(r->plan, n_kinds) != NULL) n_kinds++;
    v->result = calloc((size_t)n_kinds * 3, sizeof *v->result);
    r->trial = calloc((size_t)n_kinds * 3, sizeof *r->trial);
    r->turn = malloc((size_t)n_kinds * 3 * sizeof *r->turn);
    r->p = malloc((size_t)n_kinds * 3 * SPEC_TESTS_MAX * sizeof *r->p);
    r->order = malloc((size_t)n_kinds * 3 * SPEC_TESTS_MAX * sizeof *r->order);
    if (v->result == NULL || r->trial == NULL || r->turn == NULL || r->p == NULL ||
        r->order == NULL)
        return spec_no_memory(r->error);
    for (int i = 0; i < n_kinds; i++)
        for (int s = 0; s < 3; s++) {
            const spec_fixture_kind *kind = spec_validate_fixture(r->plan, i);
            spec_validate_result *result = &v->result[v->n_results];
            spec_trial *t = &r->trial[v->n_results];
            const bool asked = r->plan->scopes == 0 || (r->plan->scopes & scopes[s]);
            if (!(kind->scopes & v->about.scopes & scopes[s]) || !asked ||
                !(all || is_named(r->plan, kind->name)))
                continue;
            *result = (spec_validate_result){
                .kind = kind, .scope = scopes[s], .log_e = 0.0, .p = 1.0, .accepted = NAN};
            v->n_results++;
            SPEC_TRY(spec_fixture_open_empty(&t->fixture, kind, r->error));
            t->fixture.dependent = r->plan->dependent;
            if (r->plan->dependent && t->fixture.batch > SPEC_VALIDATE_CALL)
                t->fixture.batch = SPEC_VALIDATE_CALL;
            result->vocab = t->fixture.vocab;
            spec_design_adapt(&t->fixture, &v->about, scopes[s]);
            if (!spec_fixture_fits(&t->fixture, &v->about, scopes[s], &result->skipped)) continue;
            SPEC_TRY(spec_evidence_init(&t->evidence, &t->fixture, scopes[s], r->error));
            choose_tests(t, r->plan);
            /* All states get the same number of draws, except that those of fixtures with larger
             * rows get fewer, since the time grows with the size. */
            t->share =
                t->fixture.n_states / (1.0 + (double)t->fixture.vocab * t->fixture.levels / 4096.0);
            if (t->fixture.texts == SPEC_TEXTS_BRIEF && !spec_design_has(kind))
                t->share *= OF_BRIEF_TEXTS;
            *(spec_design_has(kind) ? &of_pairs : &shares) += t->share;
        }
    const bool small = draws < SMALL_BUDGET || r->plan->seconds > 0.0;
    const double part = small ? OF_PAIRS_SMALL : OF_PAIRS;
    const double less =
        shares > 0.0 && of_pairs > 0.0 ? fmin(part / (1.0 - part) * shares / of_pairs, 1.0) : 1.0;
    shares += less * of_pairs;
    for (int i = 0; i < v->n_results; i++) {
        if (spec_design_has(v->result[i].kind)) r->trial[i].share *= less;
        r->trial[i].draws =
            (uint64_t)ceil((double)draws * (r->trial[i].share / fmax(shares, 1e-300)));
        v->result[i].budget = r->trial[i].draws;
        take_turn(r, i);
    }
done:
    return status;
}

int spec_validate_fill_trial(spec_validate_run *r, int i)
{
    spec_trial *t = &r->trial[i];
    const spec_sampler_about *about = &r->validation->about;
    int status = GSL_SUCCESS;
    if (t->fixture.fill == NULL) return status;
    SPEC_TRY(spec_fixture_fill(&t->fixture, r->error));
    if (about->filters[0] != '\0') SPEC_TRY(spec_fixture_promise(&t->fixture, about, r->error));
    status = spec_evidence_fill(t->evidence, r->error);
done:
    return status;
}

int spec_validate_make_workers(spec_validate_run *r)
{
    int status = GSL_SUCCESS;
    r->threads = spec_thread_pool_size(r->plan->opt_pool);
    r->worker = calloc((size_t)r->threads, sizeof *r->worker);
    if (r->worker == NULL) return spec_no_memory(r->error);
    for (int i = 0; i < r->threads; i++) {
        spec_worker *w = &r->worker[i];
        SPEC_TRY(spec_subject_open(&w->subject, r->subject, &r->plan->limits, r->error));
        w->rng = spec_rng_alloc();
        w->text = malloc(SPEC_FIXTURE_TEXT_MAX * sizeof *w->text);
        if (w->rng == NULL || w->text == NULL) return spec_no_memory(r->error);
    }
done:
    return status;
}

void spec_validate_end_worker(spec_worker *w)
{
    spec_subject_close(&w->subject);
    if (w->rng != NULL) gsl_rng_free(w->rng);
    free(w->text);
    *w = (spec_worker){.rng = NULL};
}

void spec_validate_free_run(spec_validate_run *r)
{
    for (int i = 0; i < r->validation->n_results && r->trial != NULL; i++) {
        spec_evidence_free(r->trial[i].evidence);
        spec_fixture_close(&r->trial[i].fixture);
    }
    free(r->trial);
    for (int i = 0; i < r->threads && r->worker != NULL; i++)
        spec_validate_end_worker(&r->worker[i]);
    free(r->worker);
    free(r->turn);
    free(r->p);
    free(r->order);
}

/* ---- time ------------------------------------------------------------------------------------ */

double spec_validate_seconds(const spec_validate_run *r)
{
    return spec_clock_monotonic() - r->begun;
}

bool spec_validate_is_stopped(const spec_validate_run *r)
{
    return spec_stop_is_set(r->plan->limits.opt_stop);
}

bool spec_validate_must_end(const spec_validate_run *r, bool fresh)
{
    return spec_validate_is_stopped(r) ||
           (r->plan->seconds > 0.0 &&
            spec_validate_seconds(r) > (fresh ? 2.0 : 1.0) * r->plan->seconds);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Every stage has at least one batch, which must not exceed a small budget. */
static int batch_rounds(const spec_trial *t)
{
    const double fits =
        fmin(4e6 / (double)t->fixture.vocab, (double)t->draws / SPEC_STAGES) / t->fixture.levels;
    const int n = fits > BATCH_MOST ? BATCH_MOST : fits < BATCH_LEAST ? BATCH_LEAST : (int)fits;
    return n - n % 2;
}

static int texts_tokens(const spec_fixture *f, int n)
{
    int tokens = 0;
    for (int k = 0; k < n; k++) tokens += spec_fixture_text(f, k);
    return tokens;
}

/* Brief texts come in fours, one of each length. */
static int batch_texts(const spec_trial *t)
{
    const bool brief = t->fixture.texts == SPEC_TEXTS_BRIEF;
    const int unit = brief ? 4 : 1, most = brief ? BRIEF_TEXTS : TEXTS;
    const double fits = (double)t->draws / SPEC_STAGES / texts_tokens(&t->fixture, unit);
    return fits * unit > most ? most : fits < 1.0 ? unit : (int)fits * unit;
}

static int batch_tokens(const spec_trial *t, uint32_t scope)
{
    return scope == SPEC_SCOPE_STREAM ? texts_tokens(&t->fixture, batch_texts(t))
                                      : batch_rounds(t) * t->fixture.levels;
}

static void run_text(spec_worker *w, int k)
{
    spec_text_asked asked;
    w->status = spec_subject_text(&asked, w->text, &w->subject, k, w->rng, &w->error);
    if (w->status == GSL_SUCCESS)
        spec_evidence_add_text(w->evidence, asked.start, w->text, asked.n, w->rng);
}

/* Runs batch b of a trial into the worker's own counts, which depend only on the seed and b. */
static void run_batch(spec_worker *w, const spec_trial *t, uint32_t scope, uint64_t seed,
                      uint64_t b)
{
    const int n = batch_rounds(t);
    const uint64_t first = b * (uint64_t)n;
    w->status = GSL_SUCCESS;
    spec_rng_stream(w->rng, seed, b);
    spec_evidence_clear(w->evidence);
    if (scope == SPEC_SCOPE_STREAM) {
        for (int k = 0; k < batch_texts(t) && w->status == GSL_SUCCESS; k++) run_text(w, k);
        return;
    }
    spec_evidence_ask(w->evidence, &w->subject.batch, n, first, seed, w->rng);
    w->status = spec_subject_run(&w->subject, n, &w->error);
    if (w->status == GSL_SUCCESS)
        spec_evidence_add(w->evidence, &w->subject.batch, n, first, w->rng);
    spec_evidence_add_totals(w->evidence, &w->accepted, &w->emitted);
}

static uint64_t trial_seed(const spec_validate_run *r, int i)
{
    const spec_validate_result *result = &r->validation->result[i];
    char name[128];
    snprintf(name, sizeof name, "%s/%u/%d", result->kind->name, result->scope, r->trial[i].fresh);
    return spec_rng_named_seed(r->plan->seed, name);
}

/* ---- a trial --------------------------------------------------------------------------------- */

static int begin_worker(spec_validate_run *r, spec_worker *w, const spec_trial *t, uint32_t scope,
                        uint64_t counted[3], bool *ret_counts)
{
    int status = GSL_SUCCESS;
    w->accepted = w->emitted = 0;
    *ret_counts = false;
    SPEC_TRY(
        spec_evidence_fork(&w->evidence, t->evidence, (size_t)batch_tokens(t, scope), r->error));
    SPEC_TRY(spec_subject_begin(&w->subject, &t->fixture, scope, batch_rounds(t), r->error));
    if (scope != SPEC_SCOPE_STREAM)
        SPEC_TRY(spec_subject_counters(&w->subject, counted, ret_counts, r->error));
done:
    return status;
}

/* Checks that the sampler's counters match its answers. */
static int check_counters(spec_validate_run *r, spec_worker *w, spec_trial *t,
                          const uint64_t before[3])
{
    uint64_t after[3] = {0, 0, 0};
    bool known;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_subject_counters(&w->subject, after, &known, r->error));
    if (after[1] - before[1] != w->accepted || after[2] - before[2] != w->emitted)
        spec_evidence_blame(t->evidence, SPEC_HARD_COUNTERS);
done:
    return status;
}

/* Merges the batch of a worker, in order. Returns true if no more batches are needed. */
static bool take_batch(spec_validate_run *r, spec_worker *w, spec_trial *t, int per_batch,
                       int *ret_status)
{
    if (w->status != GSL_SUCCESS) {
        if (spec_validate_is_stopped(r))
            return true; /* ctrl-C may have reached the sampler's process as well */
        *r->error = w->error;
        *ret_status = w->status;
        return true;
    }
    spec_evidence_merge(t->evidence, w->evidence);
    t->batches++;
    t->asked += (uint64_t)per_batch;
    r->done += (uint64_t)per_batch;
    return spec_evidence_hard(t->evidence) != NULL || spec_validate_must_end(r, t->fresh);
}

typedef struct {
    spec_validate_run *r;
    spec_trial *t;
    uint32_t scope;
    uint64_t seed, first; /* first: batch of this portion */
    int per_batch;
    pthread_mutex_t lock; /* protects turn and over */
    pthread_cond_t merged;
    uint64_t turn;        /* the next batch of the portion to merge */
    bool over;
    int status;           /* status of the batch being merged */
} trial_job;

/* Batches run in parallel and merge in numerical order. Batches after a broken rule are dropped,
 * because the result would otherwise depend on the number of threads. A thread that waits for its
 * turn sleeps. */
static void run_one(void *self, uint64_t b, int worker)
{
    trial_job *j = self;
    spec_worker *w = &j->r->worker[worker];
    pthread_mutex_lock(&j->lock);
    bool over = j->over;
    pthread_mutex_unlock(&j->lock);
    if (!over) run_batch(w, j->t, j->scope, j->seed, j->first + b);
    pthread_mutex_lock(&j->lock);
    while (j->turn != b) pthread_cond_wait(&j->merged, &j->lock);
    over = j->over;
    pthread_mutex_unlock(&j->lock);
    if (!over) over = take_batch(j->r, w, j->t, j->per_batch, &j->status);
    pthread_mutex_lock(&j->lock);
    j->over = over;
    j->turn++;
    pthread_cond_broadcast(&j->merged);
    pthread_mutex_unlock(&j->lock);
}

static int run_trial(spec_validate_run *r, int i, uint64_t draws)
{
    spec_trial *t = &r->trial[i];
    const uint32_t scope = r->validation->result[i].scope;
    const int per_batch = batch_tokens(t, scope);
    const uint64_t batches = (draws + (uint64_t)per_batch - 1) / (uint64_t)per_batch,
                   seed = trial_seed(r, i);
    const uint64_t first = t->batches;
    uint64_t (*counted)[3] = calloc((size_t)r->threads, sizeof *counted);
    bool *counts = calloc((size_t)r->threads, sizeof *counts);
    int status = GSL_SUCCESS;
    if (counted == NULL || counts == NULL) SPEC_TRY(spec_no_memory(r->error));
    SPEC_TRY(spec_validate_fill_trial(r, i));
    for (int k = 0; k < r->threads; k++)
        SPEC_TRY(begin_worker(r, &r->worker[k], t, scope, counted[k], &counts[k]));
    trial_job j = {.r = r,
                   .t = t,
                   .scope = scope,
                   .seed = seed,
                   .per_batch = per_batch,
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .merged = PTHREAD_COND_INITIALIZER,
                   .status = GSL_SUCCESS};
    for (uint64_t done = 0; done < batches && !j.over; done += PORTION) {
        j.first = first + done;
        j.turn = 0;
        const uint64_t left = batches - done;
        spec_parallel_run(r->plan->opt_pool, run_one, &j, left < PORTION ? left : PORTION,
                          r->threads);
    }
    status = j.status;
    for (int k = 0;
         k < r->threads && status == GSL_SUCCESS && spec_evidence_hard(t->evidence) == NULL; k++)
        if (counts[k]) SPEC_TRY(check_counters(r, &r->worker[k], t, counted[k]));
done:
    for (int k = 0; k < r->threads; k++) {
        spec_evidence_free(r->worker[k].evidence);
        r->worker[k].evidence = NULL;
    }
    free(counted);
    free(counts);
    return status;
}

/* ---- calls that take too long ---------------------------------------------------------------- */

/* Returns whether the run can continue: only while the sampler answers more fixtures than not.
 * Instances that share random numbers cannot restart, because they would repeat their draws. */
static bool may_go_on(const spec_validate_run *r)
{
    int late = 1, answered = 0;
    for (int i = 0; i < r->validation->n_results; i++) {
        late += r->validation->result[i].late;
        answered += !r->validation->result[i].late && r->trial[i].batches > 0;
    }
    return late <= answered && !r->validation->alone;
}

static bool is_late(const spec_validate_run *r)
{
    bool late = false;
    for (int k = 0; k < r->threads && r->worker != NULL; k++)
        late = late || spec_subject_is_late(&r->worker[k].subject);
    return late;
}

/* Restarts the workers whose call took too long. */
static int wake(spec_validate_run *r)
{
    int status = GSL_SUCCESS;
    for (int k = 0; k < r->threads; k++) {
        spec_subject *subject = &r->worker[k].subject;
        if (!spec_subject_is_late(subject)) continue;
        spec_subject_close(subject);
        SPEC_TRY(spec_subject_open(subject, r->subject, &r->plan->limits, r->error));
    }
done:
    return status;
}

int spec_validate_run_trial(spec_validate_run *r, int i, uint64_t draws)
{
    const int status = run_trial(r, i, draws);
    if (status == GSL_SUCCESS || !is_late(r) || !may_go_on(r)) return status;
    r->validation->result[i].late = true;
    return wake(r);
}

int spec_validate_largest_vocab(const spec_validation *v)
{
    int most = 0;
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].skipped == NULL && v->result[i].vocab > most) most = v->result[i].vocab;
    return most;
}

int spec_validate_blame_time(const spec_validate_run *r, int status)
{
    if (!is_late(r)) return status;
    const spec_error said = *r->error;
    return spec_fail(
        r->error, status,
        "%.300s; --timeout gives more time, --only fewer fixtures: %d tokens in the largest",
        said.text, spec_validate_largest_vocab(r->validation));
}

int spec_validate_reproduce(spec_validate_run *r, int i)
{
    const spec_trial *t = &r->trial[i];
    const spec_validate_result *result = &r->validation->result[i];
    const spec_reproducer_case found = {.fixture = &t->fixture,
                                        .evidence = t->evidence,
                                        .finding = result->finding,
                                        .n_findings = result->n_findings,
                                        .scope = result->scope,
                                        .seed = trial_seed(r, i),
                                        .batches = t->batches,
                                        .rounds = batch_rounds(t),
                                        .texts = batch_texts(t)};
    spec_reproducer *c = &r->validation->reproducer;
    const int status = spec_reproducer_find(c, &found, &r->worker[0].subject, r->error);
    /* requests of a fixture may differ in these */
    c->sampling = *spec_fixture_sampling(&t->fixture, c->state);
    if (c->round.n_emitted > 0) c->drawn = spec_fixture_drawn(&t->fixture, c->round.state);
    return status;
}
