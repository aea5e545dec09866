/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/pair/pair_run.h"

#include "analysis/acceptance/text_rounds.h"
#include "base/int_math.h"
#include "base/stop_flag.h"
#include "models/row.h"
#include "sim/chance/rng.h"
#include "sim/draft/drafter.h"
#include "sim/verify/verify.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most rows of a pass, and most probabilities in them. */
enum { BLOCK_ROWS = 64, BLOCK_CELLS = 1 << 21 };
#define LEAST 1e-12
enum { VISITS = 16 /* most times that the passes after a text are timed */ };
enum {
    HEAD = sizeof(spec_pair_head) / sizeof(double),
    ARRAYS = 4,
    SUMS = sizeof(spec_pair_sums) / sizeof(double),
    PASS = 2
};

/* One draft's view of the current text (spec_text_rounds_draft). */
typedef struct {
    spec_session session;
    spec_timing_passes passes;
    int K;
    bool by_round;
    size_t stride;
    double *ratio, *overlap, *going; /* (entries) */
    double *agree;                   /* (positions) */
    int *limit;                      /* (positions) */
} reader;

typedef struct {
    spec_pair_run *run;
    const spec_pair_plan *plan;
    spec_session target;
    spec_timing_passes passes;
    int *width; /* (K+1) 1, 2, ... */
    reader draft[SPEC_PAIR_DRAFTS];
    /* rounds that are read together; number of target rows that are kept for them */
    size_t block, ring;
    double *store;       /* (ring, V) */
    const double **row;  /* (ring) the target's row at position p is at p % ring */
    int *largest;        /* (ring) its largest token */
    double *draft_store; /* (block, V) */
    const double **draft_row; /* (block) */
    int *end, n_ends;         /* tokens that end a text */
    double *work;             /* workspace of spec_text_rounds_add */
    gsl_rng *rng;
    /* the current text: `token` has `n` tokens before position 0, and the positions up to `have` */
    const int *token;
    int *written;              /* the tokens of a text that the target writes */
    size_t n, have, positions; /* positions: where rounds may begin */
    size_t all;                /* positions with rows; fewer if the text ends */
    bool ended;
    spec_pair_head head;
} runner;

/* ---- columns --------------------------------------------------------------------------------- */

int spec_pair_run_pass(int width)
{
    return HEAD + PASS * (width - 1);
}

int spec_pair_run_sums(const spec_pair_run *run, int draft)
{
    return HEAD + PASS * (run->plan.K + 1) + draft * (SUMS + ARRAYS * run->plan.K);
}

int spec_pair_run_array(const spec_pair_run *run, int draft, spec_pair_array array)
{
    return spec_pair_run_sums(run, draft) + SUMS + (int)array * run->plan.K;
}

/* ---- opening --------------------------------------------------------------------------------- */

void spec_pair_run_free(spec_pair_run *run)
{
    free(run->block);
    *run = (spec_pair_run){.block = NULL};
}

static void runner_free(runner *r)
{
    for (int d = 0; d < r->plan->n_drafts; d++) {
        reader *draft = &r->draft[d];
        spec_timing_passes_free(&draft->passes);
        spec_session_free(&draft->session);
        free(draft->ratio);
        free(draft->overlap);
        free(draft->going);
        free(draft->agree);
        free(draft->limit);
    }
    spec_timing_passes_free(&r->passes);
    spec_session_free(&r->target);
    free(r->width);
    free(r->store);
    free(r->row);
    free(r->largest);
    free(r->draft_store);
    free(r->draft_row);
    free(r->end);
    free(r->work);
    free(r->written);
    if (r->rng != NULL) gsl_rng_free(r->rng);
}

/* Returns the most positions of a text. */
static size_t longest(const spec_pair_plan *plan)
{
    size_t most = (size_t)plan->tokens;
    for (int i = 0; i < plan->n_texts; i++)
        if (plan->text[i].n_given > most) most = plan->text[i].n_given;
    return most;
}

