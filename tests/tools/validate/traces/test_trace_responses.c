/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads responses of OpenAI-compatible servers as traces. The responses are written here, as the
 * servers' documents and sources describe them; no server runs. */
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/validate/traces/trace.h"
#include "tools/validate/traces/trace_read.h"

#include "sim/chance/rng.h"

#include <math.h>
#include <string.h>

/* ---- a server -------------------------------------------------------------------------------- */

/* An emitted token that is not among the TOP most probable is left out, or appended, or comes first
 * in place of the last one. */
typedef enum { LEFT_OUT, APPENDED, IN_PLACE_OF_LAST, COMPLETIONS, CHUNKS, DIALECTS } dialect;
typedef enum { RIGHT, ARGMAX, SHARPER, NO_TAIL, MISTAKES } mistake;
enum { V = 30, TOP = 8, LENGTH = 100, CONTEXTS = 20 };

typedef struct {
    bool made;
    double log_of[V];
    int order[V]; /* the most probable first */
} law;

/* Logits are multiples of 1/4, so that many are equal. */
static const law *law_after(int token)
{
    static law all[CONTEXTS];
    law *l = &all[token % CONTEXTS];
    spec_rng_state rng = spec_rng_stream_state(7, (uint64_t)(token % CONTEXTS));
    double sum = 0.0;
    if (l->made) return l;
    l->made = true;
    for (int i = 0; i < V; i++) {
        int at = i;
        l->log_of[i] = floor(20.0 * spec_rng_next_double(&rng)) / 4.0;
        sum += exp(l->log_of[i]);
        for (; at > 0 && l->log_of[l->order[at - 1]] < l->log_of[i]; at--)
            l->order[at] = l->order[at - 1];
        l->order[at] = i;
    }
    for (int i = 0; i < V; i++) l->log_of[i] -= log(sum);
    return l;
}

static int draw(const law *l, double temperature, mistake wrong, spec_rng_state *rng)
{
    const int *order = l->order;
    double sum = 0.0, weight[V];
    const double power = (wrong == SHARPER ? 1.7 : 1.0) / temperature;
    if (wrong == ARGMAX && spec_rng_next_double(rng) < 0.2) return order[0];
    for (int i = 0; i < V; i++) sum += weight[i] = exp(l->log_of[i] * power);
    for (int k = TOP; k < V && wrong == NO_TAIL; k++) {
        sum -= weight[order[k]];
        weight[order[k]] = 0.0;
    }
    double u = spec_rng_next_double(rng) * sum;
    int last = 0;
    for (int i = 0; i < V; i++) {
        if (weight[i] == 0.0) continue;
        last = i;
        if ((u -= weight[i]) < 0.0) break;
    }
    return last;
}

/* The tokens that are listed, in the server's order. */
static int list(int ret[TOP + 1], const int *order, int token, dialect how)
{
    bool among = false;
    for (int k = 0; k < TOP; k++) {
        ret[k] = order[k];
        among = among || order[k] == token;
    }
    if (how == IN_PLACE_OF_LAST) {
        ret[0] = token;
        for (int k = 0, n = 1; n < TOP; k++)
            if (order[k] != token) ret[n++] = order[k];
    }
    if (among || (how != APPENDED && how != COMPLETIONS)) return TOP;
    ret[TOP] = token;
    return TOP + 1;
}

static void put_chat_token(FILE *out, const double *log_of, const int *listed, int n, int token)
{
    fprintf(out, "{\"token\": \"t%d\", \"logprob\": %.9g, \"bytes\": null, \"top_logprobs\": [",
            token, log_of[token]);
    for (int k = 0; k < n; k++)
        fprintf(out, "%s{\"token\": \"t%d\", \"logprob\": %.9g, \"bytes\": null}",
                k > 0 ? ", " : "", listed[k], log_of[listed[k]]);
    fputs("]}", out);
}

