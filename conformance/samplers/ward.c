#include "conformance/samplers/ward.h"

#include "conformance/samplers/keeper.h"

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
#include <time.h>
#include <unistd.h>

/* Descriptors are moved to here and above, clear of those that a keeper is started with. */
enum { FIRST_FD = 16, SLICE_MS = 100 };

/* Seconds for a child to end once its input is closed, for a report of one whose output is closed, and for a keeper. */
static const double grace = 1.0, report_patience = 0.25, keeper_patience = 3.0;

struct spec_ward {
    pid_t keeper;                      /* 0: it has ended */
    pid_t child;                       /* 0: it was not started */
    int commands, answers, lifeline;   /* -1: closed */
    double deadline;
    spec_subject_limits limits;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static bool is_readable(int fd, double seconds)
{
    const double until = now() + seconds;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    for (;;) {
        const double left = until - now();
        const int n = poll(&poll_fd, 1, left > 0.0 ? (int)ceil(1e3 * left) : 0);
        if (n > 0) return true;
        if (left <= 0.0 || (n < 0 && errno != EINTR)) return false;
    }
}

static bool take_report(spec_ward *ward, spec_keeper_report *report, double seconds)
{
    const bool came = is_readable(ward->lifeline, seconds) &&
                      recv(ward->lifeline, report, sizeof *report, MSG_DONTWAIT) == (ssize_t)sizeof *report;
    if (!came) *report = (spec_keeper_report){.why = SPEC_KEEPER_STARTED};
    report->words[sizeof report->words - 1] = '\0';
    return came;
}

/* Tell the keeper to end everything, take its report, and wait until it has ended itself. */
static void finish(spec_ward *ward, spec_keeper_report *report)
{
    *report = (spec_keeper_report){.why = SPEC_KEEPER_STARTED};
    if (ward->keeper == 0) return;
    close_fd(&ward->commands);
    shutdown(ward->lifeline, SHUT_WR);
    kill(ward->keeper, SIGCONT); /* the child may have stopped it */
    if (!take_report(ward, report, keeper_patience)) { /* the child killed it */
        kill(ward->keeper, SIGKILL);
        if (ward->child > 0) kill(-ward->child, SIGKILL);
    }
    close_fd(&ward->lifeline);
    close_fd(&ward->answers);
    while (waitpid(ward->keeper, NULL, 0) < 0 && errno == EINTR) continue;
    ward->keeper = 0;
}

static int fail_with(spec_error *error, const char *what, const spec_keeper_report *report)
{
    return spec_fail(error, GSL_EFAILED, "%s%s%s%s", what, report->words[0] != '\0' ? "; it said: '" : "",
                     report->words, report->words[0] != '\0' ? "'" : "");
}

/* It ended, or the keeper ended it. */
static int fail_ended(spec_ward *ward, spec_error *error)
{
    spec_keeper_report report;
    char what[128];
    finish(ward, &report);
    const int status = report.status;
    switch ((spec_keeper_why)report.why) {
    case SPEC_KEEPER_MEMORY:
        snprintf(what, sizeof what, "it took more than %.0f MB of memory", (double)ward->limits.memory / 1048576.0);
        break;
    case SPEC_KEEPER_STOPPED:
        snprintf(what, sizeof what, "it stopped itself (signal %d, %s)", WSTOPSIG(status), strsignal(WSTOPSIG(status)));
        break;
    case SPEC_KEEPER_NOT_FORKED:
        snprintf(what, sizeof what, "it cannot be started: %s", strerror(status));
        break;
    case SPEC_KEEPER_ENDED:
        if (WIFSIGNALED(status))
            snprintf(what, sizeof what, "it crashed (signal %d, %s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else if (WEXITSTATUS(status) > 128 && WEXITSTATUS(status) < 128 + 32)
            snprintf(what, sizeof what, "it exited with code %d, as a shell tells of signal %d, %s",
                     WEXITSTATUS(status), WEXITSTATUS(status) - 128, strsignal(WEXITSTATUS(status) - 128));
        else
            snprintf(what, sizeof what, "it exited with code %d", WEXITSTATUS(status));
        break;
    case SPEC_KEEPER_TOLD: snprintf(what, sizeof what, "it closed its output"); break;
    case SPEC_KEEPER_STARTED:
    default: snprintf(what, sizeof what, "it killed its keeper"); break;
    }
    return fail_with(error, what, &report);
}

int spec_ward_give_up(spec_ward *ward, spec_error *error, const char *what)
{
    spec_keeper_report report;
    finish(ward, &report);
    return fail_with(error, what, &report);
}

void spec_ward_end(spec_ward *ward)
{
    spec_keeper_report report;
    if (ward == NULL) return;
    close_fd(&ward->commands);
    if (ward->keeper != 0) (void)is_readable(ward->lifeline, fmin(grace, ward->limits.timeout));
    finish(ward, &report);
    close_fd(&ward->answers);
    close_fd(&ward->lifeline);
    free(ward);
}

/* ---- its beginning ----------------------------------------------------------------------------------------------- */

/* The descriptor, out of the way of 0 to FIRST_FD - 1. */
static int move_up(int fd)
{
    const int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD) : -1;
    if (fd >= 0) close(fd);
    return high;
}

static bool make_pair(int ret[2], bool sockets)
{
    ret[0] = ret[1] = -1;
    const int code = sockets ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) : pipe2(ret, O_CLOEXEC);
    if (code != 0) return false;
    ret[0] = move_up(ret[0]);
    ret[1] = move_up(ret[1]);
    return ret[0] >= 0 && ret[1] >= 0;
}

