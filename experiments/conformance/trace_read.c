#include "experiments/conformance/trace_read.h"

#include "models/names.h"
#include "sim/rng.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pairs of a top-k row; bytes of a line without rows, and more for each token of the vocabulary. A row that sums to
 * other than 1 by more than sum_off is a mistake of who wrote it; less is rounding. */
enum { TOP_MAX = 1024, LINE_BYTES = 1 << 17, TOKEN_BYTES = 64, FIRST_TEXTS = 1 << 10 };
static const double sum_off = 1e-3, log_off = 1e-2;

/* What may be there for accepted tokens and missing for corrections. */
enum { THING_TARGET_LOG, THING_DRAFT, THING_ROW, THINGS };

/* What one record says of one model's row. */
typedef struct {
    bool given;
    double *whole;              /* (V) once a whole row was met */
    int n_top, n_top_first;     /* pairs; of the first record that had them, 0: none had */
    int32_t id[TOP_MAX];
    double chance[TOP_MAX];
} side;

struct spec_trace_reader {
    FILE *file;
    const char *name;
    spec_trace_head head;
    uint64_t line_number;
    char *line;
    size_t length, capacity, most;
    side target, draft;
    int *order;                 /* (V) of the transform */
    int32_t cell_id[TOP_MAX + 1];
    double cell_target[TOP_MAX + 1], cell_draft[TOP_MAX + 1];
    spec_trace_text *text;      /* (text_places) hashed; key 0: free */
    size_t text_places, n_texts;
    uint64_t judged[2], there[2][THINGS]; /* corrections, accepted tokens; of these, those with each thing */
};

