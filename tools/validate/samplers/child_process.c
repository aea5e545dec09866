/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/child_process.h"

#include "base/clock.h"
#include "base/stop_flag.h"
#include "tools/validate/samplers/child_environment.h"
#include "tools/validate/samplers/supervision.h"
#include "tools/validate/samplers/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Our descriptors are at FIRST_FD and above; those below are set up for the supervisor. */
enum { FIRST_FD = 16, SLICE_MS = 100 };

/* Seconds to wait for a child to exit once its input is closed; for the report on a child that
 * closed its output; for the supervisor's other reports. */
static const double grace = 1.0, report_patience = 0.25, supervisor_patience = 3.0;

struct spec_child_process {
    pid_t supervisor;                  /* 0: it has ended */
    pid_t pid;                         /* the child; 0: it was not started */
    int commands, answers, lifeline;   /* -1: closed */
    double deadline;
    bool late;                         /* a call timed out */
    spec_subject_limits limits;
};

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- end of a child -------------------------------------------------------------------------- */

static bool is_readable(int fd, double seconds)
{
    const double until = spec_clock_monotonic() + seconds;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    for (;;) {
        const double left = until - spec_clock_monotonic();
        const int n = poll(&poll_fd, 1, left > 0.0 ? (int)ceil(1e3 * left) : 0);
        if (n > 0) return true;
        if (left <= 0.0 || (n < 0 && errno != EINTR)) return false;
    }
}

static bool take_report(spec_child_process *child, spec_supervisor_report *report, double seconds)
{
    const bool came =
        is_readable(child->lifeline, seconds) &&
        recv(child->lifeline, report, sizeof *report, MSG_DONTWAIT) == (ssize_t)sizeof *report;
    if (!came) *report = (spec_supervisor_report){.why = SPEC_SUPERVISOR_STARTED};
    report->words[sizeof report->words - 1] = '\0';
    return came;
}

/* Tells the supervisor to kill everything, takes its report, and waits for it to exit. */
static void finish(spec_child_process *child, spec_supervisor_report *report)
{
    *report = (spec_supervisor_report){.why = SPEC_SUPERVISOR_STARTED};
    if (child->supervisor == 0) return;
    close_fd(&child->commands);
    shutdown(child->lifeline, SHUT_WR);
    kill(child->supervisor, SIGCONT); /* the child may have stopped it */
    if (!take_report(child, report, supervisor_patience)) { /* the child killed it */
        kill(child->supervisor, SIGKILL);
        if (child->pid > 0) kill(-child->pid, SIGKILL);
    }
    close_fd(&child->lifeline);
    close_fd(&child->answers);
    while (waitpid(child->supervisor, NULL, 0) < 0 && errno == EINTR) continue;
    child->supervisor = 0;
}

static int fail_with(spec_error *error, const char *what, const spec_supervisor_report *report)
{
    return spec_fail(error, GSL_EFAILED, "%s%s%s%s", what,
                     report->words[0] != '\0' ? "; it said: '" : "", report->words,
                     report->words[0] != '\0' ? "'" : "");
}

