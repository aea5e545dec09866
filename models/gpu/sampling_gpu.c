/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/sampling_gpu.h"

#include "base/int_math.h"
#include "models/gpu/launch_columns.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDINGS = 32, BLOCKS_PER_MULTIPROCESSOR = 4 };

/* Everything on which a call's launches depend. */
typedef struct {
    int rows;        /* of logits */
    bool chain, hot; /* hot: the law is one-hot (temperature 0), so no sums are needed */
    int stages, filters[SAMPLING_STAGES];
} call_kind;

struct spec_sampling_gpu {
    spec_stream *stream;
    spec_card *card;
    int vocab;
    bool records;
    void *memory; /* the workspace, in one allocation */
    sampling_space space; /* its answer is pinned */
    sampling_job job;
    struct {
        call_kind kind;
        spec_recording *recording;
    } recorded[RECORDINGS];
    int n_recorded, oldest;
};

/* ---- memory ---------------------------------------------------------------------------------- */

size_t spec_sampling_gpu_law_bytes(int vocab)
{
    _Static_assert(sizeof(sampling_law) <= SAMPLING_LAW_BYTES, "logits follow a law");
    return SAMPLING_LAW_BYTES + (size_t)vocab * sizeof(float);
}

/* Takes the next piece of the workspace; if at_all is NULL, it only adds up the sizes. */
static void *take(size_t *used, char *at_all, size_t bytes)
{
    void *at = at_all != NULL ? at_all + *used : NULL;
    *used += (bytes + 255) / 256 * 256;
    return at;
}

static size_t lay_out(sampling_space *space, char *memory, int vocab)
{
    const size_t rows = SAMPLING_ROWS, pieces = (size_t)spec_int_ceil_div(vocab, SAMPLING_PIECE);
    const size_t kept = (size_t)(vocab / SAMPLING_KEPT + vocab % SAMPLING_KEPT);
    size_t used = 0;
    space->job = take(&used, memory, sizeof *space->job);
    space->verdict = take(&used, memory, sizeof *space->verdict);
    space->row = take(&used, memory, rows * sizeof *space->row);
    space->largest = take(&used, memory, rows * SAMPLING_SPREAD * sizeof *space->largest);
    space->exps = take(&used, memory, rows * pieces * sizeof *space->exps);
    space->kept = take(&used, memory, rows * kept * sizeof *space->kept);
    space->excess = take(&used, memory, pieces * sizeof *space->excess);
    space->border = take(&used, memory, rows * sizeof *space->border);
    space->count = take(&used, memory, rows * SAMPLING_BINS * sizeof *space->count);
    space->mass = take(&used, memory, rows * SAMPLING_BINS * sizeof *space->mass);
    space->candidate = take(&used, memory, rows * SAMPLING_CANDIDATES * sizeof *space->candidate);
    space->vocab = vocab;
    return used;
}

size_t spec_sampling_gpu_bytes(int vocab)
{
    sampling_space space;
    return lay_out(&space, NULL, vocab);
}

