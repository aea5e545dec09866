/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log prints ratios and no counts. A line covers a fixed number of decode steps. We take rounds
 * as steps times the running requests on the line; this weight is exact while no request comes or
 * goes. Seconds are the tokens of these rounds over the printed throughput, so the time of a round
 * does not depend on the weight. Time stamps are not used, because they are whole seconds, as long
 * as a window. */
#include "speclab/no_memory.h"
#include "tools/advise/readers/log_fields.h"
#include "tools/advise/readers/sglang_rates.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 40,      /* the default of --decode-log-interval */
    RANKS = 256,     /* data-parallel ranks */
    WAITING = 64,    /* observations that wait for the draft length */
    BATCHES = 16,    /* powers of 2 */
    STAMP = 80,      /* bytes of a time stamp with ranks */
    NUMBER = 100000, /* largest setting or rank */
};

/* If a step takes this many times the shortest one at its batch, or at a larger batch, the engine
 * paused, or the step includes prompts. */
static const double PAUSE = 4.0;

static const char *const generations[] = {
    "only accept len (to September 2025)",
    "accept rate with the bonus token (to November 2025)",
    "accept rate of draft tokens (since November 2025)",
    NULL,
};

/* With at least this many draft tokens per round, a log without settings may come from trees. */
enum { TREE_SUSPECTED = 7 };

/* A data-parallel rank. If several ranks print the same line, we count only the first one. */
typedef struct {
    uint64_t label;
    uint64_t printer;
    double running;          /* `running` on the previous line */
    double step[2][BATCHES]; /* shortest step, plain and with drafts; 0: none */
} rank;

typedef struct {
    /* From "server_args=ServerArgs(...)"; 0: not known. */
    int steps, draft_steps, draft_tokens, siblings;
    int n_ranks;
    rank ranks[RANKS];
    spec_sglang_rates rates;
    int n_waiting;
    spec_observation waiting[WAITING];
    uint64_t windows, pauses, unfit; /* unfit: number of accept rates that fit no draft length */
    bool decodes; /* 'Decode batch' lines have accept lengths, so requests are ignored */
    int n_requests;
    spec_observation request[WAITING]; /* requests that wait for such a line */
    uint64_t passed_over;              /* number of ignored requests */
} sglang_state;

static const char verify[] = "'spec_verify_ct': ";

static bool has_requests(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, verify) != NULL;
}

static bool concerns(const char *bytes, size_t n)
{
    const char *place = spec_log_find(bytes, n, "Decode batch");
    if (place == NULL)
        return spec_log_find(bytes, n, "server_args=ServerArgs(") != NULL || has_requests(bytes, n);
    return spec_log_find(place, n - (size_t)(place - bytes), "#running-req: ") != NULL;
}

enum { RUNNING, LENGTH, RATE, THROUGHPUT };

/* ---- The settings of the server ---- */

/* Returns the number after a name, as in "speculative_num_steps=3" and "TP3"; 0 for None, for any
 * other text, or if the name is missing. */
static int number_of(spec_log_scan scan, const char *name)
{
    double value;
    if (!spec_log_scan_find(&scan, name)) return 0;
    const bool read = spec_log_scan_count(&value, &scan, name, NULL) == GSL_SUCCESS;
    return read && value <= NUMBER ? (int)value : 0;
}

static void start(sglang_state *state, const spec_log_record *record)
{
    const spec_log_scan args = spec_log_scan_of(record);
    state->n_ranks = 0;
    state->rates = (spec_sglang_rates){0};
    state->steps = number_of(args, "decode_log_interval=");
    state->draft_steps = number_of(args, "speculative_num_steps=");
    state->draft_tokens = number_of(args, "speculative_num_draft_tokens=");
    state->siblings = number_of(args, "speculative_eagle_topk=");
}

/* Returns whether a log without the server's settings has a rate for more tokens than the user's
 * draft length, which means trees of that depth. */
static bool is_given_tree(const sglang_state *state, int K_given)
{
    return state->draft_steps == 0 && state->draft_tokens == 0 && K_given >= 1 &&
           spec_sglang_rates_K(&state->rates) > K_given;
}