/* This program's file. Its name, where it still has it: under Valgrind /proc/self/exe is Valgrind. */
static void find_self(char path[PATH_MAX])
{
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n > 0) path[n] = '\0';
    if (n <= 0 || access(path, X_OK) != 0) strcpy(path, "/proc/self/exe");
}

/* No signal blocked or ignored, a session of its own: ctrl-C at a terminal reaches speclab alone. */
static int spawn(pid_t *ret, char *const argv[], const int fd[4])
{
    static const int as[4] = {SPEC_KEEPER_COMMANDS, SPEC_KEEPER_ANSWERS, SPEC_KEEPER_LIFELINE, SPEC_KEEPER_BLOCK};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char self[PATH_MAX];
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    if ((code = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    find_self(self);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    for (int i = 0; i < 4 && code == 0; i++)
        if (fd[i] >= 0) code = posix_spawn_file_actions_adddup2(&actions, fd[i], as[i]);
    if (code == 0) code = posix_spawn(ret, self, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

int spec_ward_start(spec_ward **ret, const char *role, const char *about, int opt_block,
                    const spec_subject_limits *limits, spec_error *error)
{
    enum { MINE, ITS };
    int commands[2], answers[2], lifeline[2];
    char memory[32];
    spec_ward *ward = *ret = calloc(1, sizeof *ward);
    if (ward == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    ward->limits = *limits;
    bool made = make_pair(commands, true);
    made = make_pair(lifeline, true) && made;
    made = make_pair(answers, false) && made;
    const int block = opt_block >= 0 ? fcntl(opt_block, F_DUPFD_CLOEXEC, FIRST_FD) : -1;
    const int given[4] = {commands[ITS], answers[ITS], lifeline[ITS], block};
    char *argv[] = {(char *)(uintptr_t)spec_keeper_name, (char *)(uintptr_t)role, (char *)(uintptr_t)about, memory, NULL};
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)limits->memory);
    const int code = made ? spawn(&ward->keeper, argv, given) : errno;
    ward->commands = commands[MINE];
    ward->answers = answers[MINE];
    ward->lifeline = lifeline[MINE];
    for (int i = 0; i < 4; i++)
        if (given[i] >= 0) close(given[i]);
    spec_keeper_report report;
    if (code == 0 && take_report(ward, &report, keeper_patience) && report.why == SPEC_KEEPER_STARTED) {
        ward->child = report.status;
        fcntl(ward->answers, F_SETFL, O_NONBLOCK);
        spec_ward_begin(ward);
        return GSL_SUCCESS;
    }
    spec_ward_end(ward);
    *ret = NULL;
    return spec_fail(error, GSL_EFAILED, "no process can be started%s%s", code != 0 ? ": " : "",
                     code != 0 ? strerror(code) : "");
}

/* ---- the channel ------------------------------------------------------------------------------------------------- */

void spec_ward_begin(spec_ward *ward)
{
    ward->deadline = now() + ward->limits.timeout;
}

/* Until `fd` is ready. What the child wrote before it ended is read first. */
static int wait_for(spec_ward *ward, int fd, short events, spec_error *error)
{
    struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = ward->lifeline, .events = POLLIN}};
    for (;;) {
        const double left = 1e3 * (ward->deadline - now());
        const volatile sig_atomic_t *stop = ward->limits.opt_stop;
        if (stop != NULL && *stop) {
            spec_keeper_report report;
            finish(ward, &report);
            return spec_fail(error, GSL_EFAILED, "interrupted");
        }
        if (left <= 0.0) {
            char what[64];
            snprintf(what, sizeof what, "it did not answer within %g s", ward->limits.timeout);
            return spec_ward_give_up(ward, error, what);
        }
        const int n = poll(fds, 2, (int)fmin(ceil(left), SLICE_MS));
        if (n > 0 && (fds[0].revents & events)) return GSL_SUCCESS;
        if (n > 0 && fds[1].revents != 0) return fail_ended(ward, error);
        if (n > 0 && fds[0].revents != 0) { /* closed: the keeper may know why */
            (void)is_readable(ward->lifeline, report_patience);
            return fail_ended(ward, error);
        }
    }
}

static int fail_dead(spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "it has ended before");
}

int spec_ward_write(spec_ward *ward, const void *bytes, size_t n, spec_error *error)
{
    const char *from = bytes;
    if (ward->keeper == 0) return fail_dead(error);
    while (n > 0) {
        const ssize_t wrote = send(ward->commands, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote > 0) {
            from += wrote;
            n -= (size_t)wrote;
            continue;
        }
        if (wrote < 0 && errno != EAGAIN && errno != EINTR) { /* closed */
            (void)is_readable(ward->lifeline, report_patience);
            return fail_ended(ward, error);
        }
        const int status = wait_for(ward, ward->commands, POLLOUT, error);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

int spec_ward_read(spec_ward *ward, void *bytes, size_t least, size_t most, size_t *opt_ret_n, spec_error *error)
{
    size_t n = 0;
    if (opt_ret_n != NULL) *opt_ret_n = 0;
    if (ward->keeper == 0) return fail_dead(error);
    while (n < least) {
        const int status = wait_for(ward, ward->answers, POLLIN, error);
        if (status != GSL_SUCCESS) return status;
        const ssize_t got = read(ward->answers, (char *)bytes + n, most - n);
        if (got > 0) n += (size_t)got;
        if (got == 0) {
            (void)is_readable(ward->lifeline, report_patience);
            return fail_ended(ward, error);
        }
    }
    if (opt_ret_n != NULL) *opt_ret_n = n;
    return GSL_SUCCESS;
}
