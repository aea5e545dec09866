/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb: ctrl-C, --resume, and servers that must not outlive it. SPECLAB names the program. */
#include "tests/support/child.h"
#include "tests/tools/live/faulty_server.h"

#include <signal.h>
#include <sys/stat.h>

static void write_prompts(void)
{
    spec_file_write("prompts.jsonl", "{\"prompt\": \"Once upon a time\"}\n{\"prompt\": \"O\"}\n");
}

static bool answers(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)port)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool open = connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    return open;
}

static bool waited_for(bool (*holds)(int port), int port, bool wanted)
{
    for (int i = 0; i < 300; i++) {
        if (holds(port) == wanted) return true;
        usleep(100000);
    }
    return false;
}

static bool has_blocks(int least)
{
    struct stat about;
    return stat("blocks.jsonl", &about) == 0 && about.st_size > least;
}

/* Starts a long measurement with a server of its own, and returns once it is under way. */
static pid_t drive(int port, bool resume)
{
    char url[64], command[1400];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    snprintf(command, sizeof command,
             "python3 -I -S '%.1000s/tests/tools/live/timed_server.py' port=%d K={K} plain=1 a=1 "
             "b=.2; :",
             spec_folder_before, port);
    const pid_t child = fork();
    if (child == 0) {
        execl(spec_program, "speclab", "drive", "--url", url, "--launch", command, "--prompts",
              "prompts.jsonl", "--K", "0,2", "--concurrency", "2", "--max-tokens", "16", "--repeat",
              resume ? "2" : "100", "--requests", resume ? "6" : "40", "--capture", "blocks.jsonl",
              "-o", "report.txt", resume ? "--resume" : NULL, NULL);
        _exit(127);
    }
    return child;
}

static int end_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ctrl_c_reports_the_finished_blocks_and_ends_the_server, SLOW)
{
    OWNED(server) probe = start("right", "vllm"); /* skips without python3 */
    const int port = free_port();
    spec_needs_program();
    write_prompts();
    unlink("blocks.jsonl");
    const pid_t child = drive(port, false);
    for (int i = 0; i < 400 && !has_blocks(8000); i++) usleep(100000);
    assert_true(has_blocks(8000) && waited_for(answers, port, true));
    kill(child, SIGINT);
    assert_int_equal(end_of(child), 130);
    assert_false(answers(port));
    FREED char *report = spec_file_bytes("report.txt");
    assert_non_null(strstr(report, "With 2 requests at a time "));
    assert_non_null(strstr(report, "what is finished counts"));
}

TEST(ctrl_c_in_the_first_block_says_that_nothing_is_finished, SLOW)
{
    OWNED(server) s = start_script("timed_server.py", (const char *const[]){"fault=hang", NULL});
    spec_needs_program();
    write_prompts();
    const pid_t child = fork();
    if (child == 0) {
        if (freopen("said.txt", "w", stderr) == NULL) _exit(126);
        execl(spec_program, "speclab", "drive", "--url", s.url, "--prompts", "prompts.jsonl", NULL);
        _exit(127);
    }
    sleep(2);
    kill(child, SIGINT);
    assert_int_equal(end_of(child), 130);
    FREED char *said = spec_file_bytes("said.txt");
    assert_non_null(strstr(said, "speclab drive: nothing is finished yet\n"));
}

/* Even SIGKILL leaves no server behind. */
TEST(a_program_that_is_killed_takes_its_server_with_it, SLOW)
{
    OWNED(server) probe = start("right", "vllm");
    const int port = free_port();
    spec_needs_program();
    write_prompts();
    unlink("blocks.jsonl");
    const pid_t child = drive(port, false);
    assert_true(waited_for(answers, port, true));
    kill(child, SIGKILL);
    assert_int_equal(end_of(child), -SIGKILL);
    assert_true(waited_for(answers, port, false));
}