static bool is_tree(const sglang_state *state, int K_given)
{
    return (state->siblings > 1 && state->draft_steps > 0) || is_given_tree(state, K_given);
}

/* Returns the tokens of a round, including the root; 0 if not known. */
static int width(const sglang_state *state, int K_given)
{
    if (is_given_tree(state, K_given)) return spec_sglang_rates_K(&state->rates) + 1;
    if (state->draft_tokens >= 2) return state->draft_tokens;
    return state->draft_steps > 0 && state->siblings <= 1 ? state->draft_steps + 1 : 0;
}

/* Returns the draft length from the settings, the lines or the user; -1: not known. */
static int draft_length(const sglang_state *state, const spec_log_record *record)
{
    if (is_given_tree(state, record->K)) return record->K;
    const int given = is_tree(state, record->K) ? state->draft_steps : width(state, record->K) - 1;
    if (given >= 1) return given <= SPEC_OBSERVED_DEPTHS ? given : -1;
    const int inferred = spec_sglang_rates_K(&state->rates);
    if (inferred >= 1) return inferred;
    const bool agrees = spec_sglang_rates_agree(&state->rates, SPEC_SGLANG_OPEN, record->K);
    return agrees ? record->K : -1;
}

/* ---- Observations ---- */

static void learn_meaning(const sglang_state *state, spec_log_learned *learned, int K_given, int K,
                          bool printed)
{
    spec_sglang_meaning meaning = spec_sglang_rates_meaning(&state->rates);
    const int denominator = is_tree(state, K_given) ? width(state, K_given) - 1 : K;
    if (meaning == SPEC_SGLANG_OPEN && denominator >= 1) {
        const bool bonus = spec_sglang_rates_agree(&state->rates, SPEC_SGLANG_BONUS, denominator);
        const bool drafts = spec_sglang_rates_agree(&state->rates, SPEC_SGLANG_DRAFTS, denominator);
        if (bonus != drafts) meaning = bonus ? SPEC_SGLANG_BONUS : SPEC_SGLANG_DRAFTS;
    }
    const int generation = !printed ? 0 : meaning == SPEC_SGLANG_OPEN ? -1 : (int)meaning;
    if (generation > learned->generation) learned->generation = generation;
    learned->gaps = SPEC_LOG_ROUNDED | SPEC_LOG_NO_DEPTHS;
    if (learned->generation == SPEC_SGLANG_BONUS) learned->gaps |= SPEC_LOG_OLD_MEANING;
    if (is_tree(state, K_given)) learned->gaps |= SPEC_LOG_TREE;
}

static int hand_over(const sglang_state *state, const spec_log_record *record,
                     spec_observation *observation, int K, spec_error *error)
{
    const int nodes = is_tree(state, record->K) ? width(state, record->K) - 1 : K;
    observation->K = K;
    if (K >= 1 && nodes >= 1) observation->drafted = nodes * observation->rounds;
    return spec_log_hand_over(record, observation, error);
}

static int hand_over_waiting(sglang_state *state, const spec_log_record *record, int K,
                             spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < state->n_waiting; i++)
        SPEC_TRY(hand_over(state, record, &state->waiting[i], K, error));
done:
    state->n_waiting = 0;
    return status;
}

/* Returns the seconds of a window of steady decoding; NaN otherwise. The throughput on a rank's
 * first line is averaged since the start of the server. */
static double seconds_of(sglang_state *state, rank *r, bool drafts, double tokens, double running,
                         double throughput)
{
    const double seconds = throughput > 0.0 ? tokens / throughput : NAN;
    const bool first = r->running == 0.0;
    int batch = 0;
    while (batch < BATCHES - 1 && running >= (double)(2 << batch)) batch++;
    if (first || isnan(seconds)) return NAN;
    double *step = r->step[drafts];
    double least = seconds;
    for (int b = batch; b < BATCHES; b++)
        if (step[b] > 0.0 && step[b] < least) least = step[b];
    if (step[batch] == 0.0 || seconds < step[batch]) step[batch] = seconds;
    state->windows++;
    if (seconds <= PAUSE * least) return seconds;
    state->pauses++;
    return NAN;
}