static int bad(const spec_trace_reader *r, spec_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int bad(const spec_trace_reader *r, spec_error *error, const char *format, ...)
{
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return spec_fail(error, GSL_EINVAL, "%.150s:%llu: %s", r->name, (unsigned long long)r->line_number, what);
}

static int no_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory");
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static int read_line(spec_trace_reader *r, bool *ret_end, spec_error *error)
{
    int c = EOF;
    r->length = 0;
    r->line_number++;
    for (;;) {
        if (r->length == r->capacity) {
            if (r->length >= r->most)
                return bad(r, error, "a line of more than %zu bytes: too long for a vocabulary of %d", r->most,
                           r->head.vocab);
            const size_t more = r->capacity < 256 ? 512 : r->capacity < r->most / 2 ? 2 * r->capacity : r->most;
            char *line = realloc(r->line, more);
            if (line == NULL) return no_memory(error);
            r->line = line;
            r->capacity = more;
        }
        c = getc_unlocked(r->file);
        if (c == EOF || c == '\n') break;
        r->line[r->length++] = (char)c;
    }
    if (c == EOF && ferror(r->file))
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", r->name, strerror(errno));
    *ret_end = c == EOF && r->length == 0;
    return GSL_SUCCESS;
}

/* A value takes dozens of bytes of memory, and two of a line: no more of them than a record can have. */
static int parse_line(json_t **ret, spec_trace_reader *r, spec_error *error)
{
    const size_t most = 4 * (size_t)r->head.vocab + 4 * TOP_MAX + 64;
    size_t commas = 0;
    json_error_t why;
    *ret = NULL;
    if (memchr(r->line, '\0', r->length) != NULL) return bad(r, error, "a NUL byte"); /* the end, to Jansson */
    for (const char *c = r->line, *end = c + r->length; (c = memchr(c, ',', (size_t)(end - c))) != NULL; c++) commas++;
    if (commas > most) return bad(r, error, "more values than two rows of a vocabulary of %d have", r->head.vocab);
    *ret = json_loadb(r->line, r->length, JSON_REJECT_DUPLICATES, &why);
    if (*ret == NULL)
        return bad(r, error, "%s at byte %d", r->length == 0 ? "an empty line" : why.text, why.position);
    if (json_is_object(*ret)) return GSL_SUCCESS;
    json_decref(*ret);
    *ret = NULL;
    return bad(r, error, "not a JSON object");
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static int read_real(double *ret, const spec_trace_reader *r, const char *key, const json_t *value, double least,
                     double most, spec_error *error)
{
    *ret = json_number_value(value);
    if (!json_is_number(value)) return bad(r, error, "\"%s\" is not a number", key);
    if (*ret >= least && *ret <= most) return GSL_SUCCESS;
    return bad(r, error, "\"%s\" is %g: it is from %g to %g", key, *ret, least, most);
}

static int read_whole(int64_t *ret, const spec_trace_reader *r, const char *key, const json_t *value, int64_t least,
                      int64_t most, spec_error *error)
{
    *ret = json_integer_value(value);
    if (!json_is_integer(value)) return bad(r, error, "\"%s\" is not a whole number", key);
    if (*ret >= least && *ret <= most) return GSL_SUCCESS;
    return bad(r, error, "\"%s\" is %lld: it is from %lld to %lld", key, (long long)*ret, (long long)least,
               (long long)most);
}

static int read_bool(bool *ret, const spec_trace_reader *r, const char *key, const json_t *value, spec_error *error)
{
    *ret = json_is_true(value);
    return json_is_boolean(value) ? GSL_SUCCESS : bad(r, error, "\"%s\" is not true or false", key);
}

/* Rounding may put a log-probability a little above 0. */
static int read_log(double *ret, const spec_trace_reader *r, const char *key, const json_t *value, spec_error *error)
{
    const int status = read_real(ret, r, key, value, -1e300, 1e-3, error);
    if (*ret > 0.0) *ret = 0.0;
    return status;
}

static int unknown_key(const spec_trace_reader *r, const char *key, const char *const *keys, spec_error *error)
{
    char meant[SPEC_NAMES_MEANT_SIZE];
    return bad(r, error, "no key is called \"%.60s\"%s", key, spec_names_meant(meant, key, keys, ""));
}

/* The place of a key in its list, or -1. */
static int key_of(const char *key, const char *const *keys)
{
    for (int i = 0; keys[i] != NULL; i++)
        if (strcmp(key, keys[i]) == 0) return i;
    return -1;
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

enum { HEAD_TRACE, HEAD_ENGINE, HEAD_VOCAB, HEAD_ROWS, HEAD_TEMPERATURE, HEAD_TOP_K, HEAD_TOP_P, HEAD_MIN_P,
       HEAD_PRECISION, HEAD_SAMPLED, HEAD_LOSSY };
static const char *const head_keys[] = {"speclab_trace", "engine", "vocab", "rows", "temperature", "top_k", "top_p",
                                        "min_p", "precision", "sampled", "lossy", NULL};

static int read_head_value(spec_trace_reader *r, const char *key, const json_t *value, spec_error *error)
{
    spec_trace_head *head = &r->head;
    spec_transform *transform = &head->transform;
    const char *text = json_string_value(value);
    int64_t whole = 0;
    int status = GSL_SUCCESS;
    switch (key_of(key, head_keys)) {
    case HEAD_TRACE: status = read_whole(&whole, r, key, value, 1, 1, error); break;
    case HEAD_ENGINE:
        if (text == NULL) return bad(r, error, "\"engine\" is not a text");
        snprintf(head->name, sizeof head->name, "%s", text);
        break;
    case HEAD_VOCAB:
        status = read_whole(&whole, r, key, value, 1, SPEC_TRACE_VOCAB_MAX, error);
        head->vocab = (int)whole;
        break;
    case HEAD_ROWS:
        head->logprobs = text != NULL && strcmp(text, "logprobs") == 0;
        if (text == NULL || (!head->logprobs && strcmp(text, "probabilities") != 0))
            return bad(r, error, "\"rows\" is \"probabilities\" or \"logprobs\"");
        break;
    case HEAD_TEMPERATURE: status = read_real(&transform->temperature, r, key, value, 0.0, 1e9, error); break;
    case HEAD_TOP_K:
        status = read_whole(&whole, r, key, value, 0, SPEC_TRACE_VOCAB_MAX, error);
        transform->top_k = (int)whole;
        break;
    case HEAD_TOP_P: status = read_real(&transform->top_p, r, key, value, 0.0, 1.0, error); break;
    case HEAD_MIN_P: status = read_real(&transform->min_p, r, key, value, 0.0, 1.0, error); break;
    case HEAD_PRECISION: status = read_real(&head->precision, r, key, value, 0.0, 0.1, error); break;
    case HEAD_SAMPLED: status = read_bool(&head->sampled, r, key, value, error); break;
    case HEAD_LOSSY: status = read_bool(&head->lossy, r, key, value, error); break;
    default: status = unknown_key(r, key, head_keys, error);
    }
    return status;
}

static int read_head(spec_trace_reader *r, spec_error *error)
{
    const char *key;
    json_t *root = NULL, *value;
    bool end = false;
    int status = GSL_SUCCESS;
    r->most = LINE_BYTES;
    r->head = (spec_trace_head){.precision = 1e-6, .transform = SPEC_TRANSFORM_NONE};
    SPEC_TRY(read_line(r, &end, error));
    if (!end) SPEC_TRY(parse_line(&root, r, error));
    if (end || json_object_get(root, "speclab_trace") == NULL)
        SPEC_TRY(bad(r, error, "a trace begins with a line like {\"speclab_trace\": 1, \"vocab\": 32000}"));
    json_object_foreach(root, key, value) SPEC_TRY(read_head_value(r, key, value, error));
    if (r->head.vocab == 0) SPEC_TRY(bad(r, error, "\"vocab\" is missing: how many tokens there are"));
    r->most = LINE_BYTES + (size_t)r->head.vocab * TOKEN_BYTES;
done:
    json_decref(root);
    return status;
}

int spec_trace_read_open(spec_trace_reader **ret, FILE *file, const char *name, spec_error *error)
{
    spec_trace_reader *r = *ret = calloc(1, sizeof *r);
    if (r == NULL) return no_memory(error);
    r->file = file;
    r->name = name;
    r->text_places = FIRST_TEXTS;
    r->text = calloc(r->text_places, sizeof *r->text);
    const int status = r->text != NULL ? read_head(r, error) : no_memory(error);
    if (status == GSL_SUCCESS) return status;
    spec_trace_read_close(r);
    *ret = NULL;
    return status;
}

void spec_trace_read_close(spec_trace_reader *r)
{
    if (r == NULL) return;
    free(r->line);
    free(r->target.whole);
    free(r->draft.whole);
    free(r->order);
    free(r->text);
    free(r);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static spec_trace_text *place_of(spec_trace_text *text, size_t places, uint64_t key)
{
    size_t i = (size_t)key & (places - 1);
    while (text[i].key != 0 && text[i].key != key) i = (i + 1) & (places - 1);
    return &text[i];
}

static int find_text(spec_trace_text **ret, spec_trace_reader *r, uint64_t key, spec_error *error)
{
    *ret = place_of(r->text, r->text_places, key);
    if ((*ret)->key == key) return GSL_SUCCESS;
    if (r->n_texts == SPEC_TRACE_REQUESTS_MAX)
        return bad(r, error, "more than %d requests: split the trace", SPEC_TRACE_REQUESTS_MAX);
    if (2 * (r->n_texts + 1) > r->text_places) {
        spec_trace_text *more = calloc(2 * r->text_places, sizeof *more);
        if (more == NULL) return no_memory(error);
        for (size_t i = 0; i < r->text_places; i++)
            if (r->text[i].key != 0) *place_of(more, 2 * r->text_places, r->text[i].key) = r->text[i];
        free(r->text);
        r->text = more;
        r->text_places *= 2;
        *ret = place_of(r->text, r->text_places, key);
    }
    **ret = (spec_trace_text){.key = key, .position = -1, .pit = -1.0f, .before = -1.0f, .place = -1, .accepted = -1};
    r->n_texts++;
    return GSL_SUCCESS;
}

/* Requests are numbers or texts. */
static int read_request(uint64_t *ret, const spec_trace_reader *r, const json_t *value, spec_error *error)
{
    char digits[32];
    const char *text = json_string_value(value);
    if (text == NULL && !json_is_integer(value)) return bad(r, error, "\"request\" is not a whole number or a text");
    if (text == NULL) snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
    *ret = spec_rng_named_seed(text != NULL, text != NULL ? text : digits) | 1;
    return GSL_SUCCESS;
}

static int go_on(spec_trace_reader *r, spec_trace_text *text, int64_t position, spec_error *error)
{
    const int64_t due = text->position + 1;
    if (position < 0) position = due;
    if (text->position >= 0 && position != due) {
        if (position < due)
            return bad(r, error, "position %lld comes after %lld in the same request", (long long)position,
                       (long long)text->position);
        if (!r->head.sampled)
            return bad(r, error, "position %lld comes after %lld: every token is needed, unless the head says "
                       "\"sampled\": true, that the missing ones were chosen whatever they are",
                       (long long)position, (long long)text->position);
        text->place = text->accepted = -1;
    }
    text->position = position;
    return GSL_SUCCESS;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int read_row(spec_trace_reader *r, side *s, const char *key, const json_t *value, spec_error *error)
{
    const size_t V = (size_t)r->head.vocab;
    double sum = 0.0;
    if (s->given) return bad(r, error, "\"%s\" and the most probable tokens of the same row: one of them", key);
    if (!json_is_array(value)) return bad(r, error, "\"%s\" is not a list", key);
    if (json_array_size(value) != V)
        return bad(r, error, "\"%s\" has %zu entries, not %zu", key, json_array_size(value), V);
    if (s->whole == NULL && (s->whole = malloc(V * sizeof *s->whole)) == NULL) return no_memory(error);
    if (r->order == NULL && (r->order = malloc(V * sizeof *r->order)) == NULL) return no_memory(error);
    for (size_t i = 0; i < V; i++) {
        const json_t *entry = json_array_get(value, i);
        double x = json_number_value(entry);
        if (r->head.logprobs && json_is_null(entry)) x = -INFINITY;
        else if (!json_is_number(entry)) return bad(r, error, "entry %zu of \"%s\" is not a number", i, key);
        if (r->head.logprobs ? x > 1e-3 : !(x >= 0.0 && x <= 1.001))
            return bad(r, error, "entry %zu of \"%s\" is %g, which is no %sprobability", i, key, x,
                       r->head.logprobs ? "log-" : "");
        sum += s->whole[i] = r->head.logprobs ? exp(x) : x;
    }
    if (!(fabs(sum - 1.0) <= sum_off)) return bad(r, error, "\"%s\" sums to %g, not to 1", key, sum);
    for (size_t i = 0; i < V; i++) s->whole[i] /= sum;
    if (!spec_transform_is_none(&r->head.transform))
        spec_transform_apply(s->whole, r->head.vocab, &r->head.transform, r->order);
    s->given = true;
    return GSL_SUCCESS;
}

static int read_pair(int32_t *ret_id, double *ret_chance, const spec_trace_reader *r, const char *key,
                     const json_t *pair, spec_error *error)
{
    int64_t id;
    double log;
    int status = GSL_SUCCESS;
    if (json_array_size(pair) != 2) return bad(r, error, "\"%s\" is not a list of [token, log-probability]", key);
    SPEC_TRY(read_whole(&id, r, key, json_array_get(pair, 0), 0, r->head.vocab - 1, error));
    SPEC_TRY(read_log(&log, r, key, json_array_get(pair, 1), error));
    *ret_id = (int32_t)id;
    *ret_chance = exp(log);
done:
    return status;
}

static int read_top(spec_trace_reader *r, side *s, const char *key, const json_t *value, spec_error *error)
{
    const size_t n = json_array_size(value);
    double sum = 0.0;
    if (s->given) return bad(r, error, "\"%s\" and the whole row: one of them", key);
    if (n < 1 || n > TOP_MAX) return bad(r, error, "\"%s\" is not a list of 1 to %d pairs", key, TOP_MAX);
    /* A pair more where the emitted token is not among the k best would be a cell chosen by the token. */
    if (s->n_top_first == 0) s->n_top_first = (int)n;
    if ((int)n != s->n_top_first)
        return bad(r, error, "\"%s\" has %zu pairs, those before had %d: always log the same number of most probable "
                   "tokens, whether the emitted one is among them or not", key, n, s->n_top_first);
    for (size_t i = 0; i < n; i++) {
        const int status = read_pair(&s->id[i], &s->chance[i], r, key, json_array_get(value, i), error);
        if (status != GSL_SUCCESS) return status;
        for (size_t k = 0; k < i; k++)
            if (s->id[k] == s->id[i]) return bad(r, error, "token %d is twice in \"%s\"", s->id[i], key);
        sum += s->chance[i];
    }
    if (!(sum <= 1.0 + sum_off)) return bad(r, error, "\"%s\" sums to %g, more than 1", key, sum);
    s->n_top = (int)n;
    s->given = true;
    return GSL_SUCCESS;
}

/* The place of a token among the pairs, or -1. */
static int top_place(const side *s, int32_t token)
{
    for (int i = 0; i < s->n_top; i++)
        if (s->id[i] == token) return i;
    return -1;
}

/* The rest of a row is what its pairs leave of 1, but rounding may leave nothing where there is something. */
static void close_cells(double *cell, int n, double least)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += cell[i];
    cell[n] = fmax(1.0 - sum, least);
    sum += cell[n];
    for (int i = 0; i <= n; i++) cell[i] /= sum;
}

/* Cells are the tokens that both models' pairs name: then the chances of all cells are known. */
static void make_cells(spec_trace_reader *r, spec_trace_record *record)
{
    const double least = fmax(r->head.precision, 1e-9);
    int n = 0;
    for (int i = 0; i < r->target.n_top; i++) {
        const int other = r->draft.given ? top_place(&r->draft, r->target.id[i]) : 0;
        if (other < 0) continue;
        r->cell_id[n] = r->target.id[i];
        r->cell_target[n] = r->target.chance[i];
        if (r->draft.given) r->cell_draft[n] = r->draft.chance[other];
        n++;
    }
    r->cell_id[n] = -1;
    close_cells(r->cell_target, n, least);
    if (r->draft.given) close_cells(r->cell_draft, n, least);
    record->n_cells = n + 1;
    record->id = r->cell_id;
    record->target = r->cell_target;
    record->draft = r->draft.given ? r->cell_draft : NULL;
    for (record->cell = 0; record->cell < n && r->cell_id[record->cell] != record->token;) record->cell++;
}

static int use_rows(spec_trace_reader *r, spec_trace_record *record, spec_error *error)
{
    const bool whole_target = r->target.given && r->target.n_top == 0;
    const bool whole_draft = r->draft.given && r->draft.n_top == 0;
    if (!spec_transform_is_none(&r->head.transform) &&
        ((r->target.given && !whole_target) || (!r->target.given && !isnan(record->target_log))))
        return bad(r, error, "temperature and filters can be applied to whole rows alone: log what is left after them");
    if (!r->target.given)
        return r->draft.given ? bad(r, error, "a row of the draft without one of the target") : GSL_SUCCESS;
    if (r->draft.given && whole_target != whole_draft)
        return bad(r, error, "one row is whole, and of the other only the most probable tokens are there");
    if (!whole_target) make_cells(r, record);
    else {
        record->n_cells = r->head.vocab;
        record->whole = true;
        record->cell = record->token;
        record->target = r->target.whole;
        record->draft = whole_draft ? r->draft.whole : NULL;
    }
    if (record->cell < 0 || record->cell >= record->n_cells || isnan(record->target_log)) return GSL_SUCCESS;
    const double chance = record->target[record->cell], logged = exp(record->target_log);
    const bool rest = !whole_target && record->cell == record->n_cells - 1;
    if (rest ? logged > chance + sum_off : fabs(logged - chance) > log_off * fmax(logged, chance) + 1e-8)
        return bad(r, error, "\"target_logprob\" says that the token had a chance of %.4g, its row %.4g", logged, chance);
    return GSL_SUCCESS;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

enum { KEY_REQUEST, KEY_POSITION, KEY_TOKEN, KEY_TARGET_LOG, KEY_DRAFT_LOG, KEY_TARGET, KEY_DRAFT, KEY_TARGET_TOP,
       KEY_DRAFT_TOP, KEY_DRAFTED, KEY_ACCEPTED, KEY_COIN };
static const char *const record_keys[] = {"request", "position", "token", "target_logprob", "draft_logprob", "target",
                                          "draft", "target_top", "draft_top", "drafted", "accepted", "coin", NULL};

/* null is what is not there. */
static int read_value(spec_trace_reader *r, spec_trace_record *ret, uint64_t *request, int64_t *position,
                      const char *key, const json_t *value, spec_error *error)
{
    const int which = key_of(key, record_keys);
    int64_t whole = 0;
    bool flag = false;
    int status = GSL_SUCCESS;
    if (which < 0) return unknown_key(r, key, record_keys, error);
    if (json_is_null(value)) return GSL_SUCCESS;
    switch (which) {
    case KEY_REQUEST: return read_request(request, r, value, error);
    case KEY_POSITION: return read_whole(position, r, key, value, 0, INT64_C(1) << 53, error);
    case KEY_TOKEN: /* one outside the vocabulary is the engine's fault, not the trace's */
        status = read_whole(&whole, r, key, value, INT64_MIN, INT64_MAX, error);
        ret->token = whole >= 0 && whole < r->head.vocab ? (int32_t)whole : -1;
        return status;
    case KEY_TARGET_LOG: return read_log(&ret->target_log, r, key, value, error);
    case KEY_DRAFT_LOG: return read_log(&ret->draft_log, r, key, value, error);
    case KEY_TARGET: return read_row(r, &r->target, key, value, error);
    case KEY_DRAFT: return read_row(r, &r->draft, key, value, error);
    case KEY_TARGET_TOP: return read_top(r, &r->target, key, value, error);
    case KEY_DRAFT_TOP: return read_top(r, &r->draft, key, value, error);
    case KEY_DRAFTED:
        status = read_whole(&whole, r, key, value, 0, r->head.vocab - 1, error);
        ret->drafted = (int32_t)whole;
        return status;
    case KEY_ACCEPTED:
        status = read_bool(&flag, r, key, value, error);
        ret->accepted = flag;
        return status;
    default: return read_real(&ret->coin, r, key, value, 0.0, 1.0, error);
    }
}

/* What is there for one kind of tokens alone is there by what the token is: no law is known for it. */
static void note_things(spec_trace_reader *r, const spec_trace_record *record)
{
    if (record->accepted < 0 || record->drafted < 0) return;
    uint64_t *there = r->there[record->accepted];
    r->judged[record->accepted]++;
    if (!isnan(record->target_log)) there[THING_TARGET_LOG]++;
    if (!isnan(record->draft_log) || record->draft != NULL) there[THING_DRAFT]++;
    if (record->n_cells > 0) there[THING_ROW]++;
}

static int check_things(const spec_trace_reader *r, spec_error *error)
{
    static const char *const names[THINGS] = {"the target's log-probability", "the draft's side", "the target's row"};
    for (int k = 0; k < THINGS; k++)
        for (int a = 0; a < 2; a++)
            if (r->judged[a] > 0 && r->there[a][k] == r->judged[a] && r->judged[1 - a] > 0 && r->there[1 - a][k] == 0)
                return spec_fail(error, GSL_EINVAL, "%.150s: %s is there for each %s, and for no %s: "
                                 "whether it is logged must not depend on the token", r->name, names[k],
                                 a ? "accepted token" : "correction", a ? "correction" : "accepted token");
    return GSL_SUCCESS;
}

int spec_trace_read_next(spec_trace_reader *r, spec_trace_record *ret, bool *ret_end, spec_error *error)
{
    uint64_t request = 1;
    int64_t position = -1;
    const char *key;
    json_t *root = NULL, *value;
    int status = GSL_SUCCESS;
    *ret = (spec_trace_record){.target_log = NAN, .draft_log = NAN, .drafted = -1, .accepted = -1, .coin = NAN};
    r->target.given = r->draft.given = false;
    r->target.n_top = r->draft.n_top = 0;
    SPEC_TRY(read_line(r, ret_end, error));
    if (*ret_end) return check_things(r, error);
    SPEC_TRY(parse_line(&root, r, error));
    if (!json_is_integer(json_object_get(root, "token")))
        SPEC_TRY(bad(r, error, "\"token\" is missing, or not a whole number"));
    json_object_foreach(root, key, value) SPEC_TRY(read_value(r, ret, &request, &position, key, value, error));
    if (ret->accepted == 1 && ret->drafted < 0) ret->drafted = ret->token;
    SPEC_TRY(use_rows(r, ret, error));
    note_things(r, ret);
    SPEC_TRY(find_text(&ret->text, r, request, error));
    SPEC_TRY(go_on(r, ret->text, position, error));
done:
    json_decref(root);
    return status;
}

const spec_trace_head *spec_trace_read_head(const spec_trace_reader *r)
{
    return &r->head;
}

uint64_t spec_trace_read_line(const spec_trace_reader *r)
{
    return r->line_number;
}

uint64_t spec_trace_read_texts(const spec_trace_reader *r)
{
    return r->n_texts;
}
