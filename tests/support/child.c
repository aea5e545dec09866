/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/child.h"

#include "tests/support/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 24 };

char spec_program[PATH_MAX];
void (*spec_child_before)(void);

/* ---- running it ------------------------------------------------------------------------------ */

void spec_child_start(spec_child *c, const char *opt_environment, const char *opt_stdout_path,
                      const char *arguments)
{
    int out[2], err[2];
    char *copy = strdup(arguments), *argv[MOST_ARGUMENTS + 2] = {spec_program};
    int n = 1;
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL && n <= MOST_ARGUMENTS;)
        if (*word != '\0') argv[n++] = strcmp(word, "''") == 0 ? word + 2 : word;
    *c = (spec_child){.text = calloc(SPEC_CHILD_TEXT, 1)};
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        const char *name = opt_environment, *equals = name != NULL ? strchr(name, '=') : NULL;
        char variable[64];
        snprintf(variable, sizeof variable, "%.*s", equals != NULL ? (int)(equals - name) : 0,
                 name != NULL ? name : "");
        if (equals != NULL) setenv(variable, equals + 1, 1);
        else if (name != NULL) unsetenv(name);
        int to = opt_stdout_path != NULL ? open(opt_stdout_path, O_WRONLY) : out[1];
        dup2(to, STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        for (int fd = 3; fd < 64; fd++) close(fd);
        signal(SIGPIPE, SIG_DFL); /* as a shell would start it */
        if (spec_child_before != NULL) spec_child_before();
        execv(spec_program, argv);
        _exit(126);
    }
    close(out[1]);
    close(err[1]);
    c->out = out[0];
    c->err = err[0];
    free(copy);
}

static void take(int *fd, char *text, size_t *n, size_t size)
{
    char block[4096];
    const ssize_t got = read(*fd, block, sizeof block);
    if (got <= 0) {
        close(*fd);
        *fd = -1;
    }
    for (ssize_t i = 0; i < got && *n + 1 < size; i++) text[(*n)++] = block[i];
    text[*n] = '\0';
}

/* Moves the line "assumed: ..." out of standard error. */
static void take_assumed(spec_child *c)
{
    c->assumed[0] = '\0';
    for (char *line = c->line; *line != '\0';) {
        const size_t n = strcspn(line, "\n"), whole = n + (line[n] != '\0');
        const char *word = strstr(line, ": assumed: ");
        if (word == NULL) return;
        if (word < line + n) {
            snprintf(c->assumed, sizeof c->assumed, "%.*s", (int)n, line);
            memmove(line, line + whole, strlen(line + whole) + 1);
            c->n_line -= whole;
            return;
        }
        line += whole;
    }
}

/* Returns false if it said nothing for that long, and was killed. */
static bool listen_for(spec_child *c, const char *opt_until, int patience_ms)
{
    for (int waited = 0; c->out >= 0 || c->err >= 0;) {
        struct pollfd fds[2] = {{.fd = c->out, .events = POLLIN}, {.fd = c->err, .events = POLLIN}};
        if (opt_until != NULL && strstr(c->text, opt_until) != NULL) return true;
        if (poll(fds, 2, 100) == 0 && (waited += 100) > patience_ms) {
            kill(c->pid, SIGKILL);
            while (waitpid(c->pid, NULL, 0) < 0) assert_int_equal(errno, EINTR);
            return false;
        }
        if (fds[0].revents != 0) take(&c->out, c->text, &c->n, SPEC_CHILD_TEXT);
        if (fds[1].revents != 0) take(&c->err, c->line, &c->n_line, sizeof c->line);
    }
    if (opt_until != NULL) fail_msg("it ended without '%s': %s", opt_until, c->line);
    take_assumed(c);
    int state;
    while (waitpid(c->pid, &state, 0) < 0) assert_int_equal(errno, EINTR);
    c->code = WIFEXITED(state) ? WEXITSTATUS(state) : SPEC_CHILD_KILLED + WTERMSIG(state);
    return true;
}