/* ---- Lines ---- */

/* Finds the rank of a line. *ret is NULL if another rank also prints it. */
static int find_rank(rank **ret, sglang_state *state, const spec_log_record *record,
                     const char *message, spec_error *error)
{
    const char *end = message, *begin;
    uint64_t label = 0;
    uint64_t printer = 0;
    *ret = NULL;
    while (end > record->bytes && end[-1] == ' ') end--;
    begin = end;
    if (end > record->bytes && end[-1] == ']')
        while (begin > record->bytes && end - begin < STAMP && *begin != '[') begin--;
    if (*begin == '[') {
        const spec_log_scan stamp = {begin, end, record};
        spec_log_scan data_parallel = stamp;
        char name[16];
        printer = (uint64_t)number_of(stamp, " PP") << 32 | (uint64_t)number_of(stamp, " TP");
        if (spec_log_scan_find(&data_parallel, " DP")) {
            snprintf(name, sizeof name, "DP%d", number_of(stamp, " DP"));
            label = spec_log_label(name, strlen(name));
        }
    }
    for (int i = 0; i < state->n_ranks; i++) {
        if (state->ranks[i].label != label) continue;
        if (state->ranks[i].printer == printer) *ret = &state->ranks[i];
        return GSL_SUCCESS;
    }
    if (state->n_ranks == RANKS)
        return spec_log_bad(record, error, "expected at most %d data-parallel ranks", RANKS);
    *ret = &state->ranks[state->n_ranks++];
    **ret = (rank){.label = label, .printer = printer};
    return GSL_SUCCESS;
}

static const spec_log_field decode_fields[] = {
    {"#running-req:", NULL, SPEC_LOG_COUNT, true, RUNNING},
    {"accept len:", NULL, SPEC_LOG_REAL, false, LENGTH},
    {"accept rate:", NULL, SPEC_LOG_REAL, false, RATE},
    {"gen throughput (token/s):", NULL, SPEC_LOG_REAL, true, THROUGHPUT},
    {0},
};
static const spec_log_line decode = {"Decode batch", NULL, decode_fields};

static int parse(spec_log_numbers *ret, spec_log_scan scan, spec_error *error)
{
    const int status = spec_log_fields_read(ret, &decode, &scan, error);
    const double length = ret->value[LENGTH], rate = ret->value[RATE];
    if (status != GSL_SUCCESS) return status;
    if (length > 0.0 && length < 1.0)
        return spec_log_bad(scan.record, error,
                            "accept len: expected 1 or more, the bonus token included, not %g",
                            length);
    if (rate > 1.0)
        return spec_log_bad(scan.record, error, "accept rate: expected at most 1, not %g", rate);
    return GSL_SUCCESS;
}

/* If the draft length is known, hands over the observation and those that wait; otherwise keeps it
 * waiting. */
static int take_drafted(sglang_state *state, spec_log_learned *learned,
                        const spec_log_record *record, spec_observation *observation,
                        const spec_log_numbers *line, spec_error *error)
{
    const bool printed = !isnan(line->value[RATE]);
    if (printed) {
        const spec_sglang_rates before = state->rates;
        const bool agrees = spec_sglang_rates_add(
            &state->rates, line->value[LENGTH], spec_log_scan_half_unit(line->decimals[LENGTH]),
            line->value[RATE], spec_log_scan_half_unit(line->decimals[RATE]));
        if (!agrees) { /* from here on the draft length is different */
            const spec_sglang_rates after = state->rates;
            state->rates = before;
            SPEC_PASS(hand_over_waiting(state, record, draft_length(state, record), error));
            state->rates = after;
            state->unfit++;
        }
    }
    const int K = draft_length(state, record);
    learn_meaning(state, learned, record->K, K, printed);
    const bool fits = state->rates.not_bonus != 0 || state->rates.not_drafts != 0;
    const bool known = K >= 1 || !printed || !fits;
    if (!known && state->n_waiting < WAITING) {
        state->waiting[state->n_waiting++] = *observation;
        return GSL_SUCCESS;
    }
    SPEC_PASS(hand_over_waiting(state, record, K, error));
    return hand_over(state, record, observation, K, error);
}