static int reader_init(reader *draft, const spec_model *model, const spec_pair_plan *plan,
                       spec_error *error)
{
    const size_t most = longest(plan);
    draft->K = model->reach > 0 ? spec_int_min(plan->K, model->reach) : plan->K;
    draft->by_round = model->kind->rows_by_round || model->declines;
    draft->stride = draft->by_round ? (size_t)plan->K : 1;
    const size_t entries = draft->by_round ? most * draft->stride : most + (size_t)plan->K;
    draft->ratio = calloc(entries, sizeof *draft->ratio);
    draft->overlap = calloc(entries, sizeof *draft->overlap);
    draft->going = calloc(entries, sizeof *draft->going);
    draft->agree = calloc(most + (size_t)plan->K, sizeof *draft->agree);
    draft->limit = calloc(most, sizeof *draft->limit);
    if (draft->ratio == NULL || draft->overlap == NULL || draft->going == NULL ||
        draft->agree == NULL || draft->limit == NULL)
        return spec_no_memory(error);
    return spec_session_init(&draft->session, model, error);
}

/* Times a pass of every model; that of a draft gives one token, or a whole draft if one pass gives
 * all its tokens. */
static int time_models(runner *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_pair_plan *plan = r->plan;
    for (int i = 0; i <= plan->K; i++) r->width[i] = i + 1;
    SPEC_TRY(spec_timing_passes_init(&r->passes, plan->target, NULL, &r->target, r->width,
                                     plan->K + 1, false, error));
    for (int d = 0; d < plan->n_drafts; d++)
        SPEC_TRY(spec_timing_passes_init(&r->draft[d].passes, plan->draft[d], plan->target,
                                         &r->draft[d].session, r->width, 1, false, error));
done:
    return status;
}

static int check_windows(const spec_pair_plan *plan, spec_error *error)
{
    for (int i = 0; i < plan->n_texts; i++)
        for (int d = -1; d < plan->n_drafts && plan->text[i].n_given == 0; d++) {
            const spec_model *model = d < 0 ? plan->target : plan->draft[d];
            const size_t all = plan->text[i].n + (size_t)plan->tokens + (size_t)plan->K;
            if (model->window > 0 && all > (size_t)model->window)
                return spec_fail(error, GSL_EINVAL,
                                 "a prompt of %zu tokens, --tokens %d and a draft of %d exceed the "
                                 "%d tokens that %.160s reads",
                                 plan->text[i].n, plan->tokens, plan->K, model->window,
                                 model->spec);
        }
    return GSL_SUCCESS;
}

static int runner_init(runner *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_pair_plan *plan = r->plan;
    const size_t vocab = (size_t)plan->target->vocab, fits = BLOCK_CELLS / vocab,
                 most = longest(plan);
    size_t prompt = 0;
    SPEC_TRY(check_windows(plan, error));
    for (int i = 0; i < plan->n_texts; i++)
        if (plan->text[i].n_given == 0 && plan->text[i].n > prompt) prompt = plan->text[i].n;
    r->block = fits < 1 ? 1 : fits > BLOCK_ROWS ? BLOCK_ROWS : fits;
    if (r->block < (size_t)plan->K) r->block = (size_t)plan->K;
    r->ring = r->block + (size_t)plan->K;
    r->width = calloc((size_t)plan->K + 1, sizeof *r->width);
    r->store = malloc(r->ring * vocab * sizeof *r->store);
    r->row = calloc(r->ring, sizeof *r->row);
    r->largest = calloc(r->ring, sizeof *r->largest);
    r->draft_store = malloc(r->ring * vocab * sizeof *r->draft_store);
    r->draft_row = calloc(r->ring, sizeof *r->draft_row);
    r->work = calloc(most + (size_t)plan->K + 1, sizeof *r->work);
    r->written = calloc(prompt + most + (size_t)plan->K, sizeof *r->written);
    r->end = malloc(vocab * sizeof *r->end);
    r->rng = spec_rng_alloc();
    if (r->width == NULL || r->store == NULL || r->row == NULL || r->largest == NULL ||
        r->draft_store == NULL || r->draft_row == NULL || r->work == NULL || r->written == NULL ||
        r->end == NULL || r->rng == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int token = 0; token < plan->target->vocab; token++)
        if (spec_model_ends_text(plan->target, token)) r->end[r->n_ends++] = token;
    SPEC_TRY(spec_session_init(&r->target, plan->target, error));
    for (int d = 0; d < plan->n_drafts; d++) {
        SPEC_TRY(reader_init(&r->draft[d], plan->draft[d], plan, error));
        r->run->K[d] = r->draft[d].K;
    }
    if (plan->clock.seconds != NULL) SPEC_TRY(time_models(r, error));
done:
    return status;
}