void spec_child_listen(spec_child *c, const char *opt_until)
{
    if (!listen_for(c, opt_until, SPEC_CHILD_PATIENCE_MS))
        fail_msg("no answer within %d s", SPEC_CHILD_PATIENCE_MS / 1000);
}

bool spec_child_ends(spec_child *c, int patience_ms)
{
    return listen_for(c, NULL, patience_ms);
}

void spec_child_free(spec_child *c)
{
    if (c->out >= 0) close(c->out);
    if (c->err >= 0) close(c->err);
    free(c->text);
}

void spec_child_run(spec_child *c, const char *arguments)
{
    spec_child_start(c, NULL, NULL, arguments);
    spec_child_listen(c, NULL);
}

const char *spec_child_complaint(char ret_text[SPEC_CHILD_COMPLAINT], const spec_child *c, int code,
                                 const char *begin)
{
    const char *end = strchr(c->line, '\n');
    if (c->code != code)
        snprintf(ret_text, SPEC_CHILD_COMPLAINT, "exit code %d, not %d: %s", c->code, code,
                 c->line);
    else if (strncmp(c->line, begin, strlen(begin)) != 0)
        snprintf(ret_text, SPEC_CHILD_COMPLAINT, "'%s' does not begin '%s'", c->line, begin);
    else if (end == NULL || end[1] != '\0')
        snprintf(ret_text, SPEC_CHILD_COMPLAINT, "not one line: '%s'", c->line);
    else return NULL;
    return ret_text;
}

void spec_child_says(const spec_child *c, const char *arguments, int code, const char *begin)
{
    char text[SPEC_CHILD_COMPLAINT];
    if (spec_child_complaint(text, c, code, begin) != NULL) fail_msg("%s: %s", arguments, text);
}

void spec_program_ends(const char *arguments, int code, const char *begin)
{
    spec_child c;
    spec_child_run(&c, arguments);
    if (c.code != code) fail_msg("%s: exit %d, not %d: %s", arguments, c.code, code, c.line);
    if (strncmp(c.text, begin, strlen(begin)) != 0) fail_msg("%s: says %.60s", arguments, c.text);
    spec_child_free(&c);
}

static char *text_of(const char *arguments, int code)
{
    spec_child c;
    spec_child_run(&c, arguments);
    if (c.code != code) fail_msg("%s: exit %d, not %d: %s", arguments, c.code, code, c.line);
    char *text = c.text;
    c.text = NULL;
    spec_child_free(&c);
    return text;
}

char *spec_program_text(const char *arguments)
{
    return text_of(arguments, 0);
}

void spec_program_prints_all(const char *arguments, int code, const char *const *texts)
{
    char *text = text_of(arguments, code);
    for (; *texts != NULL; texts++)
        if (strstr(text, *texts) == NULL)
            fail_msg("%s: no '%s' in '%.4000s'", arguments, *texts, text);
    free(text);
}

void spec_programs_agree(const char *arguments, const char *others)
{
    char *text = spec_program_text(arguments), *other = spec_program_text(others);
    if (strcmp(text, other) != 0)
        fail_msg("'%s' and '%s' differ: '%s', '%s'", arguments, others, text, other);
    free(text);
    free(other);
}

void spec_program_fails(const char *arguments, int code, const char *begin)
{
    spec_child c;
    spec_child_run(&c, arguments);
    spec_child_says(&c, arguments, code, begin);
    if (c.n > 0) fail_msg("%s: it failed, and yet wrote '%.80s'", arguments, c.text);
    spec_child_free(&c);
}

void spec_program_works(const char *arguments)
{
    spec_child c;
    spec_child_run(&c, arguments);
    if (c.code != 0) fail_msg("%s: exit code %d: %s", arguments, c.code, c.line);
    spec_child_free(&c);
}

static long limit_us;

