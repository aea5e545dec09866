/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llama-server prints the times of a request, then its drafts, then statistics of the server. We
 * hold a request until the next one begins to print. A request without drafts is plain decoding. */
#include "analysis/acceptance/rounded_counts.h"
#include "tools/advise/readers/llamacpp_run.h"
#include "tools/advise/readers/llamacpp_statistics.h"
#include "tools/advise/readers/log_fields.h"

#include <string.h>

static const char *const generations[] = {
    "draft acceptance rate, without rounds (to June 2026)",
    "mean acceptance length (June 2026)",
    "mean len (since June 2026)",
    NULL,
};

/* From the lines below, llamacpp_statistics.c and llamacpp_run.c. */
static const char *const needles[] = {"eval time =",
                                      "draft acceptance",
                                      "acc per pos = ",
                                      "#gen drafts =",
                                      " seconds, speed:",
                                      "n_draft   = ",
                                      "n_predict = ",
                                      "n_drafted = ",
                                      "n_accept  = ",
                                      "accept    = ",
                                      "slot launch_slot_:",
                                      "stop processing",
                                      " t/s | Generation: ",
                                      "llama_model_loader: loaded",
                                      NULL};

static const char loaded[] = "llama_model_loader: loaded meta data";
static const char launched[] = "slot launch_slot_:";
static const char released[] = "stop processing";
static const char of_depths[] = "acc per pos = ";
static const char speed[] = " t/s | Generation: ";

/* The numbers that the lines print. Each generation has its own name for the length. */
enum { TOKENS, MS, DRAFTED, ACCEPTED, RATE, MEAN_ACCEPTANCE, MEAN_LEN };

enum { SPEEDS = 64 }; /* answers of llama-cli, at most */

/* The request that is being printed. NaN: not printed. */
typedef struct {
    uint64_t line; /* line of its first number */
    uint64_t key;  /* slot and task; 0: the lines do not name them */
    double tokens, seconds;
    double drafted, accepted, length, rate;
    int length_decimals, generation;
    double depth_rate[SPEC_OBSERVED_DEPTHS];
    int n_depths, depth_decimals;
    bool speculating; /* statistics follow */
    bool alone;       /* no other slot was busy during the request */
} request;

typedef struct {
    bool waits;
    request request;
    spec_llamacpp_run run;
    spec_llamacpp_statistics statistics;
    /* times of contexts that belong to a run of llama-speculative, and are skipped */
    int passed_over;
    /* one bit per slot; shared: slots that were busy while another one was */
    uint64_t busy, shared;
    int n_speeds;
    spec_observation speeds[SPEEDS]; /* speeds of llama-cli, handed over at the end */
} llamacpp_state;

/* ---- Records ----------------------------------------------------------------------------------
 */

typedef enum { NOTHING, TIMES, DRAFTS, STATISTICS, DEPTHS, RUN, LOADED, SPEED, SLOT } line_kind;

/* Says what a line is, and where the numbers of its times or drafts begin. */
static line_kind kind_of(const char **ret_at, const char *bytes, size_t n)
{
    const char *at = spec_log_find(bytes, n, "eval time =");
    const bool of_prompt = at != NULL && at - bytes >= 7 && memcmp(at - 7, "prompt ", 7) == 0;
    *ret_at = at;
    if (at != NULL && !of_prompt) return TIMES;
    if ((*ret_at = spec_log_find(bytes, n, "draft acceptance = ")) != NULL) return DRAFTS;
    if ((*ret_at = spec_log_find(bytes, n, "draft acceptance rate = ")) != NULL) return DRAFTS;
    if (spec_llamacpp_statistics_concerns(bytes, n)) return STATISTICS;
    if (spec_log_find(bytes, n, of_depths) != NULL) return DEPTHS;
    if (spec_llamacpp_run_concerns(bytes, n)) return RUN;
    if (spec_log_find(bytes, n, loaded) != NULL) return LOADED;
    if (spec_log_find(bytes, n, speed) != NULL) return SPEED;
    if (spec_log_find(bytes, n, "slot ") == NULL) return NOTHING;
    return spec_log_find(bytes, n, launched) != NULL || spec_log_find(bytes, n, released) != NULL
               ? SLOT
               : NOTHING;
}

