/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lengths that depend on the number of decoding requests: the schedules of vLLM and TensorRT-LLM,
 * and TensorRT-LLM's gate, which turns drafting off for good. */
#include "base/int_math.h"
#include "sim/serving/length_kind.h"

#include <string.h>

/* ---- schedules ------------------------------------------------------------------------------- */

static int add_range(spec_length_ranges *ranges, int from, int K)
{
    if (ranges->n == SPEC_LENGTH_RANGES_MAX) return GSL_EINVAL;
    ranges->from[ranges->n] = from;
    ranges->K[ranges->n++] = K;
    return GSL_SUCCESS;
}

/* Reads the integer at *at and moves *at past it. */
static bool number(int *ret, const char **at)
{
    char word[12] = "";
    const size_t n = strspn(*at, "0123456789");
    if (n == 0 || n >= sizeof word) return false;
    memcpy(word, *at, n);
    *at += n;
    return spec_settings_parse_int(ret, word);
}

static bool skip(const char **at, char c)
{
    const bool found = **at == c;
    *at += found;
    return found;
}

static bool range(int *from, int *to, int *K, const char **at)
{
    return skip(at, '[') && number(from, at) && skip(at, ',') && number(to, at) && skip(at, ',') &&
           number(K, at) && skip(at, ']');
}

/* Reads [[1,32,5],[33,128,2]], where each entry is from, to and K. Batch sizes in a gap or after
 * the last range take the K of the previous range. */
static int read_ranges(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    const char *at = settings->path;
    int from, to, K, last = 0;
    bool valid = skip(&at, '[');
    while (valid && (valid = range(&from, &to, &K, &at))) {
        if (K > SPEC_K_MAX)
            return spec_fail(error, GSL_EINVAL, "schedule: K must be 0 to %d, got %d", SPEC_K_MAX,
                             K);
        if (last == 0 && from != 1)
            return spec_fail(error, GSL_EINVAL,
                             "schedule: the first range begins at %d; begin it at 1", from);
        if (from <= last || to < from)
            return spec_fail(error, GSL_EINVAL,
                             "schedule: the range [%d,%d] does not follow %d: ranges ascend", from,
                             to, last);
        if (add_range(&choice->schedule.ranges, from, K) != GSL_SUCCESS)
            return spec_fail(error, GSL_EINVAL, "schedule: more than %d ranges",
                             SPEC_LENGTH_RANGES_MAX);
        if (K > choice->K_max) choice->K_max = K;
        last = to;
        if (!skip(&at, ',')) break;
    }
    if (valid && skip(&at, ']') && *at == '\0') return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "schedule:%.60s: not valid from '%.20s' on; give [from,to,K] of batch sizes, "
                     "as in schedule:[[1,32,5],[33,128,2]]",
                     settings->path, at);
}

static int schedule_init(spec_length_choice *choice, const spec_settings *settings,
                         spec_error *error)
{
    const spec_length_ranges *ranges = &choice->schedule.ranges;
    int status = GSL_SUCCESS;
    SPEC_TRY(read_ranges(choice, settings, error));
    SPEC_TRY(spec_settings_int(&choice->schedule.hysteresis, settings, "hysteresis", 0, 0, 1 << 20,
                               error));
    /* Even a batch of one request must be able to leave the second range. */
    if (ranges->n > 1 && choice->schedule.hysteresis > spec_int_max(ranges->from[1] - 2, 0))
        SPEC_TRY(spec_fail(error, GSL_EDOM,
                           "schedule: hysteresis=%d: batches of %d or more would never return to "
                           "the range below; give at most %d",
                           choice->schedule.hysteresis, ranges->from[1],
                           spec_int_max(ranges->from[1] - 2, 0)));
done:
    return status;
}

static size_t schedule_state_size(const spec_length_choice *choice, int slots)
{
    (void)choice, (void)slots;
    return sizeof(int); /* the state is the range of the previous step */
}

/* Growing batches move up to their range at once. Shrinking batches leave a range only when they
 * are smaller than its start by more than `hysteresis`. */
static int schedule_choose(const spec_length_choice *choice, void *state,
                           const spec_step_batch *batch, int32_t *ret_K)
{
    const spec_length_ranges *ranges = &choice->schedule.ranges;
    int *range = state;
    (void)ret_K;
    const int up = spec_length_range(ranges, batch->n),
              down = spec_length_range(ranges, batch->n + choice->schedule.hysteresis);
    *range = up > *range ? up : down < *range ? down : *range;
    return ranges->K[*range];
}

