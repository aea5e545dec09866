/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams, copies, launches, graphs and events of the simulated driver. */
#include "models/gpu/simt.h"
#include "tests/simulator/block_run.h"
#include "tests/simulator/simulated_driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef enum { WORK_LAUNCH, WORK_PUT, WORK_GET, WORK_SET, WORK_EVENT } work_kind;

/* A queued operation of a stream. */
typedef struct {
    work_kind kind;
    void *to;
    const void *from;
    size_t bytes;
    unsigned char value;
    CUevent event;
    const simulated_kernel *kernel;
    void *args; /* a copy of the arguments */
    int grid[3], threads;
    bool early;
} work;

typedef struct {
    work *items;
    size_t n, room;
} work_list;

struct CUstream_st {
    CUstream next;
    simulated_card *card;
    bool blocking, captures, spoilt;
    pthread_t thread; /* the capturing thread */
    work_list waiting, captured;
};

struct CUgraph_st {
    simulated_card *card;
    work_list list;
};

struct CUgraphExec_st {
    simulated_card *card;
    work_list list;
};

struct CUevent_st {
    simulated_card *card;
    bool asked, done, captured;
    uint64_t nanoseconds;
};

static CUstream streams;                      /* all streams */
static struct CUstream_st legacy[MOST_CARDS]; /* each GPU's legacy stream, named NULL */
static uint64_t nanoseconds, chance;
simulated_traffic simulated_counts;

/* ---- lists of work --------------------------------------------------------------------------- */

static void *no_null(void *memory)
{
    if (memory == NULL) block_run_fail("out of memory");
    return memory;
}

static void list_add(work_list *list, const work *item)
{
    if (list->n == list->room)
        list->items =
            no_null(realloc(list->items, (list->room = 2 * list->room + 16) * sizeof *list->items));
    work *copy = &list->items[list->n++];
    *copy = *item;
    if (item->args == NULL) return;
    copy->args = no_null(malloc(item->kernel->args_size));
    memcpy(copy->args, item->args, item->kernel->args_size);
}

static void list_copy(work_list *to, const work_list *from)
{
    for (size_t i = 0; i < from->n; i++) list_add(to, &from->items[i]);
}

static void list_free(work_list *list)
{
    for (size_t i = 0; i < list->n; i++) free(list->items[i].args);
    free(list->items);
    *list = (work_list){0};
}

/* -- performing work -- */

static simulated_order order(void)
{
    const char *text = getenv("SIM_ORDER");
    if (text == NULL || *text == '\0' || strcmp(text, "forward") == 0) return ORDER_FORWARD;
    if (strcmp(text, "reverse") == 0) return ORDER_REVERSE;
    if (strcmp(text, "shuffled") != 0)
        block_run_fail("SIM_ORDER is forward, reverse or shuffled, not '%s'", text);
    return ORDER_SHUFFLED;
}

static void launch(simulated_card *card, const work *item)
{
    if (++card->launches == card->fault_at) {
        card->failed = CUDA_ERROR_ILLEGAL_ADDRESS;
        return;
    }
    simulated_counts.launches++;
    nanoseconds +=
        1000 + 10 * (uint64_t)item->grid[0] * (uint64_t)item->grid[1] * (uint64_t)item->grid[2];
    block_run(item->kernel, item->args, item->grid, item->threads, order(), item->early);
}

static void perform(simulated_card *card, const work *item)
{
    if (card->failed != CUDA_SUCCESS) return;
    if (item->kind == WORK_LAUNCH) launch(card, item);
    else block_run_settle();
    if (item->kind == WORK_PUT || item->kind == WORK_GET) memcpy(item->to, item->from, item->bytes);
    if (item->kind == WORK_SET) memset(item->to, item->value, item->bytes);
    if (item->kind == WORK_PUT) simulated_counts.bytes_up += item->bytes;
    if (item->kind == WORK_GET) simulated_counts.bytes_down += item->bytes;
    simulated_counts.copies += item->kind == WORK_PUT || item->kind == WORK_GET;
    if (item->kind != WORK_EVENT) nanoseconds += 100 + item->bytes / 16;
    if (item->kind != WORK_EVENT) return;
    item->event->done = true;
    item->event->nanoseconds = nanoseconds;
}