static bool concerns(const char *bytes, size_t n)
{
    const char *at;
    return kind_of(&at, bytes, n) != NOTHING;
}

/* ---- Slots and tasks ---- */

/* Returns 1 plus a number made of the slot and the task in "slot print_timing: id 0 | task 12 |".
 * Without them returns 0 and sets *ret_slot to -1. */
static uint64_t key_of(const spec_log_record *record, int *ret_slot)
{
    spec_log_scan scan = spec_log_scan_of(record);
    double slot, task;
    *ret_slot = -1;
    if (!spec_log_scan_find(&scan, "slot ") || !spec_log_scan_find(&scan, ": id ") ||
        spec_log_scan_count(&slot, &scan, "id", NULL) != GSL_SUCCESS ||
        !spec_log_scan_find(&scan, "| task ") ||
        spec_log_scan_count(&task, &scan, "task", NULL) != GSL_SUCCESS || slot >= 65536.0 ||
        task >= 0x1p40)
        return 0;
    if (slot < 64.0) *ret_slot = (int)slot;
    return 1 + ((uint64_t)slot << 40) + (uint64_t)task;
}

static void count_slots(llamacpp_state *state, const spec_log_record *record)
{
    int slot;
    key_of(record, &slot);
    if (slot < 0) return;
    const uint64_t bit = (uint64_t)1 << slot;
    if (spec_log_find(record->bytes, record->n, released) != NULL) {
        /* some versions say this before they print its times, so shared stays */
        state->busy &= ~bit;
        return;
    }
    state->busy |= bit;
    state->shared &= ~bit;
    if (state->busy != bit) state->shared |= state->busy;
}

/* ---- The request that waits ---- */

static int bad(const spec_log_record *record, const request *r, spec_error *error, const char *what)
{
    spec_log_record place = *record;
    place.line = r->line;
    return spec_log_bad(&place, error, "%s (%.0f accepted of %.0f drafted, %.0f tokens)", what,
                        r->accepted, r->drafted, r->tokens);
}

/* Computes the rounds of a line without a mean length. The statistics after it give them, if they
 * cover only this request. */
static int rounds_without_length(spec_observation *o, const request *r,
                                 const spec_observation *opt_since, const spec_log_record *record,
                                 spec_error *error)
{
    /* Tokens accepted in the last round count even if the output ended before them. */
    if (r->accepted > r->tokens + SPEC_OBSERVED_DEPTHS)
        return bad(record, r, error, "expected accepted tokens to be in the output");
    if (!isnan(r->tokens)) o->passes = fmax(r->tokens - r->accepted, 1.0);
    if (opt_since == NULL) return GSL_SUCCESS;
    o->rounds = o->rounds_low = o->rounds_high = opt_since->rounds;
    o->depths = opt_since->depths;
    memcpy(o->passed, opt_since->passed, sizeof o->passed);
    if (!isnan(o->passes)) o->passes = fmax(o->passes, o->rounds);
    return GSL_SUCCESS;
}

static int count_rounds(spec_observation *o, const request *r, const spec_observation *opt_since,
                        const spec_log_record *record, spec_error *error)
{
    spec_rounded_recovery recovery;
    const spec_rounded_counts printed = {.accepted = (uint64_t)r->accepted,
                                         .drafted = (uint64_t)r->drafted,
                                         .length = r->length,
                                         .length_digits = r->length_decimals,
                                         .n = r->n_depths,
                                         .rate = r->depth_rate,
                                         .rate_digits = r->depth_decimals};
    if (isnan(r->length)) return rounds_without_length(o, r, opt_since, record, error);
    o->depths = r->n_depths;
    if (spec_rounded_counts_recover(&recovery, &printed) != GSL_SUCCESS)
        return bad(record, r, error,
                   "expected a length and rates by depth that belong to one number of rounds");
    const double cut =
        r->n_depths > 0 ? r->n_depths : r->drafted - (double)recovery.rounds_low + 1.0;
    const double most = r->tokens - r->accepted + cut; /* NaN: no limit */
    if ((double)recovery.rounds_low > most)
        return bad(record, r, error, "expected rounds and accepted tokens to sum to the output");
    o->rounds_low = (double)recovery.rounds_low;
    o->rounds_high = fmin((double)recovery.rounds_high, most);
    o->rounds = fmin((double)recovery.rounds, most);
    for (int i = 0; i < o->depths; i++) o->passed[i] = (double)recovery.passed[i];
    if (!isnan(r->tokens)) o->passes = fmax(r->tokens - r->accepted, o->rounds);
    return GSL_SUCCESS;
}

