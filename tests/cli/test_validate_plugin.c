/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab validate FILE.so as its users run it. SPECLAB names the program, beside which
 * tests/plugins lies. */
#include "tests/support/child.h"
#include "tests/support/orphans.h"
#include "tests/support/support.h"

#include <signal.h>
#include <string.h>

static const char brief[] = "--only plain-4 --budget 200k --threads 2";

static const char *command(const char *kind, const char *library, const char *options)
{
    static char text[PATH_MAX + 256];
    const int folder = (int)(strrchr(spec_program, '/') - spec_program);
    snprintf(text, sizeof text, "validate %s%.*s/tests/plugins/%s %s %s", kind, folder,
             spec_program, library, brief, options);
    return text;
}

static void run(const char *opt_environment, const char *arguments, int code, const char *opt_out,
                const char *opt_err)
{
    spec_child c;
    spec_child_start(&c, opt_environment, NULL, arguments);
    spec_child_listen(&c, NULL);
    if (c.code != code) fail_msg("%s: exit %d, not %d: %s", arguments, c.code, code, c.line);
    if (opt_out != NULL ? strstr(c.text, opt_out) == NULL : c.n > 0)
        fail_msg("%s: says '%.80s'", arguments, c.text);
    if (opt_err != NULL) {
        if (strstr(c.line, opt_err) == NULL)
            fail_msg("%s: '%s' has no '%s'", arguments, c.line, opt_err);
        assert_ptr_equal(strchr(c.line, '\n') + 1, strchr(c.line, '\0')); /* one line */
    }
    spec_child_free(&c);
    orphans_end(0);
}

TEST(a_plug_in_gets_its_verdict, SLOW)
{
    spec_needs_program();
    run(NULL, command("", "newcomer.so", ""), 0, "looks lossless", NULL);
    run(NULL, command("plugin:", "newcomer.so", "--options wrong"), 1, "is not lossless", NULL);
    run("SPECLAB_HOSTILE=overrun", command("", "hostile.so", ""), 1,
        "it wrote past the end of its "
        "output",
        NULL);
    run("SPECLAB_HOSTILE=row written", command("", "hostile.so", ""), 1, "it modified its input",
        NULL);
    run("SPECLAB_HOSTILE=too many", command("", "hostile.so", ""), 1, "n_emitted", NULL);
}

TEST(a_broken_one_is_one_line_and_exit_2)
{
    spec_needs_program();
    run("SPECLAB_HOSTILE=crash", command("", "hostile.so", ""), 2, NULL,
        "hostile.so: in spec_sampler_step, fixture plain-4, scope V, rounds from seed ");
    run("SPECLAB_HOSTILE=hang", command("", "hostile.so", "--timeout 2"), 2, NULL,
        ": it did not answer within 2 s; --timeout gives more time, --only fewer fixtures: ");
    run("SPECLAB_HOSTILE=leak", command("", "hostile.so", "--memory 200M"), 2, NULL,
        ": it took more than 200 MB of memory\n");
    run("SPECLAB_HOSTILE=exit with words", command("", "hostile.so", ""), 2, NULL,
        ": it exited with code 3; it said: 'last words'\n");
    run("SPECLAB_HOSTILE=fork away", command("", "hostile.so", ""), 2, NULL,
        ": it crashed (signal 11, Segmentation fault)\n");
    run(NULL, command("", "bare.so", ""), 2, NULL,
        "bare.so: while it was loaded: it does not export spec_sampler_open\n");
    run(NULL, command("", "newcomer.so", "--options wring"), 2, NULL,
        "newcomer.so: in spec_sampler_open: the sampler's open returned 2: the options are "
        "'wrong', 'unseeded' and 'slow'\n");
}

/* Interrupts or kills the program during a call that never returns. */
TEST(nothing_is_left_when_the_program_ends)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    spec_needs_program();
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        spec_child c;
        spec_child_start(&c, "SPECLAB_HOSTILE=mask", NULL,
                         command("", "hostile.so", "--timeout 60"));
        spec_await(spec_child_catches(c.pid, SIGINT));
        spec_pause(200); /* wait, because it may not have reached the call yet */
        kill(c.pid, signals[i]);
        spec_child_listen(&c, NULL);
        if (signals[i] == SIGINT) assert_int_equal(c.code, 130);
        else assert_int_not_equal(c.code, 0);
        spec_child_free(&c);
        orphans_end(0);
    }
}

static int set_up(void **state)
{
    setenv("ASAN_OPTIONS",
           "handle_segv=0:handle_abort=0:allocator_may_return_null=1:intercept_tls_get_addr=0",
           1); /* so that it crashes without the sanitizer's report */
    return spec_program_set_up(state) | orphans_adopt(state);
}

SUITE(PLUGIN, .setup = set_up, .teardown = spec_program_tear_down);