/* Writes a text of LENGTH tokens; the same chance gives the same text in all dialects. */
static void put_text(FILE *out, int number, double temperature, mistake wrong, dialect how,
                     spec_rng_state *rng)
{
    const bool chunks = how == CHUNKS, completion = how == COMPLETIONS;
    char *part[3] = {NULL};
    size_t size[3];
    FILE *of[3];
    int token = number;
    for (int k = 0; k < 3; k++) of[k] = open_memstream(&part[k], &size[k]);
    if (chunks)
        fprintf(out,
                "{\"id\": \"c%d\", \"choices\": [{\"index\": 0, \"delta\": {\"role\": \"x\"}}]}\n",
                number);
    for (int at = 0; at < LENGTH; at++) {
        const law *l = law_after(token);
        const double *log_of = l->log_of;
        int listed[TOP + 1];
        token = draw(l, temperature, wrong, rng);
        const int n = list(listed, l->order, token, how);
        const char *comma = at > 0 && !chunks ? ", " : "";
        if (completion) {
            fprintf(of[0], "%s\"t%d\"", comma, token);
            fprintf(of[1], "%s%.9g", comma, log_of[token]);
            fprintf(of[2], "%s{", comma);
            for (int k = 0; k < n; k++)
                fprintf(of[2], "%s\"t%d\": %.9g", k > 0 ? ", " : "", listed[k], log_of[listed[k]]);
            fputs("}", of[2]);
            continue;
        }
        if (chunks)
            fprintf(out, "{\"id\": \"c%d\", \"choices\": [{\"logprobs\": {\"content\": [", number);
        else
            fputs(comma, of[0]);
        put_chat_token(chunks ? out : of[0], log_of, listed, n, token);
        if (chunks) fputs("]}}]}\n", out);
    }
    for (int k = 0; k < 3; k++) fclose(of[k]);
    if (completion)
        fprintf(out,
                "{\"id\": \"c%d\", \"model\": \"toy\", \"choices\": [{\"logprobs\": {\"tokens\": "
                "[%s], \"token_logprobs\": [%s], \"top_logprobs\": [%s]}}]}\n",
                number, part[0], part[1], part[2]);
    else if (!chunks)
        fprintf(out,
                "{\"id\": \"c%d\", \"model\": \"toy\", \"choices\": [{\"logprobs\": {\"content\": "
                "[%s]}}]}\n",
                number, part[0]);
    for (int k = 0; k < 3; k++) free(part[k]);
}

static void judge(spec_validation *v, const char *text, double temperature, double rate)
{
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    plan.temperature = temperature;
    plan.false_alarm_rate = rate;
    assert_works(spec_trace_validate_file(v, file, "r.jsonl", &plan, &error));
    fclose(file);
}

static void serve(spec_validation *v, int texts, double temperature, mistake wrong, dialect how,
                  uint64_t seed, double rate)
{
    FREED char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    spec_rng_state rng = spec_rng_stream_state(seed, 1);
    for (int i = 0; i < texts; i++) put_text(out, i, temperature, wrong, how, &rng);
    fclose(out);
    judge(v, text, temperature, rate);
}

/* The first list only says how long the lists are, which it does in the same way in all dialects if
 * its token is among the most probable. So the evidence has the same bits: which tokens are judged
 * does not depend on what a server does with a token outside the list. */
TEST(the_evidence_does_not_depend_on_the_dialect)
{
    static const double temperatures[] = {1.0, 0.7, 1.5};
    for (int k = 0; k < 3; k++) {
        double log_e = 0.0, p = 0.0;
        for (int how = 0; how < DIALECTS; how++) {
            OWNED(spec_validation) v;
            serve(&v, 20, temperatures[k], RIGHT, (dialect)how, 5, 1e-6);
            assert_int_equal(v.draws, 20 * LENGTH);
            assert_int_equal(v.rounds, 20);
            if (how == 0) {
                log_e = v.log_e;
                p = v.p;
            }
            assert_same(v.log_e, log_e);
            assert_same(v.p, p);
        }
        assert_true(log_e < 0.0);
    }
}

TEST(a_right_server_passes_and_mistakes_fail, SLOW | STATISTICS)
{
    static const double temperatures[] = {1.0, 0.7, 1.5};
    for (int k = 0; k < 3; k++)
        for (int wrong = 0; wrong < MISTAKES; wrong++) {
            OWNED(spec_validation) v;
            if (wrong == NO_TAIL && k > 0) continue; /* only the listed tokens are judged */
            serve(&v, 150, temperatures[k], (mistake)wrong, LEFT_OUT, spec_test_seed(), 1e-6);
            if (v.verdict != (wrong == RIGHT ? SPEC_VERDICT_PASS : SPEC_VERDICT_FAIL))
                fail_msg("temperature %g, mistake %d: %s: %s", temperatures[k], wrong,
                         spec_validate_verdicts[v.verdict], v.reason);
        }
}