static int hand_over(llamacpp_state *state, spec_log_learned *learned,
                     const spec_log_record *record, spec_error *error)
{
    const request *r = &state->request;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, r->line);
    spec_llamacpp_request parts;
    if (!state->waits) return GSL_SUCCESS;
    state->waits = false;
    spec_llamacpp_statistics_request(&parts, &state->statistics, r->drafted, r->accepted);
    const bool speculates = !isnan(r->drafted);
    /* One token is the prompt's; these times do not include it. */
    if (!speculates && !(r->tokens > 1.0)) return GSL_SUCCESS;
    if (speculates) {
        o.K = record->K;
        o.emitted = r->tokens;
    } else {
        spec_observation_decode_plainly(&o, r->tokens);
        if (r->speculating) o.K = record->K;
    }
    if (r->seconds > 0.0) o.seconds = r->seconds;
    if (r->alone) o.running = 1.0;
    o.printed_length = r->length;
    o.printed_rate = r->rate;
    unsigned gaps = isnan(o.seconds) ? SPEC_LOG_NO_TIMES : 0;
    if (speculates) {
        o.drafted = r->drafted;
        o.accepted = r->accepted;
        SPEC_PASS(count_rounds(&o, r, parts.n == 1 ? &parts.of_way[0] : NULL, record, error));
        if (parts.n == 1) {
            o.label = parts.of_way[0].label;
            if (o.K < 0) o.K = parts.of_way[0].K;
        }
        if (isnan(o.rounds) && parts.n == 0) gaps |= SPEC_LOG_NO_ROUNDS;
        if (o.depths == 0) gaps |= SPEC_LOG_NO_DEPTHS;
        if (r->generation > learned->generation) learned->generation = r->generation;
        learned->gaps = gaps;
    } else if (learned->generation < 0) {
        learned->gaps = gaps;
    }
    if (parts.n <= 1) SPEC_PASS(spec_log_hand_over(record, &o, error));
    /* Several methods drafted. Each has its own acceptance, but its time is not known. */
    for (int i = 0; parts.n > 1 && i < parts.n; i++) {
        parts.of_way[i].line = r->line;
        SPEC_PASS(spec_log_hand_over(record, &parts.of_way[i], error));
    }
    return GSL_SUCCESS;
}

/* Finds the request that a line with `key` is about: the one we hold, or a new one. */
static int request_of(llamacpp_state *state, spec_log_learned *learned,
                      const spec_log_record *record, bool begins, spec_error *error)
{
    int slot;
    const uint64_t key = key_of(record, &slot);
    request *r = &state->request;
    const bool other = key != 0 && r->key != 0 && key != r->key;
    if (begins || other || !state->waits) {
        SPEC_PASS(hand_over(state, learned, record, error));
        *r = (request){.line = record->line,
                       .key = key,
                       .tokens = NAN,
                       .seconds = NAN,
                       .drafted = NAN,
                       .accepted = NAN,
                       .length = NAN,
                       .rate = NAN,
                       .alone = slot < 0 || (state->shared >> slot & 1) == 0};
        state->waits = true;
    }
    if (key != 0) r->key = key;
    state->statistics.requests = true;
    return GSL_SUCCESS;
}

/* ---- Lines ---- */

static const spec_log_field times_fields[] = {
    {"eval time =", "ms /", SPEC_LOG_REAL, true, MS},
    {NULL, NULL, SPEC_LOG_COUNT, true, TOKENS},
    {0},
};
static const spec_log_line times = {"eval time", NULL, times_fields};