TEST(resume_goes_on_after_the_blocks_of_the_file, SLOW)
{
    OWNED(server) probe = start("right", "vllm");
    const int port = free_port();
    spec_needs_program();
    write_prompts();
    unlink("blocks.jsonl");
    assert_true(end_of(drive(port, true)) % 3 == 0);
    FREED char *whole = spec_file_bytes("blocks.jsonl");
    FREED char *first = spec_file_bytes("report.txt");
    int lines = 0;
    for (const char *c = whole; *c != '\0'; c++) lines += *c == '\n';
    assert_int_equal(lines, 1 + 4);
    /* nothing is left to do, so no server is started, and the report is the same */
    assert_true(end_of(drive(port, true)) % 3 == 0);
    FREED char *again = spec_file_bytes("report.txt");
    const size_t n = (size_t)(strstr(first, "\n  measured") - first); /* with engine and model */
    assert_int_equal(strncmp(first, again, n), 0);
    /* without its last two blocks, and half of the one before */
    char *cut = whole;
    for (int i = 0; i < 2; i++) cut = strchr(cut, '\n') + 1;
    cut[40] = '\0';
    spec_file_write("blocks.jsonl", whole);
    assert_true(end_of(drive(port, true)) % 3 == 0);
    FREED char *completed = spec_file_bytes("blocks.jsonl");
    assert_int_equal(strncmp(completed, whole, (size_t)(cut - whole)), 0);
    lines = 0;
    for (const char *c = completed; *c != '\0'; c++) lines += *c == '\n';
    assert_int_equal(lines, 1 + 4);
}

TEST(a_refused_baseline_has_no_result, SLOW)
{
    OWNED(server) s = start_script("timed_server.py", (const char *const[]){"fault=ignored", NULL});
    char arguments[512];
    spec_child c;
    spec_needs_program();
    write_prompts();
    snprintf(arguments, sizeof arguments,
             "drive --url %s --prompts prompts.jsonl --K 2 --max-tokens 8 -f json", s.url);
    spec_child_run(&c, arguments);
    assert_int_equal(c.code, 2);
    assert_string_equal(c.text, "");
    assert_non_null(strstr(c.line, "speclab drive: the baseline speculates: K = 0 was asked for"));
    spec_child_free(&c);
}

TEST(rows_are_csv_or_json_with_a_row_for_each_length, SLOW)
{
    OWNED(server)
    s = start_script("timed_server.py", (const char *const[]){"plain=1", "a=1", "b=.2", NULL});
    char arguments[512];
    spec_child c;
    spec_needs_program();
    write_prompts();
    snprintf(arguments, sizeof arguments,
             "drive --url %s --prompts prompts.jsonl --K 1,2 --concurrency 1,2 --max-tokens 8 "
             "--repeat 2 -f csv",
             s.url);
    spec_child_run(&c, arguments);
    assert_true(c.code % 3 == 0);
    for (int K = 0; K <= 2; K++)
        for (int level = 1; level <= 2; level++) {
            char row[32];
            snprintf(row, sizeof row, "\n%d,,%d,2,", level, K);
            assert_non_null(strstr(c.text, row));
        }
    spec_child_free(&c);
}

TEST(a_file_that_cannot_be_written_does_not_lose_the_result, SLOW)
{
    static const char *const formats[] = {"table", "csv"};
    OWNED(server)
    s = start_script("timed_server.py", (const char *const[]){"plain=1", "a=1", "b=.2", NULL});
    spec_needs_program();
    write_prompts();
    for (int i = 0; i < 2; i++) {
        char arguments[512];
        spec_child c;
        snprintf(arguments, sizeof arguments,
                 "drive --url %s --prompts prompts.jsonl --K 2 --concurrency 1 --max-tokens 8 "
                 "--repeat 1 -f %s -o /dev/full",
                 s.url, formats[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 2);
        assert_non_null(strstr(c.text, "With 1 request at a time "));
        assert_non_null(strstr(c.line, "speclab drive: /dev/full: "));
        assert_non_null(strstr(c.line, "No space left on device"));
        spec_child_free(&c);
    }
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
