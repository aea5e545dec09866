/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/launched.h"

#include "base/escape.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 10000, STEP_MS = 20, LAST_LINE = 200 };

/* Returns the command with the draft length filled in; the caller frees it. */
static char *fill_in(const char *command, int K)
{
    static const char mark[] = "{K}";
    const size_t length = sizeof mark - 1;
    char number[16];
    size_t marks = 0;
    for (const char *at = command; (at = strstr(at, mark)) != NULL; at += length) marks++;
    const int digits = snprintf(number, sizeof number, "%d", K);
    char *text = malloc(strlen(command) + marks * (size_t)digits + 1), *to = text;
    if (text == NULL) return NULL;
    for (const char *at = command;; at += length) {
        const char *next = strstr(at, mark);
        if (next == NULL) {
            stpcpy(to, at);
            return text;
        }
        to = stpcpy(mempcpy(to, at, (size_t)(next - at)), number);
        at = next;
    }
}

/* ---- the watcher, which only calls what a child of a program with threads may call ------------
 */

static void close_others(int kept)
{
    const long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (most > 0 && most < 4096 ? most : 4096); fd++)
        if (fd != kept) close(fd);
}

static void wait_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* Ends the group, whose leader may have ended already. */
static void end_group(pid_t group)
{
    int signal_sent = SIGTERM;
    kill(-group, SIGTERM);
    for (int waited = 0; waited < 2 * GRACE_MS; waited += STEP_MS) {
        waitpid(group, NULL, WNOHANG);
        if (kill(-group, 0) != 0 && errno == ESRCH) return;
        if (waited >= GRACE_MS && signal_sent == SIGTERM) kill(-group, signal_sent = SIGKILL);
        wait_ms(STEP_MS);
    }
}

static void run_shell(const char *command)
{
    static const int usual[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    setpgid(0, 0);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) signal(usual[i], SIG_DFL);
    close_others(-1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Waits for the end of the server, or of the program that holds the other end of the leash. Exits
 * with the server's status. */
static void watch(const char *command, int leash)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    int status = 0;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    close_others(leash);
    const pid_t server = fork();
    if (server == 0) run_shell(command);
    if (server < 0) _exit(127);
    setpgid(server, server);
    for (struct pollfd end = {.fd = leash, .events = POLLIN};;) {
        if (poll(&end, 1, 5 * STEP_MS) > 0) break;
        if (waitpid(server, &status, WNOHANG) == server) break;
    }
    end_group(server);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- the program ----------------------------------------------------------------------------- */

int spec_launched_start(spec_launched *ret, const char *command, int K, const char *log,
                        spec_error *error)
{
    int ends[2] = {-1, -1}, status = GSL_SUCCESS;
    char *filled = fill_in(command, K);
    const int to = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
              from = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *ret = (spec_launched){.leash = -1, .log = log};
    if (filled == NULL) SPEC_TRY(spec_no_memory(error));
    if (to < 0) SPEC_TRY(spec_fail(error, GSL_EFAILED, "%.200s: %s", log, strerror(errno)));
    if (from < 0 || pipe2(ends, O_CLOEXEC) != 0 || (ret->watcher = fork()) < 0) {
        ret->watcher = 0;
        SPEC_TRY(
            spec_fail(error, GSL_EFAILED, "cannot start '%.200s': %s", filled, strerror(errno)));
    }
    if (ret->watcher == 0) {
        if (dup2(from, 0) < 0 || dup2(to, 1) < 0 || dup2(to, 2) < 0) _exit(127);
        watch(filled, ends[0]);
    }
    ret->leash = ends[1];
    ends[1] = -1;
done:
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
    if (to >= 0) close(to);
    if (from >= 0) close(from);
    free(filled);
    return status;
}

/* Finds the last line of the log that is not blank. */
static void last_line(char line[LAST_LINE], const char *path)
{
    char tail[4 * LAST_LINE];
    FILE *file = fopen(path, "r");
    *line = '\0';
    if (file == NULL) return;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file), back = (long)sizeof tail - 1;
    fseek(file, size > back ? size - back : 0, SEEK_SET);
    const size_t n = fread(tail, 1, sizeof tail - 1, file);
    fclose(file);
    tail[n] = '\0';
    for (char *rest = tail, *next; (next = strsep(&rest, "\n")) != NULL;)
        if (next[strspn(next, " \t\r")] != '\0') snprintf(line, LAST_LINE, "%s", next);
    spec_escape_in_place(line);
}

int spec_launched_check(spec_launched *l, spec_error *error)
{
    int status;
    char line[LAST_LINE];
    if (l->watcher == 0 || waitpid(l->watcher, &status, WNOHANG) != l->watcher) return GSL_SUCCESS;
    l->watcher = 0;
    close(l->leash);
    last_line(line, l->log);
    return spec_fail(error, GSL_EFAILED, "the server has ended with status %d; its log %.150s %s%s",
                     WIFEXITED(status) ? WEXITSTATUS(status) : 128, l->log,
                     *line != '\0' ? "ends: " : "is empty", line);
}

void spec_launched_stop(spec_launched *l)
{
    if (l->watcher == 0) return;
    close(l->leash);
    while (waitpid(l->watcher, NULL, 0) < 0 && errno == EINTR) {}
    l->watcher = 0;
}