/* Performs the first `n` operations. */
static void perform_some(CUstream stream, size_t n)
{
    if (n == 0) return;
    simulated_memory_open(stream->card);
    block_run_settle();
    for (size_t i = 0; i < n; i++) {
        perform(stream->card, &stream->waiting.items[i]);
        free(stream->waiting.items[i].args);
    }
    simulated_memory_close();
    stream->waiting.n -= n;
    memmove(stream->waiting.items, stream->waiting.items + n, stream->waiting.n * sizeof(work));
    simulated_memory_check();
}

void simulated_streams_drain(simulated_card *card)
{
    for (CUstream s = streams; s != NULL; s = s->next)
        if (s->card == card) perform_some(s, s->waiting.n);
}

/* The legacy stream and blocking streams wait for each other. */
static void drain_before(CUstream stream)
{
    const CUstream own = &legacy[stream->card->device];
    if (!stream->blocking) return;
    for (CUstream s = streams; s != NULL; s = s->next)
        if (s->card == stream->card && s->blocking && s != stream && (stream == own || s == own))
            perform_some(s, s->waiting.n);
}

/* With SIM_SEED: performs some of the queued work now. */
static void perform_by_chance(void)
{
    const char *seed = getenv("SIM_SEED");
    if (seed == NULL || *seed == '\0') return;
    if (chance == 0) chance = strtoull(seed, NULL, 0) * 2 + 1;
    for (CUstream s = streams; s != NULL; s = s->next) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        if (s->waiting.n > 0 && chance >> 62 == 0)
            perform_some(s, 1 + (size_t)(chance >> 32) % s->waiting.n);
    }
}

/* -- queueing work -- */

/* Returns the stream of that name. A real driver may crash on a destroyed stream. */
static CUstream stream_of(simulated_card *card, CUstream name)
{
    const CUstream own = &legacy[card->device];
    if (name == NULL && own->card == NULL) {
        *own = (struct CUstream_st){.next = streams, .card = card, .blocking = true};
        streams = own;
    }
    if (name == NULL) return own;
    for (CUstream s = streams; s != NULL; s = s->next)
        if (s == name) return s;
    block_run_fail("a stream is used that does not exist");
}

bool simulated_streams_spoil_capture(void)
{
    bool captures = false;
    for (CUstream s = streams; s != NULL; s = s->next)
        if (s->captures && s->card->failed == CUDA_SUCCESS &&
            pthread_equal(s->thread, pthread_self()))
            captures = s->spoilt = true;
    return captures;
}

static CUresult ask(simulated_card *card, CUstream stream, const work *item)
{
    stream = stream_of(card, stream);
    if (stream->card != card) return CUDA_ERROR_INVALID_HANDLE;
    if (stream == &legacy[card->device] && simulated_streams_spoil_capture())
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT_;
    drain_before(stream);
    if (stream->spoilt) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    list_add(stream->captures ? &stream->captured : &stream->waiting, item);
    perform_by_chance();
    return CUDA_SUCCESS;
}

static void check_device_range(const char *what, CUdeviceptr at, size_t bytes)
{
    const size_t reach = simulated_memory_reach((void *)(uintptr_t)at, false);
    if (reach < bytes)
        block_run_fail("%s of %zu bytes where the card's memory has %zu", what, bytes, reach);
}

static void check_pinned_range(const char *what, const void *at, size_t bytes)
{
    const size_t reach = simulated_memory_reach(at, true);
    if (reach < bytes)
        block_run_fail("%s in a stream of %zu bytes where the host's pinned memory has %zu", what,
                       bytes, reach);
}

/* Performs a copy of the host at once. It does not wait for non-blocking streams, which run beside
 * it. */
