/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The adaptive steps of SGLang: for each range of batch sizes, a moving average of accepted tokens
 * selects one of a few candidates. */
#include "sim/serving/length_kind.h"

#include <math.h>
#include <string.h>

static const char default_slots[] = "1:1.3.5.7/8:0.1.3/32:0.1/64:0";

/* Reads SIZE:K.K.K/SIZE:..., where sizes and K ascend and sizes start at 1. */
static int read_slots(spec_length_choice *choice, const char *text, spec_error *error)
{
    int last = 0;
    for (const char *at = text; *at != '\0';) {
        const int s = choice->sglang.n;
        char slot[128], *list;
        const size_t length = strcspn(at, "/");
        int size = 0, n = 0;
        snprintf(slot, sizeof slot, "%.*s", (int)(length < 127 ? length : 127), at);
        list = strchr(slot, ':');
        if (list != NULL) *list++ = '\0';
        if (list == NULL || !spec_settings_parse_int(&size, slot) || size <= last ||
            (s == 0 && size != 1) || s == SPEC_LENGTH_RANGES_MAX)
            return spec_fail(error, GSL_EINVAL,
                             "sglang: slots=%.80s at '%.20s': give rising batch sizes from 1 on, "
                             "each with candidates, as in slots=%s",
                             text, at, default_slots);
        for (size_t i = 0, end = strlen(list); i < end || n == 0;) {
            int K;
            if (spec_settings_list_int(&K, &i, "slots", list, 0, SPEC_K_MAX, error) != GSL_SUCCESS)
                return GSL_EINVAL;
            if (n == SPEC_LENGTH_CANDIDATES_MAX ||
                (n > 0 && K <= choice->sglang.candidate[s][n - 1]))
                return spec_fail(error, GSL_EINVAL,
                                 "sglang: slots: candidates '%.40s': give at most %d, rising", list,
                                 SPEC_LENGTH_CANDIDATES_MAX);
            choice->sglang.candidate[s][n++] = K;
        }
        choice->sglang.from[s] = last = size;
        choice->sglang.n_candidates[s] = n;
        choice->sglang.n++;
        const int most = choice->sglang.candidate[s][n - 1];
        if (most > choice->K_max) choice->K_max = most;
        at += length + (at[length] == '/');
    }
    return GSL_SUCCESS;
}

static int sglang_init(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    const char *slots = spec_settings_text(settings, "slots");
    double down;
    int status = GSL_SUCCESS;
    SPEC_TRY(read_slots(choice, slots != NULL && *slots != '\0' ? slots : default_slots, error));
    SPEC_TRY(spec_settings_int(&choice->sglang.start, settings, "K", 3, 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_double(&choice->sglang.rate, settings, "rate", 0.2, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_int(&choice->sglang.warm, settings, "warm", 10, 0, 1 << 30, error));
    SPEC_TRY(
        spec_settings_int(&choice->sglang.interval, settings, "interval", 5, 1, 1 << 30, error));
    SPEC_TRY(spec_settings_double(&down, settings, "down", NAN, -10.0, 10.0, error));
    SPEC_TRY(spec_settings_double(&choice->sglang.up, settings, "up", 0.0, -10.0, 10.0, error));
    SPEC_TRY(
        spec_settings_double(&choice->sglang.ceiling, settings, "ceiling", 0.0, 0.0, 100.0, error));
    for (int s = 0; s < choice->sglang.n; s++)
        choice->sglang.down[s] = !isnan(down) ? down : s == 0 ? -0.25 : 0.0;
done:
    return status;
}

typedef struct {
    int at; /* index of the candidate in use */
    int64_t batches;
    double accepted; /* moving average per request */
} slot_state;

static size_t sglang_state_size(const spec_length_choice *choice, int slots)
{
    (void)slots;
    return (size_t)choice->sglang.n * sizeof(slot_state);
}

static void sglang_begin(const spec_length_choice *choice, void *state, int slots)
{
    slot_state *run = state;
    (void)slots;
    for (int s = 0; s < choice->sglang.n; s++) {
        const int n = choice->sglang.n_candidates[s];
        int at = 0;
        while (at < n && choice->sglang.candidate[s][at] != choice->sglang.start) at++;
        if (at == n) at = n / 2;
        run[s] = (slot_state){.at = at, .accepted = choice->sglang.candidate[s][at] - 1};
    }
}

static int slot_of(const spec_length_choice *choice, int n)
{
    int s = choice->sglang.n - 1;
    while (s > 0 && choice->sglang.from[s] > n) s--;
    return s;
}

static int sglang_choose(const spec_length_choice *choice, void *state,
                         const spec_step_batch *batch, int32_t *ret_K)
{
    const slot_state *run = state;
    const int s = slot_of(choice, batch->n);
    (void)ret_K;
    return choice->sglang.candidate[s][run[s].at];
}

/* Chooses the next candidate of slot s. */
static int move(const spec_length_choice *choice, int s, slot_state *slot)
{
    const int *candidate = choice->sglang.candidate[s], last = choice->sglang.n_candidates[s] - 1;
    const double average = slot->accepted;
    int at = slot->at;
    if (candidate[at] == 0) {
        /* Without drafts we learn nothing, so try the smallest positive candidate. */
        if (at < last) at++;
        if (candidate[at] > 0 && average < 0.0) slot->accepted = candidate[at] - 1;
        return at;
    }
    while (at > 0) {
        const int below = candidate[at - 1];
        const double drop = (below == 0 ? 0.5 : below - 0.5) + choice->sglang.down[s];
        if (average > drop) break;
        at--;
    }
    if (at == slot->at)
        while (at < last && average > candidate[at] - 0.5 + choice->sglang.up) at++;
    if (choice->sglang.ceiling > 0.0) {
        const double ceiling = fmax(1.0, ceil(average * choice->sglang.ceiling));
        if (at <= slot->at)
            while (at > 0 && candidate[at] > ceiling) at--;
    }
    return at;
}

static void sglang_observe(const spec_length_choice *choice, void *state,
                           const spec_step_batch *batch, const int32_t *K, const int32_t *accepted,
                           double seconds)
{
    const int s = slot_of(choice, batch->n);
    slot_state *slot = (slot_state *)state + s;
    (void)K, (void)seconds;
    if (choice->sglang.candidate[s][slot->at] > 0) {
        int64_t sum = 0;
        for (int i = 0; i < batch->n; i++) sum += accepted[i];
        slot->accepted = (1.0 - choice->sglang.rate) * slot->accepted +
                         choice->sglang.rate * (double)sum / batch->n;
    }
    slot->batches++;
    const int64_t since = slot->batches - choice->sglang.warm;
    if (since > 0 && since % choice->sglang.interval == 0) slot->at = move(choice, s, slot);
}

const spec_length_kind spec_length_sglang = {
    .name = "sglang",
    .usage =
        "sglang?K=3&slots=1:1.3.5.7/8:0.1.3/32:0.1/64:0&rate=0.2&warm=10&interval=5&down=&up=0&"
        "ceiling=0",
    .summary = "one of a few K for each range of batch sizes, chosen by a moving average of "
               "accepted tokens, like SGLang's adaptive steps",
    .reference = "SGLang",
    .init = sglang_init,
    .state_size = sglang_state_size,
    .begin = sglang_begin,
    .choose = sglang_choose,
    .observe = sglang_observe,
};
