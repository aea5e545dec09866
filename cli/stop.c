/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/stop.h"

#include "base/new_file.h"
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

volatile int spec_stop;

/* The time from the signal to the end of a process that has not noticed it. */
static const struct itimerval patience = {.it_value = {.tv_sec = 1, .tv_usec = 800000}};

/* Two signals within this many seconds count as one, because timeout(1) signals a process and then
 * its group. */
static const double echo = 0.2;

static volatile sig_atomic_t awaited;

static const int asks[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { N_ASKS = sizeof asks / sizeof *asks };

/* Kills the process with SIGPIPE, if that is the signal. */
static void end_as_tools_do(void)
{
    sigset_t pipe;
    if (spec_stop != SIGPIPE) return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &pipe, NULL);
    raise(SIGPIPE);
}

/* Only calls what a signal handler may call. */
__attribute__((noreturn)) static void end_at_once(void)
{
    static const char words[] = "speclab: interrupted\n", erase[] = "\r\033[K";
    spec_new_file_abandon_all();
    end_as_tools_do();
    if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, erase, sizeof erase - 1);
    (void)!write(STDERR_FILENO, words, sizeof words - 1);
    _exit(128 + spec_stop);
}

/* Returns whether the reader of standard output has gone. A child's pipe raises SIGPIPE, too. */
static bool has_no_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A terminal that closes sends SIGHUP twice, and each write to a closed pipe is a SIGPIPE. */
static void on_signal(int number)
{
    static double first;
    const int before = errno;
    const bool again = spec_stop != 0 && (number == SIGINT || number == SIGTERM);
    if (number == SIGALRM || (again && now() > first + echo)) end_at_once();
    if (spec_stop == 0 && (number != SIGPIPE || has_no_reader())) {
        spec_stop = number;
        first = now();
        if (!awaited) setitimer(ITIMER_REAL, &patience, NULL);
    }
    errno = before;
}

/* Calls that wait, such as open() for a pipe without a writer, fail with EINTR. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, former;
    sigfillset(&action.sa_mask);
    for (int i = 0; i < N_ASKS; i++)
        if (sigaction(asks[i], NULL, &former) == 0 && former.sa_handler != SIG_IGN)
            sigaction(asks[i], &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file above the size limit is a write error with a message */
}

void spec_stop_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(SPEC_EXIT_USAGE);
    catch_signals();
}

void spec_stop_awaited(void)
{
    awaited = 1;
}

void spec_stop_saving(void)
{
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0}}, NULL);
}

int spec_stop_code(int code)
{
    if (spec_stop == 0 || code != SPEC_EXIT_USAGE) return code;
    end_as_tools_do();
    return 128 + spec_stop;
}
