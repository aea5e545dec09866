/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/card_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct spec_recording {
    CUgraphExec exec;
};

int spec_stream_init(spec_stream **ret_stream, spec_card *card, spec_error *error)
{
    const spec_driver *driver = card->driver;
    spec_stream *stream = calloc(1, sizeof *stream);
    *ret_stream = NULL;
    if (stream == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    stream->card = card;
    pthread_mutex_lock(&card->lock);
    stream->next = card->streams;
    card->streams = stream;
    const bool entered = spec_card_enter(card);
    CUresult result = CUDA_SUCCESS;
    if (entered) result = driver->cuStreamCreate(&stream->stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 2 && entered && result == CUDA_SUCCESS; i++)
        result = driver->cuEventCreate(&stream->mark[i], 0);
    const bool full = result == CUDA_ERROR_OUT_OF_MEMORY; /* not a fault: other streams continue */
    if (!full) spec_card_good(card, result);
    pthread_mutex_unlock(&card->lock);
    if (!entered || result != CUDA_SUCCESS) {
        const int status =
            full ? spec_fail(error, GSL_ENOMEM,
                             "GPU %d (%s) has no memory left for a stream of launches",
                             card->ordinal, card->name)
                 : spec_card_status(card, error);
        spec_stream_free(stream);
        return status;
    }
    *ret_stream = stream;
    return GSL_SUCCESS;
}

/* Ends the recording; *ret_graph is the recorded graph, or NULL on failure. */
static CUresult stop_recording(CUgraph *ret_graph, spec_stream *stream)
{
    const CUresult result = stream->card->driver->cuStreamEndCapture(stream->stream, ret_graph);
    if (result != CUDA_SUCCESS) *ret_graph = NULL;
    return result;
}

void spec_stream_free(spec_stream *stream)
{
    if (stream == NULL) return;
    spec_card *card = stream->card;
    const spec_driver *driver = card->driver;
    driver->cuCtxSetCurrent(card->context);
    if (stream->recording && stream->lost == CUDA_SUCCESS) {
        CUgraph graph;
        (void)stop_recording(&graph, stream);
        if (graph != NULL) driver->cuGraphDestroy(graph);
    }
    pthread_mutex_lock(&card->lock);
    spec_stream **at = &card->streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&card->lock);
    if (stream->stream != NULL)
        driver->cuStreamSynchronize(stream->stream); /* the caller frees its buffers next */
    for (int i = 0; i < 2; i++)
        if (stream->mark[i] != NULL) driver->cuEventDestroy_v2(stream->mark[i]);
    if (stream->stream != NULL) driver->cuStreamDestroy_v2(stream->stream);
    free(stream);
}

spec_card *spec_stream_card(const spec_stream *stream) { return stream->card; }

/* Returns whether the stream accepts more work. */
static bool goes_on(spec_stream *stream)
{
    return stream->lost == CUDA_SUCCESS && spec_card_enter(stream->card);
}

/* Notes the result of a call. A failure while recording spoils only the recording: its launches can
 * still be run directly. */
static void take(spec_stream *stream, CUresult result)
{
    if (stream->recording && result != CUDA_SUCCESS)
        stream->lost = result;
    else
        spec_card_good(stream->card, result);
}

void spec_stream_run(spec_stream *stream, spec_kernel kernel, int blocks_x, int blocks_y,
                     int blocks_z, const void *args)
{
    assert(blocks_x >= 0 && blocks_y >= 0 && blocks_y < 1 << 16 && blocks_z >= 0 &&
           blocks_z < 1 << 16);
    if (blocks_x == 0 || blocks_y == 0 || blocks_z == 0 || !goes_on(stream)) return;
    const spec_card *card = stream->card;
    void *parameters[] = {(void *)(uintptr_t)args};
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {.gridDimX = (unsigned)blocks_x,
                                   .gridDimY = (unsigned)blocks_y,
                                   .gridDimZ = (unsigned)blocks_z,
                                   .blockDimX = (unsigned)spec_card_threads[kernel],
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream->stream,
                                   .attrs = &early,
                                   .numAttrs = card->early};
    take(stream, card->driver->cuLaunchKernelEx(&config, card->function[kernel], parameters, NULL));
}