/* Fails because the child ended, or the supervisor killed it. */
static int fail_ended(spec_child_process *child, spec_error *error)
{
    spec_supervisor_report report;
    char what[128];
    finish(child, &report);
    const int status = report.status;
    switch ((spec_supervisor_why)report.why) {
    case SPEC_SUPERVISOR_MEMORY:
        snprintf(what, sizeof what, "it took more than %.0f MB of memory",
                 (double)child->limits.memory / 1048576.0);
        break;
    case SPEC_SUPERVISOR_STOPPED:
        snprintf(what, sizeof what, "it stopped itself (signal %d, %s)", WSTOPSIG(status),
                 strsignal(WSTOPSIG(status)));
        break;
    case SPEC_SUPERVISOR_NOT_FORKED:
        snprintf(what, sizeof what, "it cannot be started: %s", strerror(status));
        break;
    case SPEC_SUPERVISOR_ENDED:
        if (WIFSIGNALED(status))
            snprintf(what, sizeof what, "it crashed (signal %d, %s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
        else if (WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + 32)
            snprintf(what, sizeof what,
                     "it exited with code %d, which a shell returns for signal %d, %s",
                     WEXITSTATUS(status), WEXITSTATUS(status) - 128,
                     strsignal(WEXITSTATUS(status) - 128));
        else
            snprintf(what, sizeof what, "it exited with code %d", WEXITSTATUS(status));
        break;
    case SPEC_SUPERVISOR_TOLD: snprintf(what, sizeof what, "it closed its output"); break;
    case SPEC_SUPERVISOR_STARTED:
    default: snprintf(what, sizeof what, "it killed its supervisor"); break;
    }
    return fail_with(error, what, &report);
}

int spec_child_process_kill(spec_child_process *child, spec_error *error, const char *what)
{
    spec_supervisor_report report;
    finish(child, &report);
    return fail_with(error, what, &report);
}

bool spec_child_process_is_late(const spec_child_process *child)
{
    return child != NULL && child->late;
}

void spec_child_process_end(spec_child_process *child)
{
    spec_supervisor_report report;
    if (child == NULL) return;
    close_fd(&child->commands);
    if (child->supervisor != 0)
        (void)is_readable(child->lifeline, fmin(grace, child->limits.timeout));
    finish(child, &report);
    close_fd(&child->answers);
    close_fd(&child->lifeline);
    free(child);
}

/* ---- start of a child ------------------------------------------------------------------------ */

/* Returns a copy of the descriptor at FIRST_FD or above, and closes the original. */
static int move_up(int fd)
{
    const int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD) : -1;
    if (fd >= 0) close(fd);
    return high;
}

static bool make_pair(int ret[2], bool sockets)
{
    ret[0] = ret[1] = -1;
    const int code =
        sockets ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) : pipe2(ret, O_CLOEXEC);
    if (code != 0) return false;
    ret[0] = move_up(ret[0]);
    ret[1] = move_up(ret[1]);
    return ret[0] >= 0 && ret[1] >= 0;
}

/* Finds the file behind a link, if it still exists. Under Valgrind, /proc/self/exe is Valgrind to
 * exec, but not to readlink. */
static void resolve(char path[PATH_MAX], const char *program)
{
    const ssize_t n = readlink(program, path, PATH_MAX - 1);
    if (n > 0) path[n] = '\0';
    if (n <= 0 || access(path, X_OK) != 0) snprintf(path, PATH_MAX, "%s", program);
}

/* Starts the program with no signal blocked or ignored, in its own session, so that ctrl-C at a
 * terminal reaches only speclab. Returns errno. */