/* ---- Lines of requests ---- */

/* Turns a line with dictionaries as Python prints them into JSON. The result is at most as long as
 * the line: characters that JSON would escape become '?', since only texts contain them. */
static size_t write_json(char *to, const char *at, const char *end)
{
    static const char *const words[][2] = {{"None", "null"}, {"True", "true"}, {"False", "false"}};
    const char *const begin = to;
    char quote = '\0'; /* of the string around `at` */
    while (at < end) {
        char c = *at++;
        if (quote != '\0') {
            if (c == quote) {
                quote = '\0';
                c = '"';
            } else if (c == '\\' || c == '"') {
                at += c == '\\' && at < end;
                c = '?';
            }
        } else if (c == '\'' || c == '"') {
            quote = c;
            c = '"';
        } else if (c == '(' || c == ')') {
            c = c == '(' ? '[' : ']'; /* a tuple; before the dictionary it does not matter */
        }
        *to++ = c;
        for (size_t w = 0; quote == '\0' && w < sizeof words / sizeof *words; w++) {
            const size_t n = strlen(words[w][0]);
            if ((size_t)(end - at) < n - 1 || memcmp(at - 1, words[w][0], n) != 0) continue;
            memcpy(to - 1, words[w][1], n);
            to += n - 1;
            at += n - 1;
        }
    }
    return (size_t)(to - begin);
}

static void learn_requests(spec_log_learned *learned, const spec_observation *o)
{
    learned->gaps = (o->depths > 0 ? 0 : (unsigned)SPEC_LOG_NO_DEPTHS) |
                    (isnan(o->seconds) ? (unsigned)SPEC_LOG_NO_TIMES : 0);
}

static int hand_over_requests(sglang_state *state, spec_log_learned *learned,
                              const spec_log_record *record, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < state->n_requests; i++) {
        learn_requests(learned, &state->request[i]);
        SPEC_TRY(spec_log_hand_over(record, &state->request[i], error));
    }
done:
    state->n_requests = 0;
    return status;
}

typedef struct {
    sglang_state *state;
    spec_log_learned *learned;
    const spec_log_record *record;
} request_taker;

/* Takes a request. The lines of batches show the same rounds, and also the times under load, so if
 * a log has both, we use the lines of batches. The first requests wait until we know. */
static int take_request(void *self, const spec_observation *o, spec_error *error)
{
    const request_taker *to = self;
    sglang_state *state = to->state;
    if (state->decodes) {
        state->passed_over++;
        return GSL_SUCCESS;
    }
    if (state->n_requests == WAITING)
        SPEC_PASS(hand_over_requests(state, to->learned, to->record, error));
    state->request[state->n_requests++] = *o;
    return GSL_SUCCESS;
}

/* Reads the lines "Finish: ..." of --log-requests, which have Python's text of the response's
 * meta_info. */
static int read_requests(sglang_state *state, spec_log_learned *learned,
                         const spec_log_record *record, spec_error *error)
{
    request_taker taker = {state, learned, record};
    const spec_observer observer = {take_request, &taker};
    spec_log_learned of_responses = {.generation = -1};
    spec_log_record response = *record;
    char *json = malloc(record->n + 1);
    if (json == NULL) return spec_no_memory_for(error, record->file);
    response.bytes = json;
    response.n = write_json(json, record->bytes, record->bytes + record->n);
    response.observer = &observer;
    json[response.n] = '\0';
    const int status = spec_reader_sglang_response.read(NULL, &of_responses, &response, error);
    free(json);
    return status;
}