/* ---- a text ---------------------------------------------------------------------------------- */

/* Adds the log loss of a given token minus its mean, and its variance. A token of probability 0
 * counts as one of probability LEAST. */
static void add_surprise(runner *r, const double *row, int token)
{
    double mean = 0.0, square = 0.0;
    for (int i = 0; i < r->plan->target->vocab; i++) {
        const double loss = row[i] > 0.0 ? -log(row[i]) : 0.0;
        mean += row[i] * loss;
        square += row[i] * loss * loss;
    }
    r->head.excess += -log(row[token] > LEAST ? row[token] : LEAST) - mean;
    r->head.variance += square - mean * mean;
}

/* Adds the target's row and token at the next position. */
static int write_token(runner *r, bool given, spec_error *error)
{
    const spec_model *target = r->plan->target;
    const size_t slot = r->have % r->ring;
    double *scratch = r->store + slot * (size_t)target->vocab;
    spec_chance chance = spec_chance_sampled(r->rng);
    SPEC_PASS(spec_stop_check(r->plan->opt_stop, error));
    r->row[slot] = spec_session_row(&r->target, r->token, r->n + r->have, scratch, error);
    if (r->row[slot] == NULL) return GSL_EFAILED;
    r->largest[slot] = spec_row_argmax(r->row[slot], target->vocab);
    if (!given)
        r->written[r->n + r->have] = spec_verify_sample(r->row[slot], target->vocab, &chance);
    else
        add_surprise(r, r->row[slot], r->token[r->n + r->have]);
    r->ended = spec_model_ends_text(target, r->token[r->n + r->have]);
    r->have++;
    return GSL_SUCCESS;
}

/* Compares a draft's row with the target's at a position, and stores the result as an entry. */
static void compare(const runner *r, reader *draft, size_t entry, size_t position,
                    const double *row)
{
    const double *target = r->row[position % r->ring];
    const int token = r->token[r->n + position], vocab = r->plan->target->vocab;
    if (r->plan->greedy) { /* the draft's row is one-hot */
        const int chosen = spec_row_argmax(row, vocab);
        draft->ratio[entry] = token == chosen;
        draft->overlap[entry] = target[chosen];
        draft->going[entry] = spec_model_ends_text(r->plan->target, chosen) ? 0.0 : target[chosen];
        return;
    }
    draft->ratio[entry] = row[token] >= target[token] ? 1.0 : row[token] / target[token];
    draft->overlap[entry] = spec_row_overlap(target, row, vocab);
    double going = draft->overlap[entry];
    for (int i = 0; i < r->n_ends; i++)
        going -= target[r->end[i]] < row[r->end[i]] ? target[r->end[i]] : row[r->end[i]];
    draft->going[entry] = going > 0.0 ? going : 0.0;
}

static bool agrees(const runner *r, size_t position, const double *row)
{
    return spec_row_argmax(row, r->plan->target->vocab) == r->largest[position % r->ring];
}