int spec_sampling_gpu_init(spec_sampling_gpu **ret_sampling, spec_stream *stream, int vocab,
                           void *opt_next, bool records, spec_error *error)
{
    int status = GSL_SUCCESS;
    assert(vocab >= 1 && vocab <= SAMPLING_SPREAD * SAMPLING_SPREAD_TOKENS);
    *ret_sampling = NULL;
    spec_sampling_gpu *sampling = calloc(1, sizeof *sampling);
    if (sampling == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    sampling->stream = stream;
    sampling->card = spec_stream_card(stream);
    sampling->vocab = vocab;
    sampling->records = records;
    SPEC_TRY(
        spec_card_alloc(sampling->card, &sampling->memory, spec_sampling_gpu_bytes(vocab), error));
    SPEC_TRY(spec_card_pinned_alloc(sampling->card, (void **)&sampling->space.answer,
                                    sizeof *sampling->space.answer, error));
    sampling->space.opt_next = opt_next;
    lay_out(&sampling->space, sampling->memory, vocab);
    *ret_sampling = sampling;
    sampling = NULL;
done:
    spec_sampling_gpu_free(sampling);
    return status;
}

void spec_sampling_gpu_free(spec_sampling_gpu *sampling)
{
    if (sampling == NULL) return;
    spec_stream_wait(sampling->stream, NULL);
    for (int i = 0; i < sampling->n_recorded; i++)
        spec_recording_free(sampling->card, sampling->recorded[i].recording);
    spec_card_free(sampling->card, sampling->memory);
    spec_card_pinned_free(sampling->card, sampling->space.answer);
    free(sampling);
}

/* ---- launches -------------------------------------------------------------------------------- */

static call_kind kind_of(const spec_sampling_gpu *sampling, const spec_transform *transform,
                         int rows, bool chain)
{
    call_kind kind = {.rows = rows, .chain = chain, .hot = transform->temperature == 0.0};
    const bool applied[] = {transform->top_k > 0 && transform->top_k < sampling->vocab,
                            transform->top_p<1.0, transform->min_p> 0.0};
    static const int filter[] = {SAMPLING_TOP_K, SAMPLING_TOP_P, SAMPLING_MIN_P};
    for (int f = 0; f < SAMPLING_STAGES && !kind.hot; f++) {
        if (!applied[f]) continue;
        if (transform->chained || kind.stages == 0) kind.stages++;
        kind.filters[kind.stages - 1] |= filter[f];
    }
    return kind;
}

/* Returns how many blocks share a row: enough to fill the GPU, and so that a block's counters can
 * hold all its tokens. */
static int blocks_of_row(const spec_sampling_gpu *sampling, int rows)
{
    const int least = spec_int_ceil_div(sampling->vocab, SAMPLING_SPREAD_TOKENS);
    const int tiles = spec_int_ceil_div(sampling->vocab, SAMPLING_TILE);
    const int full = BLOCKS_PER_MULTIPROCESSOR * spec_card_multiprocessors(sampling->card) / rows;
    const int most = spec_int_min(tiles, SAMPLING_SPREAD);
    return full < least ? least : spec_int_min(full, most);
}

static void launch_stage(spec_stream *stream, const sampling_space *space, const call_kind *kind,
                         int stage)
{
    const int blocks = space->spread, rows = kind->rows, filters = kind->filters[stage];
    SPEC_RUN(stream, filters_border, rows, 1, 1, .space = *space, .stage = stage,
             .filters = filters);
    if ((filters & (SAMPLING_TOP_K | SAMPLING_TOP_P)) != 0) {
        SPEC_RUN(stream, filters_candidates, blocks, rows, 1, .space = *space, .stage = stage,
                 .filters = filters);
        SPEC_RUN(stream, filters_cut, rows, 1, 1, .space = *space, .stage = stage,
                 .filters = filters);
    }
    SPEC_RUN(stream, filters_kept, blocks, rows, 1, .space = *space, .stage = stage);
}

static void launch(const spec_sampling_gpu *sampling, const call_kind *kind)
{
    spec_stream *stream = sampling->stream;
    sampling_space space = sampling->space;
    const int rows = kind->rows, blocks = space.spread = blocks_of_row(sampling, rows);
    int filters = 0;
    for (int s = 0; s < kind->stages; s++) filters |= kind->filters[s];
    SPEC_RUN(stream, sampling_largest, blocks, rows, 1, .space = space, .filters = filters);
    if (!kind->hot)
        SPEC_RUN(stream, sampling_exps, blocks, rows, 1, .space = space, .filters = filters);
    for (int s = 0; s < kind->stages; s++) launch_stage(stream, &space, kind, s);
    if (kind->chain) {
        SPEC_RUN(stream, sampling_accept, 1, 1, 1, .space = space, .stages = kind->stages);
        SPEC_RUN(stream, sampling_excess, spec_int_ceil_div(sampling->vocab, SAMPLING_PIECE), 1, 1,
                 .space = space);
    }
    SPEC_RUN(stream, sampling_pick, 1, 1, 1, .space = space, .stages = kind->stages,
             .chain = kind->chain);
}

/* ---- recordings ------------------------------------------------------------------------------ */

static bool same_kind(const call_kind *a, const call_kind *b)
{
    bool same =
        a->rows == b->rows && a->chain == b->chain && a->hot == b->hot && a->stages == b->stages;
    for (int s = 0; s < a->stages; s++) same = same && a->filters[s] == b->filters[s];
    return same;
}

static spec_recording *find_recording(const spec_sampling_gpu *sampling, const call_kind *kind)
{
    for (int i = 0; i < sampling->n_recorded; i++)
        if (same_kind(&sampling->recorded[i].kind, kind)) return sampling->recorded[i].recording;
    return NULL;
}

/* Keeps a recording. None is running, because every request is of one kind and waits for its
 * end. */
static void keep_recording(spec_sampling_gpu *sampling, const call_kind *kind,
                           spec_recording *recording)
{
    const bool full = sampling->n_recorded == RECORDINGS;
    const int at = full ? sampling->oldest : sampling->n_recorded++;
    if (full) {
        spec_recording_free(sampling->card, sampling->recorded[at].recording);
        sampling->oldest = (at + 1) % RECORDINGS;
    }
    sampling->recorded[at].kind = *kind;
    sampling->recorded[at].recording = recording;
}

/* Runs the launches directly if recording fails, and then never tries to record again, because it
 * would fail again. */
static void run(spec_sampling_gpu *sampling, const call_kind *kind)
{
    spec_recording *recording = sampling->records ? find_recording(sampling, kind) : NULL;
    if (sampling->records && recording == NULL) {
        spec_stream_record(sampling->stream);
        launch(sampling, kind);
        recording = spec_stream_recorded(sampling->stream, NULL);
        if (recording != NULL) keep_recording(sampling, kind, recording);
        else sampling->records = false;
    }
    if (recording != NULL) spec_stream_replay(sampling->stream, recording);
    else launch(sampling, kind);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Fills the request's common part; the caller adds the rest and uploads it. */
static sampling_job *ask(spec_sampling_gpu *sampling, const float *logits,
                         const spec_transform *transform)
{
    sampling_job *job = &sampling->job;
    job->factor = fmin(1.0 / transform->temperature, DBL_MAX);
    job->top_p = transform->top_p;
    job->min_p = transform->min_p;
    job->top_k = transform->top_k;
    job->hot = transform->temperature == 0.0;
    job->n = job->draws = 0;
    job->logits = logits;
    return job;
}

static void upload(spec_sampling_gpu *sampling)
{
    spec_launch_write(sampling->stream, sampling->space.job, &sampling->job, sizeof sampling->job);
}

void spec_sampling_gpu_draw(spec_sampling_gpu *sampling, const spec_draw_request *request, int i)
{
    const int n = request->n;
    const call_kind kind = kind_of(sampling, request->transform, 1, false);
    assert(n <= SAMPLING_ROWS && i >= 0 && i < n && (n == 1 || sampling->space.opt_next != NULL));
    if (i == 0) {
        sampling_job *job = ask(sampling, request->logits, request->transform);
        job->draws = n;
        for (int k = 0; k < n; k++) job->law[k] = request->law[k];
        if (request->opt_uniform != NULL)
            memcpy(job->uniform, request->opt_uniform, (size_t)n * sizeof *job->uniform);
        upload(sampling);
    }
    run(sampling, &kind);
}

int spec_sampling_gpu_drawn(spec_sampling_gpu *sampling, int *ret_token, int n, spec_error *error)
{
    const int status = spec_stream_wait(sampling->stream, error);
    for (int i = 0; i < n; i++)
        ret_token[i] = status == GSL_SUCCESS ? sampling->space.answer->token[i] : 0;
    return status;
}

int spec_sampling_gpu_verify(spec_sampling_gpu *sampling, spec_chain_outcome *outcome,
                             const float *logits, const spec_chain_request *request,
                             spec_error *error)
{
    const int n = request->n;
    assert(n >= 0 && n < SAMPLING_ROWS);
    const call_kind kind = kind_of(sampling, request->transform, n + 1, true);
    const sampling_answer *answer = sampling->space.answer;
    sampling_job *job = ask(sampling, logits, request->transform);
    job->n = n;
    for (int i = 0; i < n; i++) {
        assert(request->token[i] >= 0 && request->token[i] < sampling->vocab);
        job->law[i] = request->law[i];
        job->token[i] = request->token[i];
    }
    memcpy(job->uniform, request->uniform, ((size_t)n + 2) * sizeof *request->uniform);
    upload(sampling);
    run(sampling, &kind);
    int status = spec_stream_wait(sampling->stream, error);
    if (status == GSL_SUCCESS && answer->bad)
        status = spec_fail(error, GSL_EDOM,
                           "the model's logits are not finite: its weights are broken, or "
                           "overflow");
    const bool known = status == GSL_SUCCESS;
    outcome->n_accepted = known ? answer->n_accepted : 0;
    outcome->token = known ? answer->token[0] : 0;
    outcome->used = known ? answer->used : 0;
    for (int i = 0; i < n; i++)
        outcome->chance[i] = known && i <= answer->n_accepted ? answer->chance[i] : 0.0;
    return status;
}