const spec_length_kind spec_length_schedule = {
    .name = "schedule",
    .usage = "schedule:[[1,32,5],[33,128,2]]?hysteresis=0",
    .summary =
        "K by the number of decoding requests, as vLLM's num_speculative_tokens_per_batch_size; "
        "batches in a gap between ranges have the K of the range before it; with a hysteresis, K "
        "changes back only when the batch is that much smaller than the start of its range",
    .reference = "vLLM",
    .init = schedule_init,
    .state_size = schedule_state_size,
    .choose = schedule_choose,
};

/* ---- trt ------------------------------------------------------------------------------------- */

/* Reads 1:4/4:2/8:0 from the key schedule: batch sizes, each with the K from this size on, or up to
 * this size. Releases of TensorRT-LLM differ in which one they mean. With `upto`, batches above the
 * last size do not draft. */
static int read_schedule(spec_length_ranges *ranges, const char *text, bool up_to,
                         spec_error *error)
{
    const char *at = text;
    int last = 0;
    do {
        int size, K;
        if (!(number(&size, &at) && skip(&at, ':') && number(&K, &at)) || K > SPEC_K_MAX ||
            size <= last || (!up_to && last == 0 && size != 1))
            return spec_fail(error, GSL_EINVAL,
                             "trt: schedule=%.60s at '%.20s': give rising batch sizes%s, each with "
                             "its K of 0 to %d, as in schedule=1:4/4:2/8:0",
                             text, at, up_to ? "" : " from 1 on", SPEC_K_MAX);
        if (add_range(ranges, up_to ? last + 1 : size, K) != GSL_SUCCESS) break;
        last = size;
    } while (skip(&at, '/'));
    if (*at != '\0' || (up_to && add_range(ranges, last + 1, 0) != GSL_SUCCESS))
        return spec_fail(error, GSL_EINVAL, "trt: schedule=%.60s: '%.20s' is left over", text, at);
    return GSL_SUCCESS;
}

static int trt_init(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    static const char *const meanings[] = {"from", "upto", NULL};
    const char *schedule = spec_settings_text(settings, "schedule");
    spec_length_ranges *ranges = &choice->trt.schedule;
    int meaning, K, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&K, settings, "K", 4, 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_choice(&meaning, settings, "sizes", 0, meanings, error));
    SPEC_TRY(spec_settings_int(&choice->trt.window, settings, "window", 0, 0, 1 << 20, error));
    SPEC_TRY(
        spec_settings_double(&choice->trt.threshold, settings, "threshold", 0.0, 0.0, 1.0, error));
    if ((choice->trt.window > 0) != (choice->trt.threshold > 0.0))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "trt: give both window= and threshold=, or neither"));
    if (schedule == NULL) {
        add_range(ranges, 1, K);
    } else {
        if (spec_settings_text(settings, "K") != NULL)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "trt: give either K= or schedule=, not both"));
        SPEC_TRY(read_schedule(ranges, schedule, meaning == 1, error));
    }
    for (int i = 0; i < ranges->n; i++)
        if (ranges->K[i] > choice->K_max) choice->K_max = ranges->K[i];
    choice->learns = choice->trt.window > 0;
done:
    return status;
}

/* The rates of the last `window` steps that drafted. */
typedef struct {
    bool off;
    int n, next;
    double sum;
    double rate[];
} gate;

static size_t trt_state_size(const spec_length_choice *choice, int slots)
{
    (void)slots;
    return sizeof(gate) + (size_t)choice->trt.window * sizeof(double);
}

static int trt_choose(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                      int32_t *ret_K)
{
    const gate *run = state;
    (void)ret_K;
    if (run->off) return 0;
    return choice->trt.schedule.K[spec_length_range(&choice->trt.schedule, batch->n)];
}

static void trt_observe(const spec_length_choice *choice, void *state, const spec_step_batch *batch,
                        const int32_t *K, const int32_t *accepted, double seconds)
{
    gate *run = state;
    int64_t drafted = 0, passed = 0;
    (void)seconds;
    if (run->off) return;
    for (int i = 0; i < batch->n; i++) drafted += K[i], passed += accepted[i];
    if (drafted == 0) return;
    const double rate = (double)passed / (double)drafted;
    if (run->n < choice->trt.window)
        run->n++;
    else
        run->sum -= run->rate[run->next];
    run->sum += run->rate[run->next] = rate;
    run->next = (run->next + 1) % choice->trt.window;
    run->off = run->n == choice->trt.window && run->sum / run->n < choice->trt.threshold;
}

const spec_length_kind spec_length_trt = {
    .name = "trt",
    .usage = "trt?K=4&schedule=&sizes=from&window=0&threshold=0",
    .summary = "K by batch size, like TensorRT-LLM's draft_len_schedule; off for good once the "
               "mean of accepted/drafted over `window` steps is below the threshold",
    .reference = "TRT-LLM",
    .init = trt_init,
    .state_size = trt_state_size,
    .choose = trt_choose,
    .observe = trt_observe,
};