static const spec_log_field drafts_fields[] = {
    {"draft acceptance =", "(", SPEC_LOG_REAL, true, RATE},
    {NULL, "accepted /", SPEC_LOG_COUNT, true, ACCEPTED},
    {NULL, "generated)", SPEC_LOG_COUNT, true, DRAFTED},
    {"draft acceptance rate =", "(", SPEC_LOG_REAL, false, RATE},
    {NULL, "accepted /", SPEC_LOG_COUNT, false, ACCEPTED},
    {NULL, "generated)", SPEC_LOG_COUNT, false, DRAFTED},
    {"mean acceptance length =", NULL, SPEC_LOG_REAL, false, MEAN_ACCEPTANCE},
    {"mean len =", NULL, SPEC_LOG_REAL, false, MEAN_LEN},
    {"acceptance rate per position = (", ")", SPEC_LOG_RATES, false, 0},
    {"acc per pos = (", ")", SPEC_LOG_RATES, false, 0},
    {0},
};
static const spec_log_line drafts = {"draft acceptance", NULL, drafts_fields};

static int read_times(llamacpp_state *state, spec_log_learned *learned,
                      const spec_log_record *record, const char *at, spec_error *error)
{
    spec_log_scan scan = {at, record->bytes + record->n, record};
    spec_log_numbers line;
    SPEC_PASS(spec_log_fields_read(&line, &times, &scan, error));
    const bool runs = spec_log_scan_word(&scan, "runs");
    if (!runs) SPEC_PASS(spec_log_scan_expect(&scan, "tokens", "eval time", error));
    if (!spec_log_scan_find(&scan, "tokens per second)"))
        return spec_log_bad(record, error,
                            "eval time: expected one record that ends with 'tokens per second)'");
    if (runs && state->passed_over > 0) {
        state->passed_over--;
        return GSL_SUCCESS;
    }
    SPEC_PASS(request_of(state, learned, record, true, error));
    state->request.tokens = line.value[TOKENS];
    state->request.seconds = line.value[MS] / 1000.0;
    return GSL_SUCCESS;
}

static void keep_depths(request *r, const spec_log_numbers *line)
{
    if (line->n == 0) return;
    r->n_depths = line->n;
    r->depth_decimals = line->list_decimals;
    memcpy(r->depth_rate, line->list, sizeof r->depth_rate);
}

static int check_drafts(const spec_log_numbers *line, const spec_log_record *record,
                        spec_error *error)
{
    const double *v = line->value, rate = v[ACCEPTED] / v[DRAFTED];
    if (v[ACCEPTED] > v[DRAFTED])
        return spec_log_bad(record, error,
                            "draft acceptance: expected at most %.0f accepted, not %.0f",
                            v[DRAFTED], v[ACCEPTED]);
    /* The server divides in float. */
    if (!(fabs(v[RATE] - rate) <= spec_log_scan_half_unit(line->decimals[RATE]) + 1e-6))
        return spec_log_bad(record, error,
                            "draft acceptance: expected %.5f, accepted over generated, not %g",
                            rate, v[RATE]);
    return GSL_SUCCESS;
}

static int read_drafts(llamacpp_state *state, spec_log_learned *learned,
                       const spec_log_record *record, const char *at, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_log_scan scan = {at, record->bytes + record->n, record};
    spec_log_numbers line;
    request *r = &state->request;
    SPEC_TRY(request_of(state, learned, record, state->waits && !isnan(r->drafted), error));
    r->line = record->line;
    SPEC_TRY(spec_log_fields_read(&line, &drafts, &scan, error));
    SPEC_TRY(check_drafts(&line, record, error));
    r->generation = spec_log_numbers_has(&line, MEAN_LEN)          ? 2
                    : spec_log_numbers_has(&line, MEAN_ACCEPTANCE) ? 1
                                                                   : 0;
    const int length = r->generation == 2 ? MEAN_LEN : MEAN_ACCEPTANCE;
    r->rate = line.value[RATE];
    r->accepted = line.value[ACCEPTED];
    r->drafted = line.value[DRAFTED];
    r->length = line.value[length];
    r->length_decimals = line.decimals[length];
    keep_depths(r, &line);
done:
    /* The line itself is wrong, so we hold nothing. */
    if (status != GSL_SUCCESS) state->waits = false;
    return status;
}