TEST(a_right_server_has_no_false_alarm, SLOW | STATISTICS)
{
    const int runs = (int)spec_test_samples(60);
    int failed = 0;
    for (int i = 0; i < runs; i++)
        for (int k = 0; k < 2; k++) {
            OWNED(spec_validation) v;
            serve(&v, 10, k == 0 ? 1.0 : 0.7, RIGHT, i % 2 == 0 ? APPENDED : IN_PLACE_OF_LAST,
                  spec_test_seed() + (uint64_t)i, 0.05);
            failed += v.verdict == SPEC_VERDICT_FAIL;
        }
    printf("%d of %d fail at a rate of 0.05\n", failed, 2 * runs);
    assert_true(failed <= 0.05 * 2 * runs + 3.0 * sqrt(0.05 * 2 * runs));
}

/* The text is drawn at temperature 0.7, and the log-probabilities are at 1. */
TEST(an_undeclared_temperature_fails)
{
    FREED char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 1);
    for (int i = 0; i < 60; i++) put_text(out, i, 0.7, RIGHT, LEFT_OUT, &rng);
    fclose(out);
    OWNED(spec_validation) v;
    judge(&v, text, 0.0, 1e-6);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
}

/* ---- records --------------------------------------------------------------------------------- */

#define LIST4(a, b, c, d)                                                                          \
    "[{\"token\": \"a\", \"logprob\": " #a "}, {\"token\": \"b\", \"logprob\": " #b                \
    "}, {\"token\": \"c\", \"logprob\": " #c "}, {\"token\": \"d\", \"logprob\": " #d "}]"
#define ENTRY(token, log, list)                                                                    \
    "{\"token\": \"" token "\", \"logprob\": " #log ", \"top_logprobs\": " list "}"
#define CHAT(entries) "{\"choices\": [{\"logprobs\": {\"content\": [" entries "]}}]}\n"
#define ENDED                                                                                      \
    "{\"id\": \"r\", \"choices\": [{\"finish_reason\": \"length\", \"text\": \"a\", "              \
    "\"logprobs\": {\"tokens\": "                                                                  \
    "[\"a\"], \"token_logprobs\": [-1]}}]}\n"
#define FIRST ENTRY("a", -0.5, LIST4(-0.5, -1.5, -3, -3.5)) ", "

/* Reads the second token of a response at a temperature. */
static spec_trace_record read_second(spec_trace_reader **ret, const char *text, double temperature)
{
    spec_trace_record record;
    bool end;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_works(spec_trace_read_open(ret, file, "t", &error));
    assert_works(spec_trace_read_temperature(*ret, temperature, &error));
    for (int i = 0; i < 2; i++) assert_works(spec_trace_read_next(*ret, &record, &end, &error));
    assert_false(end);
    return record;
}

/* Of four tokens the first three are always known, and those above the third become cells. */
TEST(cells_are_the_tokens_above_the_last_one_that_is_always_known)
{
    spec_trace_reader *r;
    spec_trace_record record =
        read_second(&r, CHAT(FIRST ENTRY("b", -1.25, LIST4(-0.75, -1.25, -2.5, -3))), 1.0);
    assert_int_equal(record.n_cells, 3);
    assert_near(record.target[record.cell], exp(-1.25), 1e-9);
    double sum = 0.0;
    for (int i = 0; i < 3; i++) sum += record.target[i];
    assert_near(sum, 1.0, 1e-12);
    assert_near(record.target[2], 1.0 - exp(-0.75) - exp(-1.25), 1e-9);
    assert_same(record.target_log, -1.25);
    spec_trace_read_close(r);
    /* outside: the rest */
    record = read_second(&r, CHAT(FIRST ENTRY("e", -4, LIST4(-0.75, -1.25, -2.5, -3))), 1.0);
    assert_int_equal(record.cell, 2);
    spec_trace_read_close(r);
    /* equal to the last known value, where the server's order decides */
    record = read_second(&r, CHAT(FIRST ENTRY("b", -2, LIST4(-0.75, -2, -2, -3))), 1.0);
    assert_int_equal(record.n_cells, 2);
    assert_int_equal(record.cell, 1);
    spec_trace_read_close(r);
    /* a value that a server writes for any improbable token */
    record = read_second(&r, CHAT(FIRST ENTRY("e", -9999, LIST4(-0.75, -1.25, -2.5, -3))), 1.0);
    assert_true(isnan(record.target_log));
    assert_int_equal(record.cell, 2);
    spec_trace_read_close(r);
}