static CUresult copy_now(simulated_card *card, const work *item)
{
    if (simulated_streams_spoil_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_;
    const CUstream own = stream_of(card, NULL);
    perform_by_chance();
    drain_before(own);
    perform_some(own, own->waiting.n);
    simulated_memory_open(card);
    perform(card, item);
    simulated_memory_close();
    return card->failed;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    SIMULATED_ENTER(card);
    check_device_range("a copy", to, bytes);
    return simulated_leave(copy_now(
        card,
        &(work){.kind = WORK_PUT, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes}));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    SIMULATED_ENTER(card);
    check_device_range("a copy", from, bytes);
    return simulated_leave(copy_now(card, &(work){.kind = WORK_GET,
                                                  .to = to,
                                                  .from = (const void *)(uintptr_t)from,
                                                  .bytes = bytes}));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    SIMULATED_ENTER(card);
    check_device_range("a copy", to, bytes);
    check_pinned_range("a copy", from, bytes);
    return simulated_leave(
        ask(card, stream,
            &(work){.kind = WORK_PUT, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes}));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    SIMULATED_ENTER(card);
    check_device_range("a copy", from, bytes);
    check_pinned_range("a copy", to, bytes);
    return simulated_leave(ask(
        card, stream,
        &(work){
            .kind = WORK_GET, .to = to, .from = (const void *)(uintptr_t)from, .bytes = bytes}));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    SIMULATED_ENTER(card);
    check_device_range("filling", to, bytes);
    return simulated_leave(ask(
        card, stream,
        &(work){.kind = WORK_SET, .to = (void *)(uintptr_t)to, .value = value, .bytes = bytes}));
}

/* An early launch needs a GPU of capability 9.0 and, so that it can be recorded, a driver of
 * 12.3. */
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra)
{
    SIMULATED_ENTER(card);
    bool early = false;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return simulated_leave(CUDA_ERROR_INVALID_VALUE);
        early = config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
    }
    if (function == NULL) return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    if (config->gridDimX == 0 || config->gridDimY == 0 || config->gridDimZ == 0 ||
        config->gridDimX > 0x7fffffff || config->gridDimY > 65535 || config->gridDimZ > 65535 ||
        config->blockDimX == 0 || config->blockDimY != 1 || config->blockDimZ != 1 ||
        (int)config->blockDimX > function->threads || parameters == NULL || extra != NULL ||
        (early && (simulated_capability() < 90 || simulated_setting("SIM_VERSION", 13000) < 12030)))
        return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    if (config->sharedMemBytes != 0)
        block_run_fail("kernel %s is launched with shared memory, which kernels declare",
                       function->name);
    simulated_counts.early += early;
    return simulated_leave(
        ask(card, config->hStream,
            &(work){.kind = WORK_LAUNCH,
                    .kernel = function,
                    .args = parameters[0],
                    .grid = {(int)config->gridDimX, (int)config->gridDimY, (int)config->gridDimZ},
                    .threads = (int)config->blockDimX,
                    .early = early}));
}