/* Reads a draft whose rows depend on the text alone, at positions from..to-1. */
static int read_positions(runner *r, reader *draft, size_t from, size_t to, spec_error *error)
{
    const int *at = r->token + r->n + from;
    SPEC_PASS(spec_session_score(&draft->session,
                                 &(spec_score_request){.context = r->token,
                                                       .n_context = r->n + from,
                                                       .token = at,
                                                       .n_nodes = (int)(to - from) - 1,
                                                       .ret_row = r->draft_row,
                                                       .scratch = r->draft_store},
                                 error));
    for (size_t i = from; i < to; i++) {
        compare(r, draft, i, i, r->draft_row[i - from]);
        draft->agree[i] = agrees(r, i, r->draft_row[i - from]);
    }
    return GSL_SUCCESS;
}

/* Reads the rows of a round that begins at position t, in one pass, or one by one if the draft may
 * decline to go on. */
static int read_round(runner *r, reader *draft, size_t t, spec_error *error)
{
    const bool declines = draft->session.model->declines;
    const int most = draft->limit[t];
    for (int first = declines ? 0 : most - 1; first < most; first++) {
        SPEC_PASS(spec_session_score(&draft->session,
                                     &(spec_score_request){.context = r->token,
                                                           .n_context = r->n + t,
                                                           .token = r->token + r->n + t,
                                                           .n_nodes = first,
                                                           .first = declines ? first : 0,
                                                           .ret_row = r->draft_row,
                                                           .scratch = r->draft_store},
                                     error));
        if (first == 0 || !declines) draft->agree[t] = agrees(r, t, r->draft_row[0]);
        if (!declines || !spec_session_declines(&draft->session)) continue;
        draft->limit[t] = first;
        break;
    }
    for (int i = 0; i < draft->limit[t]; i++)
        compare(r, draft, t * draft->stride + (size_t)i, t + (size_t)i, r->draft_row[i]);
    return GSL_SUCCESS;
}

/* Lets every draft read the rounds from..to-1, and the positions that they reach for the first
 * time. */
static int read_block(runner *r, size_t from, size_t to, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t reach = (size_t)r->plan->K - 1;
    for (int d = 0; d < r->plan->n_drafts; d++) {
        reader *draft = &r->draft[d];
        for (size_t t = from; t < to; t++) {
            const size_t left = r->all - t;
            draft->limit[t] = left < (size_t)draft->K ? (int)left : draft->K;
            if (draft->by_round) SPEC_TRY(read_round(r, draft, t, error));
        }
        if (draft->by_round) continue;
        const size_t begin = from > 0 ? from + reach : 0,
                     end = to + reach < r->all ? to + reach : r->all;
        if (begin < end) SPEC_TRY(read_positions(r, draft, begin, end, error));
    }
done:
    return status;
}