/* The first list may have one more token, the emitted one. */
TEST(an_appended_token_does_not_count_as_one_that_is_always_listed)
{
    static const char appended[] = ENTRY(
        "e", -6,
        "[{\"token\": \"a\", \"logprob\": -1}, {\"token\": \"b\", \"logprob\": -2}, {\"token\": "
        "\"c\", \"logprob\": -3}, {\"token\": \"d\", \"logprob\": -4}, {\"token\": \"e\", "
        "\"logprob\": -6}]") ", ";
    spec_trace_reader *r;
    char text[1024];
    snprintf(text, sizeof text, "{\"choices\": [{\"logprobs\": {\"content\": [%s%s]}}]}\n",
             appended, ENTRY("b", -1.25, LIST4(-0.75, -1.25, -2.5, -3)));
    const spec_trace_record record = read_second(&r, text, 1.0);
    assert_int_equal(record.n_cells, 3);
    spec_trace_read_close(r);
}

TEST(at_another_temperature_the_law_among_the_cells_is_known)
{
    spec_trace_reader *r;
    spec_trace_record record =
        read_second(&r, CHAT(FIRST ENTRY("b", -1.25, LIST4(-0.75, -1.25, -2.5, -3))), 0.5);
    assert_int_equal(record.n_cells, 2);
    assert_near(record.target[record.cell], 1.0 / (1.0 + exp(1.0)), 1e-9);
    assert_true(isnan(record.target_log));
    spec_trace_read_close(r);
    record = read_second(&r, CHAT(FIRST ENTRY("c", -2.5, LIST4(-0.75, -1.25, -2.5, -3))), 0.5);
    assert_int_equal(record.n_cells, 0);
    spec_trace_read_close(r);
}

/* Tokens that are parts of a character have the same text, but different bytes. */
TEST(bytes_tell_tokens_of_one_text_apart)
{
    static const char list[] =
        "[{\"token\": \"?\", \"bytes\": [226], \"logprob\": -1}, {\"token\": \"?\", \"bytes\": "
        "[130], \"logprob\": -2}, {\"token\": \"c\", \"logprob\": -3}, {\"token\": \"d\", "
        "\"logprob\": -4}]";
    spec_trace_reader *r;
    char text[1024];
    snprintf(text, sizeof text,
             "{\"choices\": [{\"logprobs\": {\"content\": [" FIRST
             "{\"token\": \"?\", \"bytes\": [130], \"logprob\": -2, \"top_logprobs\": %s}]}}]}\n",
             list);
    const spec_trace_record record = read_second(&r, text, 1.0);
    assert_int_equal(record.n_cells, 3);
    assert_near(record.target[record.cell], exp(-2.0), 1e-9);
    spec_trace_read_close(r);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static const struct {
    const char *text, *line;
} refused[] = {
    {CHAT("{\"token\": \"a\"}") "[]\n", "r.jsonl:1: \"logprob\" is not a number"},
    {CHAT("{\"logprob\": -1}"), "r.jsonl:1: a token has no text"},
    {CHAT("") "[]\n", "r.jsonl:2: not a JSON object"},
    {CHAT("") "{\"a\": 1}\n", "r.jsonl:2: \"choices\" is missing, or not a list"},
    {CHAT("") "{\"choices\": [1]}\n", "r.jsonl:2: a choice is not a JSON object"},
    {CHAT("") "\n", "r.jsonl:2: an empty line at byte 0"},
    {CHAT("") "{\"error\": {\"message\": \"too many requests\"}}\n",
     "r.jsonl:2: the server answered with an error: too many requests"},
    {"{\"choices\": [{\"message\": {\"content\": \"hi\"}, \"logprobs\": null}]}\n",
     "r.jsonl:1: a choice has no log-probabilities: ask a chat for \"logprobs\": true, "
     "\"top_logprobs\": 20, and a completion for \"logprobs\": 20"},
    {"{\"choices\": [{\"logprobs\": {\"tokens\": [\"a\"], \"token_logprobs\": []}}]}\n",
     "r.jsonl:1: \"tokens\" has 1 entries, \"token_logprobs\" 0"},
    {"{\"choices\": [{\"logprobs\": {\"tokens\": [\"a\"], \"token_logprobs\": [-1], "
     "\"top_logprobs\": []}}]}\n",
     "r.jsonl:1: \"tokens\" has 1 entries, \"top_logprobs\" 0"},
    {"{\"choices\": [{\"logprobs\": {\"tokens\": [\"a\"], \"token_logprobs\": [null]}}]}\n",
     "r.jsonl:1: the token 'a' has no log-probability: leave out \"echo\": true, since the tokens "
     "of a prompt were not drawn"},
    {"{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": \"xa\"}, "
     "\"logprobs\": {\"content\": [" ENTRY("a", -1, "[]") "]}}]}\n",
     "r.jsonl:1: the text ended by itself, and its last token is not listed: without it the others "
     "have a different distribution; ask with \"ignore_eos\": true"},
    {CHAT(FIRST ENTRY("a", -0.5, "[{\"token\": \"a\", \"logprob\": -0.5}]")),
     "r.jsonl:1: a list has 1 tokens, and those before had 4: always ask for the same number"},
    {CHAT(FIRST ENTRY("e", -1, LIST4(-0.75, -1.25, -2.5, -3))),
     "r.jsonl:1: the token 'e' is more probable than the last ones of its list, which does not "
     "contain it"},
    {CHAT(FIRST ENTRY("a", -0.1, LIST4(-0.1, -0.2, -2.5, -3))),
     "r.jsonl:1: a list sums to 1.72357, more than 1"},
    {CHAT(FIRST ENTRY("a", -30, LIST4(-30, -31, -32, -33))),
     "r.jsonl:1: a list sums to 1.28001e-13, and no other token may have more than 1.26642e-14: "
     "these are not the most probable ones"},
    {CHAT(FIRST ENTRY("a", -1, "{\"a\": -1}")), "r.jsonl:1: \"top_logprobs\" is not a list"},
    {CHAT(FIRST "{\"token\": \"a\", \"logprob\": -1, \"bytes\": \"a\"}"),
     "r.jsonl:1: \"bytes\" is not a list"},
    {CHAT(FIRST "{\"token\": \"a\", \"logprob\": -1, \"bytes\": [\"a\"]}"),
     "r.jsonl:1: \"bytes\" is not a list of bytes, 0 to 255"},
    {CHAT(FIRST "{\"token\": \"a\", \"logprob\": -1, \"bytes\": [256]}"),
     "r.jsonl:1: \"bytes\" is not a list of bytes, 0 to 255"},
    {"{\"choices\": [{\"logprobs\": {\"tokens\": [\"a\"], \"token_logprobs\": [-1], "
     "\"top_logprobs\": {\"a\": -1}}}]}\n",
     "r.jsonl:1: \"top_logprobs\" is not a list"},
    {"{\"choices\": [{\"logprobs\": {\"tokens\": [\"a\"], \"token_logprobs\": [-1], "
     "\"top_logprobs\": [[\"a\", -1]]}}]}\n",
     "r.jsonl:1: an entry of \"top_logprobs\" is not an object"},
    {ENDED ENDED, "r.jsonl:2: a response occurs twice, and counts once: remove the copy, or the "
                  "requests that have the id of another"},
};

TEST(an_invalid_response_is_refused_with_its_line)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        spec_validation v;
        FILE *file = fmemopen((void *)(uintptr_t)refused[i].text, strlen(refused[i].text), "r");
        assert_fails(
            spec_trace_validate_file(&v, file, "r.jsonl", &SPEC_VALIDATE_PLAN_DEFAULT, &error),
            GSL_EINVAL, refused[i].line);
        fclose(file);
    }
}