static int read_depths(llamacpp_state *state, const spec_log_record *record, spec_error *error)
{
    static const spec_log_field fields[] = {{"acc per pos = (", ")", SPEC_LOG_RATES, false, 0},
                                            {0}};
    static const spec_log_line form = {"acc per pos", NULL, fields};
    spec_log_scan scan = spec_log_scan_of(record);
    spec_log_numbers line;
    if (!state->waits || isnan(state->request.drafted)) return GSL_SUCCESS;
    const int status = spec_log_fields_read(&line, &form, &scan, error);
    if (status == GSL_SUCCESS) keep_depths(&state->request, &line);
    return status;
}

/* Reads llama-cli's "[ Prompt: 57.0 t/s | Generation: 5.5 t/s ]", the speed of an answer of unknown
 * length. */
static int read_speed(llamacpp_state *state, const spec_log_record *record, spec_error *error)
{
    static const spec_log_field fields[] = {{speed, "t/s ]", SPEC_LOG_REAL, true, 0}, {0}};
    static const spec_log_line form = {"Generation", NULL, fields};
    spec_log_scan scan = spec_log_scan_of(record);
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_REQUEST, record->line);
    spec_log_numbers line;
    const int status = spec_log_fields_read(&line, &form, &scan, error);
    if (status != GSL_SUCCESS || state->waits || !(line.value[0] > 0.0)) return status;
    spec_observation_decode_plainly(&o, line.value[0]);
    o.seconds = o.running = 1.0;
    if (state->n_speeds < SPEEDS) state->speeds[state->n_speeds++] = o;
    return GSL_SUCCESS;
}

/* Hands over the speeds. If the log has drafts, they belong to speculation with an unknown number
 * of rounds; if it has requests, they only repeat them. */
static int hand_over_speeds(llamacpp_state *state, spec_log_learned *learned,
                            const spec_log_record *record, spec_error *error)
{
    const bool plain = state->statistics.n == 0 && !state->statistics.requests;
    for (int i = 0; plain && i < state->n_speeds; i++) {
        learned->gaps = 0;
        SPEC_PASS(spec_log_hand_over(record, &state->speeds[i], error));
    }
    return GSL_SUCCESS;
}

/* Reads a line after which no request waits. */
static int read_other(llamacpp_state *state, spec_log_learned *learned,
                      const spec_log_record *record, line_kind kind, spec_error *error)
{
    bool ended;
    SPEC_PASS(hand_over(state, learned, record, error));
    if (kind == RUN) {
        SPEC_PASS(spec_llamacpp_run_read(&state->run, &ended, learned, record, error));
        if (ended) state->passed_over = 2; /* of the draft and of the target */
    } else {
        spec_llamacpp_statistics_restart(&state->statistics);
        state->passed_over = 0;
        state->busy = state->shared = 0;
    }
    return GSL_SUCCESS;
}

static int read(void *self, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    llamacpp_state *state = self;
    const char *at;
    const line_kind kind = kind_of(&at, record->bytes, record->n);
    switch (kind) {
    case TIMES: return read_times(state, learned, record, at, error);
    case DRAFTS: return read_drafts(state, learned, record, at, error);
    case STATISTICS:
        if (state->waits) state->request.speculating = true;
        return spec_llamacpp_statistics_read(&state->statistics, learned, record, error);
    case DEPTHS: return read_depths(state, record, error);
    case RUN:
    case LOADED: return read_other(state, learned, record, kind, error);
    case SPEED: return read_speed(state, record, error);
    case SLOT: count_slots(state, record); break;
    case NOTHING: break;
    }
    return GSL_SUCCESS;
}

static int end(void *self, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error)
{
    llamacpp_state *state = self;
    SPEC_PASS(hand_over(state, learned, last, error));
    SPEC_PASS(spec_llamacpp_statistics_end(&state->statistics, last, error));
    return hand_over_speeds(state, learned, last, error);
}

const spec_log_format spec_reader_llamacpp_log = {
    .name = "llama.cpp-log", .engine = "llama.cpp",
    .summary = "the times and drafts that llama-server, llama-speculative and llama-cli print",
    .generations = generations,
    .concerns = concerns,
    .needles = needles, .state_size = sizeof(llamacpp_state), .read = read, .end = end};