static int spawn(pid_t *ret, const char *program, char *const argv[], char *const variables[],
                 const int fd[4])
{
    static const int as[4] = {SPEC_SUPERVISOR_COMMANDS, SPEC_SUPERVISOR_ANSWERS,
                              SPEC_SUPERVISOR_LIFELINE, SPEC_SUPERVISOR_BLOCK};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char path[PATH_MAX];
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    if ((code = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    resolve(path, program);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    for (int i = 0; i < 4 && code == 0; i++)
        if (fd[i] >= 0) code = posix_spawn_file_actions_adddup2(&actions, fd[i], as[i]);
    if (code == 0) code = posix_spawn(ret, path, &actions, &attributes, argv, variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

int spec_child_process_start(spec_child_process **ret, const char *role, const char *about,
                             int opt_block, const spec_subject_limits *limits, spec_error *error)
{
    enum { MINE, ITS };
    int commands[2], answers[2], lifeline[2];
    char memory[32];
    *ret = NULL;
    if (limits->supervisor == NULL)
        return spec_fail(error, GSL_EFAILED, "no process can be started: no supervisor is set");
    spec_child_process *child = *ret = calloc(1, sizeof *child);
    if (child == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    child->limits = *limits;
    if (child->limits.clock.seconds == NULL) child->limits.clock = spec_clock_wall();
    bool made = make_pair(commands, true);
    made = make_pair(lifeline, true) && made;
    made = make_pair(answers, false) && made;
    const int block = opt_block >= 0 ? fcntl(opt_block, F_DUPFD_CLOEXEC, FIRST_FD) : -1;
    const int given[4] = {commands[ITS], answers[ITS], lifeline[ITS], block};
    char *argv[] = {(char *)(uintptr_t)spec_supervisor_name, (char *)(uintptr_t)role,
                    (char *)(uintptr_t)about, memory, NULL};
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)limits->memory);
    char **variables = spec_child_environment(limits->opt_env);
    const int code = !made               ? errno
                     : variables == NULL ? ENOMEM
                                         : spawn(&child->supervisor, limits->supervisor,
                                                 argv, variables, given);
    free(variables);
    child->commands = commands[MINE];
    child->answers = answers[MINE];
    child->lifeline = lifeline[MINE];
    for (int i = 0; i < 4; i++)
        if (given[i] >= 0) close(given[i]);
    spec_supervisor_report report;
    if (code == 0 && take_report(child, &report, supervisor_patience) &&
        report.why == SPEC_SUPERVISOR_STARTED) {
        child->pid = report.status;
        fcntl(child->answers, F_SETFL, O_NONBLOCK);
        spec_child_process_begin(child);
        return GSL_SUCCESS;
    }
    spec_child_process_end(child);
    *ret = NULL;
    return spec_fail(error, GSL_EFAILED, "no process can be started%s%s", code != 0 ? ": " : "",
                     code != 0 ? strerror(code) : "");
}

/* ---- the channel ----------------------------------------------------------------------------- */

void spec_child_process_begin(spec_child_process *child)
{
    child->deadline = spec_clock_read(&child->limits.clock) + child->limits.timeout;
}

/* Waits until `fd` is ready. Output that the child wrote before it ended is read first. */
static int wait_for(spec_child_process *child, int fd, short events, spec_error *error)
{
    struct pollfd fds[2] = {{.fd = fd, .events = events},
                            {.fd = child->lifeline, .events = POLLIN}};
    for (;;) {
        const double left = 1e3 * (child->deadline - spec_clock_read(&child->limits.clock));
        const volatile sig_atomic_t *stop = child->limits.opt_stop;
        if (spec_stop_is_set(stop)) {
            spec_supervisor_report report;
            finish(child, &report);
            return spec_fail(error, GSL_EFAILED, "interrupted");
        }
        if (left <= 0.0) {
            char what[64];
            snprintf(what, sizeof what, "it did not answer within %g s", child->limits.timeout);
            child->late = true;
            return spec_child_process_kill(child, error, what);
        }
        const int n = poll(fds, 2, (int)fmin(ceil(left), SLICE_MS));
        if (n > 0 && (fds[0].revents & events)) return GSL_SUCCESS;
        if (n > 0 && fds[1].revents != 0) return fail_ended(child, error);
        if (n > 0 && fds[0].revents != 0) { /* closed: the supervisor may know why */
            (void)is_readable(child->lifeline, report_patience);
            return fail_ended(child, error);
        }
    }
}

static int fail_dead(spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "it has ended before");
}

int spec_child_process_write(spec_child_process *child, const void *bytes, size_t n,
                             spec_error *error)
{
    const char *from = bytes;
    if (child->supervisor == 0) return fail_dead(error);
    while (n > 0) {
        const ssize_t wrote = send(child->commands, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote > 0) {
            from += wrote;
            n -= (size_t)wrote;
            continue;
        }
        if (wrote < 0 && errno != EAGAIN && errno != EINTR) { /* closed */
            (void)is_readable(child->lifeline, report_patience);
            return fail_ended(child, error);
        }
        const int status = wait_for(child, child->commands, POLLOUT, error);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

int spec_child_process_read(spec_child_process *child, void *bytes, size_t least, size_t most,
                            size_t *opt_ret_n, spec_error *error)
{
    size_t n = 0;
    if (opt_ret_n != NULL) *opt_ret_n = 0;
    if (child->supervisor == 0) return fail_dead(error);
    while (n < least) {
        const int status = wait_for(child, child->answers, POLLIN, error);
        if (status != GSL_SUCCESS) return status;
        const ssize_t got = read(child->answers, (char *)bytes + n, most - n);
        if (got > 0) n += (size_t)got;
        if (got == 0) {
            (void)is_readable(child->lifeline, report_patience);
            return fail_ended(child, error);
        }
    }
    if (opt_ret_n != NULL) *opt_ret_n = n;
    return GSL_SUCCESS;
}