/* ---- streams --------------------------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    SIMULATED_ENTER(card);
    if (flags > CU_STREAM_NON_BLOCKING) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    CUstream s = no_null(calloc(1, sizeof *s));
    s->card = card;
    s->blocking = flags == 0;
    s->next = streams;
    *stream = streams = s;
    card->streams++;
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    simulated_lock();
    simulated_card *card;
    const CUresult lost = simulated_current(&card, __func__);
    if (card == NULL || stream == NULL)
        return simulated_leave(card == NULL ? lost : CUDA_ERROR_INVALID_HANDLE);
    stream = stream_of(card, stream);
    perform_some(stream, stream->waiting.n); /* a GPU does it later; the caller must not rely on
                                              * when */
    for (CUstream *at = &streams; *at != NULL; at = &(*at)->next) {
        if (*at != stream) continue;
        *at = stream->next;
        break;
    }
    stream->card->streams--;
    const CUresult result = stream->card->failed;
    list_free(&stream->waiting);
    list_free(&stream->captured);
    free(stream);
    return simulated_leave(result);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    SIMULATED_ENTER(card);
    stream = stream_of(card, stream);
    if (stream == &legacy[card->device] && simulated_streams_spoil_capture())
        return simulated_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_);
    if (stream->captures) {
        stream->spoilt = true;
        return simulated_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_);
    }
    simulated_counts.waits += stream != &legacy[card->device];
    perform_by_chance();
    drain_before(stream);
    perform_some(stream, stream->waiting.n);
    return simulated_leave(card->failed);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    SIMULATED_ENTER(card);
    if (stream == NULL) return simulated_leave(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT_);
    stream = stream_of(card, stream);
    if (stream->captures || mode < 0 || mode > 2) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    stream->captures = true;
    stream->spoilt = false;
    stream->thread = pthread_self();
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    SIMULATED_ENTER(card);
    *graph = NULL;
    stream = stream_of(card, stream);
    if (!stream->captures) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    if (!pthread_equal(stream->thread, pthread_self()))
        return simulated_leave(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD_);
    const bool spoilt = stream->spoilt;
    stream->captures = stream->spoilt = false;
    if (spoilt) {
        list_free(&stream->captured);
        return simulated_leave(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    CUgraph g = no_null(calloc(1, sizeof *g));
    g->card = card;
    g->list = stream->captured;
    stream->captured = (work_list){0};
    card->graphs++;
    *graph = g;
    return simulated_leave(CUDA_SUCCESS);
}

static CUresult instantiate(CUgraphExec *recording, CUgraph graph, unsigned long long flags)
{
    SIMULATED_ENTER_AS(card, "cuGraphInstantiateWithFlags");
    if (graph == NULL || flags != 0) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    CUgraphExec e = no_null(calloc(1, sizeof *e));
    e->card = card;
    list_copy(&e->list, &graph->list);
    card->graphs++;
    *recording = e;
    return simulated_leave(CUDA_SUCCESS);
}

/* The driver's users look this up with dlsym, to see whether the function exists. */
typedef CUresult (*instantiate_function)(CUgraphExec *recording, CUgraph graph,
                                         unsigned long long flags);
__attribute__((no_sanitize("address", "undefined", "thread"))) static instantiate_function
find_instantiate(void)
{
    return simulated_setting("SIM_MISSING", 0) != 0 ? NULL : instantiate;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *recording, CUgraph graph,
                                     unsigned long long flags)
    __attribute__((ifunc("find_instantiate")));

CUresult cuGraphUpload(CUgraphExec recording, CUstream stream)
{
    SIMULATED_ENTER(card);
    if (recording == NULL) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    stream = stream_of(card, stream);
    return simulated_leave(stream->captures ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED_
                                            : CUDA_SUCCESS);
}

CUresult cuGraphLaunch(CUgraphExec recording, CUstream stream)
{
    SIMULATED_ENTER(card);
    stream = stream_of(card, stream);
    if (recording == NULL) return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    simulated_counts.replays++;
    for (size_t i = 0; i < recording->list.n; i++) {
        const CUresult result = ask(card, stream, &recording->list.items[i]);
        if (result != CUDA_SUCCESS) return simulated_leave(result);
    }
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec recording)
{
    simulated_lock();
    if (recording == NULL) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    recording->card->graphs--;
    list_free(&recording->list);
    free(recording);
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph)
{
    simulated_lock();
    if (graph == NULL) return simulated_leave(CUDA_ERROR_INVALID_VALUE);
    graph->card->graphs--;
    list_free(&graph->list);
    free(graph);
    return simulated_leave(CUDA_SUCCESS);
}

/* ---- events: of a simulated clock, which a launch advances by a microsecond
 * ------------------- */

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    SIMULATED_ENTER(card);
    (void)flags;
    *event = no_null(calloc(1, sizeof **event));
    (*event)->card = card;
    card->events++;
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    SIMULATED_ENTER(card);
    stream = stream_of(card, stream);
    if (event == NULL) return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    event->asked = true;
    event->done = false;
    event->captured = stream->captures;
    return simulated_leave(ask(card, stream, &(work){.kind = WORK_EVENT, .event = event}));
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end)
{
    SIMULATED_ENTER(card);
    (void)card;
    if (begin == NULL || end == NULL || !begin->asked || !end->asked || begin->captured ||
        end->captured)
        return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    if (!begin->done || !end->done) return simulated_leave(CUDA_ERROR_NOT_READY_);
    *milliseconds = (float)((double)(end->nanoseconds - begin->nanoseconds) * 1e-6);
    return simulated_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    simulated_lock();
    if (event == NULL) return simulated_leave(CUDA_ERROR_INVALID_HANDLE);
    simulated_streams_drain(event->card);
    event->card->events--;
    free(event);
    return simulated_leave(CUDA_SUCCESS);
}
