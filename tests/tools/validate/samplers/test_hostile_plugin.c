/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libraries that hang, write to forbidden memory, or attack the channel: each is killed, or its
 * round is marked with a fault. */
#include "tests/support/support.h"
#include "tests/tools/validate/plugin_stand.h"
#include "tools/validate/samplers/supervisor.h"

/* Opens the library and asks for a batch. */
static void open_deed(const char *deed, spec_subject *subject, stand *s,
                      const spec_subject_limits *limits, uint32_t scope)
{
    spec_error error = {{0}};
    stopped = true;
    setenv("SPECLAB_HOSTILE", deed, 1);
    stand_init(s, &chain, scope);
    if (spec_subject_open(subject, path_of("hostile.so"), limits, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    assert_int_equal(spec_subject_begin(subject, &s->fixture, scope, BATCH, &error), GSL_SUCCESS);
    spec_evidence_ask(s->evidence, &subject->batch, BATCH, 0, 42, s->rng);
    unsetenv("SPECLAB_HOSTILE");
    stopped = false;
}

static int try_deed(const char *deed, spec_subject *subject, stand *s,
                    const spec_subject_limits *limits, uint32_t scope, spec_error *error)
{
    open_deed(deed, subject, s, limits, scope);
    return spec_subject_run(subject, BATCH, error);
}

TEST(a_hanging_child_is_killed)
{
    enum { DEEDS = 5 };
    static const char *const deeds[DEEDS] = {"hang", "spin", "mask", "group", "stop supervisor"};
    spec_subject subject[DEEDS];
    spec_error error[DEEDS];
    stand s[DEEDS];
    int status[DEEDS];
    for (int i = 0; i < DEEDS; i++)
        open_deed(deeds[i], &subject[i], &s[i], &hasty, SPEC_SCOPE_VERIFY);
#pragma omp parallel for num_threads(DEEDS) schedule(static, 1)
    for (int i = 0; i < DEEDS; i++) status[i] = spec_subject_run(&subject[i], BATCH, &error[i]);
    for (int i = 0; i < DEEDS; i++) {
        expect(deeds[i], status[i], &error[i],
               "in spec_sampler_step, *: it did not answer within 0.4 s");
        spec_subject_close(&subject[i]);
        stand_free(&s[i]);
    }
    orphans_none();
}

TEST(a_call_that_never_returns_is_one_line_of_error)
{
    static const struct {
        const char *deed, *line;
    } cases[] = {
        {"crash", "it crashed (signal 11, Segmentation fault)"},
        {"abort", "it crashed (signal 6, Aborted)"},
        {"deep", "it crashed (signal 11, Segmentation fault)"},
        {"longjmp", "*"}, /* into a dead frame: anything may happen, but the error is one line */
        {"exit", "it exited with code 0"},
        {"exit with words", "it exited with code 3; it said: 'last words'"},
        {"stop", "it stopped itself (signal 19, Stopped (signal))"},
        {"leak", "it took more than 256 MB of memory"},
        {"step fails", "the sampler's step returned 4: no such?luck"},
        {"fork away", "it crashed (signal 11, Segmentation fault)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_subject subject;
        stand s;
        spec_error error = {{0}};
        char line[300];
        const int status =
            try_deed(cases[i].deed, &subject, &s, &patient, SPEC_SCOPE_VERIFY, &error);
        snprintf(line, sizeof line,
                 "in spec_sampler_step, fixture chain-5, scope V, rounds from seed %llu, "
                 "offset %llu on: %s",
                 (unsigned long long)subject.batch.seed[0],
                 (unsigned long long)subject.batch.offset[0], cases[i].line);
        expect(cases[i].deed, status, &error, line);
        assert_int_equal(spec_subject_run(&subject, BATCH, &error),
                         GSL_EFAILED); /* further calls fail */
        spec_subject_close(&subject);
        spec_subject_close(&subject);
        stand_free(&s);
        orphans_none();
    }
}

/* In a PID namespace it cannot reach the supervisor, and hangs. */
TEST(a_library_that_kills_its_supervisor_is_one_line_of_error)
{
    spec_subject subject;
    stand s;
    spec_error error = {{0}};
    const int status = try_deed("kill supervisor", &subject, &s, &hasty, SPEC_SCOPE_VERIFY, &error);
    const bool killed = strstr(error.text, "killed") != NULL;
    expect("kill supervisor", status, &error,
           killed ? "in spec_sampler_step, *: it killed its supervisor"
                  : "in spec_sampler_step, *: it did not answer within 0.4 s");
    spec_subject_close(&subject);
    stand_free(&s);
    orphans_end(killed);
}

TEST(an_attacked_channel_is_one_line_of_error)
{
    static const struct {
        const char *deed, *line;
    } cases[] = {
        {"close all", "in spec_sampler_step*: it closed its output"},
        {"write to all", "in spec_sampler_step*: it overwrote the memory that it shares with "
                         "speclab"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_subject subject;
        stand s;
        spec_error error = {{0}};
        const int status =
            try_deed(cases[i].deed, &subject, &s, &patient, SPEC_SCOPE_VERIFY, &error);
        expect(cases[i].deed, status, &error, cases[i].line);
        spec_subject_close(&subject);
        stand_free(&s);
        orphans_none();
    }
}

/* The second round of every call of 128 rounds does it. */
TEST(forbidden_writes_are_recorded_at_their_round)
{
    static const struct {
        const char *deed;
        uint32_t fault;
        spec_hard hard;
        uint32_t scope;
    } cases[] = {
        {"token written", SPEC_FAULT_INPUT, SPEC_HARD_INPUT, SPEC_SCOPE_VERIFY},
        {"coin written", SPEC_FAULT_INPUT, SPEC_HARD_INPUT, SPEC_SCOPE_VERIFY},
        {"overrun", SPEC_FAULT_OVERRUN, SPEC_HARD_OVERRUN, SPEC_SCOPE_VERIFY},
        {"underrun", SPEC_FAULT_OVERRUN, SPEC_HARD_OVERRUN, SPEC_SCOPE_VERIFY},
        {"untouched", SPEC_FAULT_UNTOUCHED, SPEC_HARD_UNTOUCHED, SPEC_SCOPE_VERIFY},
        {"too many", 0, SPEC_HARD_COUNTS, SPEC_SCOPE_VERIFY},
        {"huge count", 0, SPEC_HARD_COUNTS, SPEC_SCOPE_VERIFY},
        {"token out of range", 0, SPEC_HARD_RANGE, SPEC_SCOPE_VERIFY},
        {"draft out of range", 0, SPEC_HARD_RANGE, SPEC_SCOPE_DRAFT},
        {"behave", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"print", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"read all", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"shrink", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"fork", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"crash in close", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_subject subject;
        stand s;
        spec_error error = {{0}};
        const int status = try_deed(cases[c].deed, &subject, &s, &patient, cases[c].scope, &error);
        if (status != GSL_SUCCESS) fail_msg("%s: %s", cases[c].deed, error.text);
        for (int i = 0; i < BATCH; i++)
            if (subject.batch.fault[i] != (i % 128 == 1 ? cases[c].fault : 0))
                fail_msg("%s: fault %u at round %d", cases[c].deed, subject.batch.fault[i], i);
        spec_evidence_add(s.evidence, &subject.batch, BATCH, 0, s.rng);
        const spec_exhibit *hard = spec_evidence_hard(s.evidence);
        assert_int_equal(hard != NULL ? hard->hard : SPEC_HARD_NONE, cases[c].hard);
        if (hard != NULL) assert_int_equal(hard->index, 1);
        spec_subject_close(&subject);
        stand_free(&s);
        orphans_none();
    }
}

/* All rounds of a call share the rows of a chain, so one write spoils all of them, and is
 * undone. */
TEST(a_row_that_is_written_spoils_its_call)
{
    spec_subject subject;
    stand s;
    spec_error error = {{0}};
    assert_int_equal(try_deed("row written", &subject, &s, &patient, SPEC_SCOPE_VERIFY, &error),
                     GSL_SUCCESS);
    for (int i = 0; i < BATCH; i++) assert_int_equal(subject.batch.fault[i], SPEC_FAULT_INPUT);
    spec_subject_close(&subject);
    stand_free(&s);
    orphans_none();
}

/* Children may crash, so sanitizers must not catch their signals. */
static int set_up(void **state)
{
    setenv("ASAN_OPTIONS",
           "handle_segv=0:handle_abort=0:allocator_may_return_null=1:intercept_tls_get_addr=0", 1);
    return orphans_adopt(state);
}

SUITE(PLUGIN, .setup = set_up);
