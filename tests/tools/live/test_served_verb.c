/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb: ctrl-C, and API keys. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/tools/live/faulty_server.h"

#include <signal.h>
#include <sys/stat.h>

static void write_prompts(void)
{
    spec_file_write("prompts.jsonl", "{\"prompt\": \"Once upon a time\"}\n");
}

static char *read_text(const char *path)
{
    char *text = calloc(1, 1 << 16);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    return text;
}

TEST(ctrl_c_judges_the_texts_so_far)
{
    OWNED(server) score = start("right", "vllm"), text = start("rollback", "vllm");
    struct stat about = {.st_size = 0};
    int status;
    spec_needs_program();
    write_prompts();
    const pid_t child = fork();
    if (child == 0) {
        execl(spec_program, "speclab", "served", "--text-from", text.url, "--score-by",
              score.url, "--prompts", "prompts.jsonl", "--texts", "100000", "--capture",
              "texts.jsonl", "-o", "report.json", NULL);
        _exit(127);
    }
    for (int i = 0; i < 600 && about.st_size < 400000; i++) {
        usleep(100000);
        if (stat("texts.jsonl", &about) != 0) about.st_size = 0;
    }
    assert_true(about.st_size >= 400000);
    kill(child, SIGINT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 130);
    FREED char *report = read_text("report.json");
    assert_non_null(strstr(report, "\"interrupted\": true"));
    assert_non_null(strstr(report, "\"verdict\": \"wrong state\""));
}

TEST(a_key_comes_from_a_variable_or_a_file_and_is_never_printed)
{
    static const char *const keys[] = {"--text-key env:SERVED_KEY --score-key file:key",
                                       "--text-key file:key --score-key env:SERVED_KEY",
                                       "--text-key env:SERVED_KEY", "--score-key file:key"};
    OWNED(server) both = start_with_key("right", "vllm", "sesame-7f3");
    spec_needs_program();
    write_prompts();
    spec_file_write("key", "sesame-7f3\n");
    setenv("SERVED_KEY", "sesame-7f3", 1);
    for (int i = 0; i < 4; i++) {
        char arguments[512];
        spec_child c;
        snprintf(arguments, sizeof arguments,
                 "served --text-from %s --score-by %s --prompts prompts.jsonl --texts 2 --tokens 4 "
                 "%s",
                 both.url, both.url, keys[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, i < 2 ? 3 : 2);
        assert_null(strstr(c.text, "sesame"));
        assert_null(strstr(c.line, "sesame"));
        if (i >= 2) assert_non_null(strstr(c.line, "status 401: wrong API key"));
        assert_non_null(strstr(c.line, "warning: --text-from and --score-by are the same server"));
        spec_child_free(&c);
    }
    unsetenv("SERVED_KEY");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