/* An end of a text that is listed, or that was not a token, selects nothing. */
TEST(a_text_may_end_at_a_listed_token)
{
    static const char *const good[] = {
        /* the end token is not part of the text */
        "{\"choices\": [{\"finish_reason\": \"stop\", \"message\": {\"content\": \"x\"}, "
        "\"logprobs\": {\"content\": [" ENTRY("</s>", -1, "[]") "]}}]}\n",
        /* a stop string */
        "{\"choices\": [{\"finish_reason\": \"stop\", \"stop_reason\": \"a\", \"text\": \"xa\", "
        "\"logprobs\": {\"tokens\": [\"a\"], \"token_logprobs\": [-1]}}]}\n",
        "{\"choices\": [{\"finish_reason\": \"length\", \"text\": \"xa\", "
        "\"logprobs\": {\"tokens\": [\"a\"], \"token_logprobs\": [-1]}}]}\n",
        /* a line of a batch */
        "{\"custom_id\": \"1\", \"response\": {\"body\": {\"choices\": [{\"logprobs\": "
        "{\"tokens\": [\"a\"], \"token_logprobs\": [-1]}}]}}}\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        OWNED(spec_validation) v;
        judge(&v, good[i], 0.0, 1e-6);
        assert_int_equal(v.draws, 1);
    }
}

TEST(a_temperature_is_for_responses)
{
    static const char trace[] = "{\"speclab_trace\": 1, \"vocab\": 3}\n";
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    spec_validation v;
    FILE *file = fmemopen((void *)(uintptr_t)trace, strlen(trace), "r");
    plan.temperature = 0.7;
    assert_fails(spec_trace_validate_file(&v, file, "t.jsonl", &plan, &error), GSL_EINVAL,
                 "t.jsonl: a temperature is for a server's responses: the head of this trace says "
                 "it");
    fclose(file);
}