static int read(void *self, spec_log_learned *learned, const spec_log_record *record,
                spec_error *error)
{
    sglang_state *state = self;
    spec_log_scan message = spec_log_scan_of(record);
    spec_observation observation = spec_observation_empty(SPEC_OBSERVED_WINDOW, record->line);
    spec_log_numbers line;
    rank *r;
    if (has_requests(record->bytes, record->n)) return read_requests(state, learned, record, error);
    if (!spec_log_scan_find(&message, "Decode batch")) {
        SPEC_PASS(hand_over_waiting(state, record, draft_length(state, record), error));
        start(state, record);
        return GSL_SUCCESS;
    }
    SPEC_PASS(parse(&line, message, error));
    SPEC_PASS(find_rank(&r, state, record, message.at - strlen("Decode batch"), error));
    if (r == NULL) return GSL_SUCCESS;
    const bool plain = isnan(line.value[LENGTH]);
    const double steps = state->steps > 0 ? state->steps : STEPS;
    const double passes = steps * line.value[RUNNING], before = r->running;
    const double tokens = plain ? passes : line.value[LENGTH] * passes;
    observation.label = r->label;
    observation.running = line.value[RUNNING];
    observation.passes = passes;
    observation.emitted = tokens;
    observation.seconds =
        seconds_of(state, r, !plain, tokens, line.value[RUNNING], line.value[THROUGHPUT]);
    r->running = line.value[RUNNING];
    if (!(tokens > 0.0)) return GSL_SUCCESS; /* no request is running, or nothing was verified */
    if (plain) {
        spec_observation_decode_plainly(&observation, tokens);
        if (learned->gaps == 0) learned->gaps = SPEC_LOG_ROUNDED;
        SPEC_PASS(spec_log_hand_over(record, &observation, error));
        return GSL_SUCCESS;
    }
    state->decodes = true;
    state->passed_over += (uint64_t)state->n_requests;
    state->n_requests = 0;
    observation.rounds = passes;
    observation.rounds_low = before > 0.0 ? fmin(passes, steps * before) : passes;
    observation.rounds_high = fmax(passes, steps * before);
    observation.accepted = tokens - passes;
    observation.printed_length = line.value[LENGTH];
    observation.printed_rate = line.value[RATE];
    return take_drafted(state, learned, record, &observation, &line, error);
}

static int end(void *self, spec_log_learned *learned, const spec_log_record *last,
               spec_error *error)
{
    sglang_state *state = self;
    const int K = spec_sglang_rates_K(&state->rates);
    if (is_given_tree(state, last->K))
        snprintf(learned->note, sizeof learned->note,
                 "accept rate counts %d draft tokens per round, more than the %d given: read as "
                 "trees of that depth",
                 K, last->K);
    else if (last->K >= 1 && K >= 1 && K != last->K)
        snprintf(learned->note, sizeof learned->note,
                 "accept len and accept rate belong to %d draft tokens, not to the %d given", K,
                 last->K);
    else if (last->K < 1 && K >= TREE_SUSPECTED && state->draft_tokens == 0)
        snprintf(learned->note, sizeof learned->note,
                 "%d draft tokens per round, by accept rate; if they are trees "
                 "(--speculative-eagle-topk above 1), give --current with num_steps",
                 K);
    else if (state->unfit > 0)
        snprintf(learned->note, sizeof learned->note,
                 "the draft length changes: accept len and accept rate disagree with the lines "
                 "before on %llu lines",
                 (unsigned long long)state->unfit);
    else if (state->pauses > 0)
        snprintf(learned->note, sizeof learned->note,
                 "%llu of %llu lines span a pause or long prompts: their times are left out",
                 (unsigned long long)state->pauses, (unsigned long long)state->windows);
    else if (state->passed_over > 0)
        snprintf(learned->note, sizeof learned->note,
                 "%llu requests have acceptance by depth: grep spec_verify_ct FILE, and give only "
                 "these lines",
                 (unsigned long long)state->passed_over);
    SPEC_PASS(hand_over_waiting(state, last, draft_length(state, last), error));
    return hand_over_requests(state, learned, last, error);
}

const spec_log_format spec_reader_sglang_log = {
    .name = "sglang-log", .engine = "sglang",
    .summary = "SGLang's log: the lines 'Decode batch', or 'Finish' of --log-requests",
    .generations = generations,
    .concerns = concerns,
    .needles = SPEC_TEXTS("Decode batch", "server_args=ServerArgs(", "'spec_verify_ct': "),
    .state_size = sizeof(sglang_state), .read = read, .end = end};