/* Reads a text, a block of rounds at a time. */
static int read_text(runner *r, const spec_pair_text *text, int number, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t reach = (size_t)r->plan->K - 1;
    const bool given = text->n_given > 0;
    r->n = text->n;
    r->head = (spec_pair_head){0};
    r->have = 0;
    r->ended = false;
    r->all = given ? text->n_given : (size_t)r->plan->tokens + reach;
    r->positions = r->all - reach;
    r->token = given ? text->token : r->written;
    if (!given && text->n > 0) memcpy(r->written, text->token, text->n * sizeof *r->written);
    spec_rng_stream(r->rng, r->plan->seed, (uint64_t)number);
    for (size_t from = 0; from < r->positions; from += r->block) {
        const size_t wanted = from + r->block + reach;
        while (!r->ended && r->have < wanted && r->have < r->all)
            SPEC_TRY(write_token(r, given, error));
        if (r->ended) {
            r->all = r->have;
            if (r->positions > r->all) r->positions = r->all;
        }
        const size_t to = from + r->block < r->positions ? from + r->block : r->positions;
        SPEC_TRY(read_block(r, from, to, error));
    }
done:
    return status;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_text(runner *r, double *block)
{
    const int K = r->plan->K;
    r->head.positions = (double)r->positions;
    memcpy(block, &r->head, sizeof r->head);
    for (int d = 0; d < r->plan->n_drafts; d++) {
        const reader *draft = &r->draft[d];
        spec_pair_sums *sums = (spec_pair_sums *)(block + spec_pair_run_sums(r->run, d));
        double *rounds = block + spec_pair_run_array(r->run, d, SPEC_PAIR_ROUNDS),
               *emitted = rounds + K, *came = emitted + K, *passed = came + K;
        const spec_text_rounds_draft of = {.n = r->positions,
                                           .stride = draft->stride,
                                           .ratio = draft->ratio,
                                           .overlap = draft->overlap,
                                           .going = draft->going,
                                           .opt_limit = draft->limit};
        for (size_t t = 0; t < r->positions; t++) {
            sums->overlap += draft->overlap[t * draft->stride];
            sums->agree += draft->agree[t];
        }
        for (int k = 1; k <= draft->K; k++) {
            const bool last = k == draft->K;
            spec_text_rounds sum = {0.0, 0.0};
            spec_text_rounds_add(&sum, last ? came : NULL, last ? passed : NULL, r->work, &of, k);
            rounds[k - 1] = sum.rounds;
            emitted[k - 1] = sum.emitted;
        }
    }
}

/* Times the passes of every model at the end of the text, once, and then again until this took as
 * long as `seconds`. */
static int time_text(runner *r, double *block, int number, double seconds, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_pair_plan *plan = r->plan;
    spec_timing_sum sum[SPEC_PAIR_K + 1] = {{0}}, own[SPEC_PAIR_DRAFTS] = {{0}};
    const size_t n = r->n + r->have;
    const double begun = spec_clock_read(&plan->clock);
    spec_rng_stream(r->rng, spec_rng_named_seed(plan->seed, "pair passes"), (uint64_t)number);
    for (int visit = 0; visit < VISITS; visit++) {
        if (visit > 0 && spec_clock_read(&plan->clock) - begun >= seconds) break;
        SPEC_TRY(spec_timing_passes_visit(&r->passes, sum, NULL, r->token, n, &plan->clock, r->rng,
                                          error));
        for (int d = 0; d < plan->n_drafts; d++)
            SPEC_TRY(spec_timing_passes_visit(&r->draft[d].passes, &own[d], NULL, r->token, n,
                                              &plan->clock, r->rng, error));
    }
    for (int width = 1; width <= plan->K + 1; width++) {
        block[spec_pair_run_pass(width)] = sum[width - 1].n;
        block[spec_pair_run_pass(width) + 1] = sum[width - 1].seconds;
    }
    for (int d = 0; d < plan->n_drafts; d++) {
        spec_pair_sums *sums = (spec_pair_sums *)(block + spec_pair_run_sums(r->run, d));
        sums->passes = own[d].n;
        sums->seconds = own[d].seconds;
    }
done:
    return status;
}

int spec_pair_run_init(spec_pair_run *run, const spec_pair_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS;
    *run = (spec_pair_run){.plan = *plan};
    runner *r = calloc(1, sizeof *r);
    if (r == NULL) return spec_no_memory(error);
    r->run = run;
    r->plan = &run->plan;
    run->n_columns = spec_pair_run_sums(run, plan->n_drafts);
    run->block = calloc((size_t)plan->n_texts * (size_t)run->n_columns, sizeof *run->block);
    if (run->block == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(runner_init(r, error));
    for (int i = 0; i < plan->n_texts; i++) {
        double *block = run->block + (size_t)i * (size_t)run->n_columns;
        const double begun = spec_clock_read(&plan->clock);
        SPEC_TRY(read_text(r, &plan->text[i], i, error));
        add_text(r, block);
        if (plan->clock.seconds != NULL)
            SPEC_TRY(time_text(r, block, i, spec_clock_read(&plan->clock) - begun, error));
        if (plan->opt_progress != NULL)
            plan->opt_progress(plan->context, (double)(i + 1) / plan->n_texts);
    }
done:
    runner_free(r);
    free(r);
    return status;
}