/* The timer outlives execv, and counts the processor time of all threads. */
static void limit_time(void)
{
    const struct itimerval timer = {
        .it_value = {.tv_sec = limit_us / 1000000, .tv_usec = limit_us % 1000000}};
    signal(SIGPROF, SIG_DFL);
    setitimer(ITIMER_PROF, &timer, NULL);
}

int spec_program_outlives_kills(const char *arguments, double seconds, const char *opt_text)
{
    enum { PARTS = 20, MOST_KILLS = 15 };
    for (int kills = 0; kills < MOST_KILLS; kills++) {
        spec_child c;
        limit_us = 1 + (long)(1e6 * seconds * kills / PARTS);
        spec_child_before = limit_time;
        spec_child_run(&c, arguments);
        spec_child_before = NULL;
        const bool done = c.code == 0;
        if (!done && c.code != SPEC_CHILD_KILLED + SIGPROF)
            fail_msg("%s: exit code %d: %s", arguments, c.code, c.line);
        if (done && opt_text != NULL) assert_string_equal(c.text, opt_text);
        spec_child_free(&c);
        if (done) return kills;
    }
    fail_msg("%s: it does not continue from where it was killed", arguments);
    return MOST_KILLS;
}

/* ---- waiting --------------------------------------------------------------------------------- */

bool spec_child_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Reads a file of the process's folder in /proc. */
static bool read_proc(char *text, size_t size, pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) return false;
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    return true;
}

bool spec_child_catches(pid_t pid, int number)
{
    char status[4096];
    const char *caught =
        read_proc(status, sizeof status, pid, "status") ? strstr(status, "\nSigCgt:") : NULL;
    return caught != NULL && (strtoull(caught + 8, NULL, 16) >> (number - 1) & 1) != 0;
}

bool spec_child_is_in(pid_t pid, long call)
{
    char text[256], *end;
    return read_proc(text, sizeof text, pid, "syscall") && strtol(text, &end, 10) == call &&
           end > text;
}

double spec_child_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0.0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* ---- files ----------------------------------------------------------------------------------- */

void spec_file_write(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

char *spec_file_bytes(const char *name)
{
    char *bytes = calloc(SPEC_CHILD_TEXT, 1);
    FILE *file = fopen(name, "r");
    if (file == NULL) return bytes;
    (void)!fread(bytes, 1, SPEC_CHILD_TEXT - 1, file);
    fclose(file);
    return bytes;
}

double spec_children_seconds(void)
{
    struct rusage use;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &use), 0);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

off_t spec_file_size(const char *name)
{
    struct stat file;
    return stat(name, &file) == 0 ? file.st_size : 0;
}

void spec_files_same(const char *name, const char *other)
{
    char *a = spec_file_bytes(name), *b = spec_file_bytes(other);
    assert_true(a[0] != '\0');
    assert_string_equal(a, b);
    free(a);
    free(b);
}

void spec_pause(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int spec_program_set_up(void **state)
{
    const char *name = getenv("SPECLAB");
    if (name == NULL || realpath(name, spec_program) == NULL) spec_program[0] = '\0';
    if (spec_folder_enter(state) != 0) return -1;
    signal(SIGPIPE, SIG_IGN);
    spec_file_write("one.cfg", "measure = \"predict\"; grid = { alpha = 0.27; K = 3; };");
    spec_file_write("long.cfg", "measure = \"acceptance\"; grid = { alpha = \"0.21:0.6:0.01\"; K = "
                                "5; }; rounds = 1000000;");
    spec_file_write("empty", "");
    spec_file_write("bad.cfg", "measure = \"predict\";\ngrid = { alpha = ; };\n");
    spec_file_write("binary", "measure\001\002 = 3;");
    spec_file_write("sums.txt", "0.5 0.6\n");
    spec_file_write("text.txt",
                    "the cat sat on the mat. the dog sat on the log. the cat saw the dog.\n");
    return mkdir("dir", 0777) | mkfifo("fifo", 0666) | symlink("loop", "loop");
}

int spec_program_tear_down(void **state)
{
    return spec_folder_leave(state);
}