void spec_stream_put(spec_stream *stream, void *to, const void *pinned, size_t bytes)
{
    if (bytes > 0 && goes_on(stream))
        take(stream, stream->card->driver->cuMemcpyHtoDAsync_v2(spec_card_address(to), pinned,
                                                                bytes, stream->stream));
}

void spec_stream_get(spec_stream *stream, void *pinned, const void *from, size_t bytes)
{
    if (bytes > 0 && goes_on(stream))
        take(stream, stream->card->driver->cuMemcpyDtoHAsync_v2(pinned, spec_card_address(from),
                                                                bytes, stream->stream));
}

int spec_stream_wait(spec_stream *stream, spec_error *error)
{
    assert(!stream->recording);
    if (goes_on(stream))
        spec_card_good(stream->card, stream->card->driver->cuStreamSynchronize(stream->stream));
    return spec_card_status(stream->card, error);
}

/* ---- recordings ------------------------------------------------------------------------------ */

/* Takes the lock, so that no thread waits for a stream that starts recording, which would spoil the
 * recording. */
static void set_recording(spec_stream *stream, bool recording)
{
    pthread_mutex_lock(&stream->card->lock);
    stream->recording = recording;
    pthread_mutex_unlock(&stream->card->lock);
}

void spec_stream_record(spec_stream *stream)
{
    assert(!stream->recording);
    if (!spec_card_enter(stream->card)) return;
    set_recording(stream, true);
    stream->lost = stream->card->driver->cuStreamBeginCapture_v2(
        stream->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

spec_recording *spec_stream_recorded(spec_stream *stream, spec_error *error)
{
    const spec_driver *driver = stream->card->driver;
    CUgraph graph = NULL;
    if (!stream->recording) {
        if (spec_card_status(stream->card, error) == GSL_SUCCESS)
            spec_fail(error, GSL_EFAILED, "nothing was recorded");
        return NULL;
    }
    driver->cuCtxSetCurrent(stream->card->context);
    /* Ends the recording even after a failure, so that the stream is usable again, and reports the
     * first error. */
    const CUresult stopped = stop_recording(&graph, stream);
    CUresult result = stream->lost != CUDA_SUCCESS ? stream->lost : stopped;
    spec_recording *recording = calloc(1, sizeof *recording);
    if (result == CUDA_SUCCESS && recording != NULL)
        result = driver->cuGraphInstantiateWithFlags(&recording->exec, graph, 0);
    /* Uploads the graph now, so that a full GPU is detected here and not as a fault of a launch. */
    if (result == CUDA_SUCCESS && recording != NULL)
        result = driver->cuGraphUpload(recording->exec, stream->stream);
    if (result != CUDA_SUCCESS || recording == NULL) {
        char text[200] = "out of memory";
        if (result != CUDA_SUCCESS) spec_driver_describe(text, sizeof text, driver, result);
        spec_fail(error, GSL_EFAILED, "%s", text);
        if (recording != NULL && recording->exec != NULL)
            driver->cuGraphExecDestroy(recording->exec);
        free(recording);
        recording = NULL;
    }
    if (graph != NULL) driver->cuGraphDestroy(graph);
    stream->lost = CUDA_SUCCESS;
    set_recording(stream, false);
    return recording;
}

void spec_stream_replay(spec_stream *stream, spec_recording *recording)
{
    assert(!stream->recording && recording != NULL);
    if (goes_on(stream))
        take(stream, stream->card->driver->cuGraphLaunch(recording->exec, stream->stream));
}

void spec_recording_free(spec_card *card, spec_recording *recording)
{
    if (recording == NULL) return;
    card->driver->cuCtxSetCurrent(card->context);
    card->driver->cuGraphExecDestroy(recording->exec);
    free(recording);
}

/* ---- the clock ------------------------------------------------------------------------------- */

void spec_stream_mark(spec_stream *stream, int which)
{
    assert(which == 0 || which == 1);
    if (goes_on(stream))
        take(stream, stream->card->driver->cuEventRecord(stream->mark[which], stream->stream));
}

double spec_stream_seconds(spec_stream *stream)
{
    float milliseconds = 0.0f;
    if (!goes_on(stream)) return NAN;
    if (!spec_card_good(stream->card, stream->card->driver->cuEventElapsedTime(
                                          &milliseconds, stream->mark[0], stream->mark[1])))
        return NAN;
    return (double)milliseconds / 1e3;
}
