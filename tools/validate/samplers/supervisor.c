/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/supervisor.h"

#include "tools/validate/samplers/pid_namespace.h"
#include "tools/validate/samplers/plugin_child.h"
#include "tools/validate/samplers/process_memory.h"
#include "tools/validate/samplers/supervision.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

const char spec_supervisor_name[] = "spec-supervisor";

/* LOOK_MS: shortest time between two checks of the child's memory. ESCAPED_MS: time for processes
 * that left the child's group to end. */
enum { LOOK_MS = 20, ESCAPED_MS = 2000 };

static int run_command(const char *about)
{
    execl("/bin/sh", "sh", "-c", about, (char *)NULL);
    return 127;
}

static const spec_supervisor_role roles[] = {
    {"exec", run_command},
    {"plugin", spec_plugin_child},
};

/* ---- standard error of the child ------------------------------------------------------------- */

typedef struct {
    int fd;      /* -1: closed */
    char line[sizeof((spec_supervisor_report *)0)->words],
        last[sizeof((spec_supervisor_report *)0)->words];
    size_t n; /* bytes of `line`, which is unfinished; `last` is the last non-empty line */
} words;

static void end_line(words *w)
{
    w->line[w->n] = '\0';
    if (w->n > 0) memcpy(w->last, w->line, w->n + 1);
    w->n = 0;
}

/* Reads once; returns true if any bytes came. */
static bool listen_to(words *w)
{
    char block[4096];
    if (w->fd < 0) return false;
    const ssize_t n = read(w->fd, block, sizeof block);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close(w->fd);
        w->fd = -1;
    }
    for (ssize_t i = 0; i < n; i++) {
        if (block[i] == '\n') end_line(w);
        else if (w->n + 1 < sizeof w->line) w->line[w->n++] = block[i] != '\0' ? block[i] : '?';
    }
    return n > 0;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* In a PID namespace, `pid` is its first process; killing it ends the whole namespace. */
typedef struct {
    pid_t pid;
    int ended; /* see spec_pid_namespace; -1: the system allows no namespace */
} child;

/* What the child does, and the descriptor for its standard error. */
typedef struct {
    const spec_supervisor_role *role;
    const char *about;
    int said;
} task;

static void wake(int number)
{
    (void)number; /* the signal ends ppoll */
}

/* Drops all of root's rights except those that concern files and users. No process that the child
 * starts has more rights, even if it runs sudo. Without CAP_SYS_ADMIN it cannot unmount its /proc
 * to see the system's, and without CAP_SYS_PTRACE it cannot look into the first process of its
 * namespace. */
static bool give_up_rights(void)
{
    const uint32_t kept = CAP_TO_MASK(CAP_CHOWN) | CAP_TO_MASK(CAP_DAC_OVERRIDE) |
                          CAP_TO_MASK(CAP_FOWNER) | CAP_TO_MASK(CAP_FSETID) |
                          CAP_TO_MASK(CAP_KILL) | CAP_TO_MASK(CAP_SETGID) | CAP_TO_MASK(CAP_SETUID);
    struct __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[2];
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &version, rights) != 0) return false;
    const uint32_t left = rights[0].permitted & kept;
    rights[0] = (struct __user_cap_data_struct){left, left, 0};
    rights[1] = (struct __user_cap_data_struct){0, 0, 0};
    return syscall(SYS_capset, &version, rights) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static int do_task(void *self)
{
    const task *t = self;
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(t->said, STDERR_FILENO);
    close(SPEC_SUPERVISOR_LIFELINE);
    close(t->said);
    return give_up_rights() ? t->role->run(t->about) : 127;
}

/* Returns false, with errno, if no child was started. */
static bool start_child(child *c, task *t)
{
    spec_pid_namespace space;
    const pid_t supervisor = getpid();
    if (spec_pid_namespace_start(&space, do_task, t)) {
        *c = (child){space.first, space.ended};
        return true;
    }
    *c = (child){fork(), -1};
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == supervisor ? do_task(t) : 127);
    }
    if (c->pid > 0) setpgid(c->pid, c->pid); /* parent and child both try: either may be first */
    return c->pid > 0;
}

/* Returns whether the child has ended or stopped. Reaps all other children. */
static bool is_over(const child *c, spec_supervisor_report *report)
{
    int status = 0;
    bool over = false;
    if (c->ended >= 0) {
        struct pollfd end = {.fd = c->ended, .events = POLLIN};
        over = poll(&end, 1, 0) > 0;
        /* The first process may be killed before it writes the status. */
        if (over && read(c->ended, &status, sizeof status) != (ssize_t)sizeof status)
            waitpid(c->pid, &status, 0);
    }
    for (pid_t pid; c->ended < 0 && !over && (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;)
        over = pid == c->pid;
    if (!over) return false;
    report->why = WIFSTOPPED(status) ? SPEC_SUPERVISOR_STOPPED : SPEC_SUPERVISOR_ENDED;
    report->status = status;
    return true;
}

static double now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return 1e3 * (double)at.tv_sec + 1e-6 * (double)at.tv_nsec;
}

/* Checks the memory of large children less often, so that this takes a tenth of a processor. */
static void watch(const child *c, uint64_t most_bytes, words *w, spec_supervisor_report *report,
                  const sigset_t *unblocked)
{
    double next = now_ms();
    while (!is_over(c, report)) {
        double now = now_ms(), wait = 0.0;
        struct pollfd fds[3] = {{.fd = SPEC_SUPERVISOR_LIFELINE, .events = POLLIN},
                                {.fd = w->fd, .events = POLLIN},
                                {.fd = c->ended, .events = POLLIN}};
        if (most_bytes > 0 && now >= next) {
            const double begun = now;
            if (spec_process_memory_exceeds(most_bytes)) {
                report->why = SPEC_SUPERVISOR_MEMORY;
                return;
            }
            now = now_ms();
            next = now + fmax(LOOK_MS, 10.0 * (now - begun));
        }
        if (most_bytes > 0) wait = fmax(next - now, 1.0);
        const struct timespec look = {(time_t)(wait / 1e3), (long)(1e6 * fmod(wait, 1e3))};
        if (ppoll(fds, 3, most_bytes > 0 ? &look : NULL, unblocked) < 0) continue;
        if (fds[0].revents != 0) {
            if (!is_over(c, report)) report->why = SPEC_SUPERVISOR_TOLD;
            return;
        }
        if (fds[1].revents != 0) listen_to(w);
    }
}

/* ---- ending the child ------------------------------------------------------------------------ */

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static size_t read_file(char *text, size_t size, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Orphans that left the child's group become children of the supervisor, which is a subreaper. */
static void kill_children(void)
{
    char text[4096];
    (void)read_file(text, sizeof text, "/proc/thread-self/children");
    for (char *at = text, *end; *at != '\0'; at = end) {
        const long pid = strtol(at, &end, 10);
        if (end == at) break;
        if (*end != '\0') kill((pid_t)pid, SIGKILL);
    }
}

/* A namespace is empty once its first process has been waited for. */
static void end_all(const child *c)
{
    kill(c->ended >= 0 ? c->pid : -c->pid, SIGKILL); /* a whole group at once: no fork can escape */
    for (int waited = 0; waited < ESCAPED_MS; waited++) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (pid < 0) return; /* no children left */
        kill_children();
        pause_ms(1);
    }
}

/* ---- the supervisor -------------------------------------------------------------------------- */

static void tell(const spec_supervisor_report *report)
{
    (void)send(SPEC_SUPERVISOR_LIFELINE, report, sizeof *report, MSG_NOSIGNAL);
}

static int supervise(const char *role_name, const char *about, uint64_t most_bytes)
{
    spec_supervisor_report report = {.why = SPEC_SUPERVISOR_NOT_FORKED};
    const spec_supervisor_role *role = NULL;
    sigset_t blocked, unblocked;
    int said[2];
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, role_name) == 0) role = &roles[i];
    if (fcntl(SPEC_SUPERVISOR_BLOCK, F_GETFD) < 0)
        dup2(SPEC_SUPERVISOR_LIFELINE, SPEC_SUPERVISOR_BLOCK); /* reserve the number */
    if (role == NULL || close_range(SPEC_SUPERVISOR_BLOCK + 1, ~0u, 0) != 0 ||
        pipe2(said, O_CLOEXEC) != 0)
        return 127;
    fcntl(SPEC_SUPERVISOR_LIFELINE, F_SETFD, FD_CLOEXEC);
    fcntl(SPEC_SUPERVISOR_BLOCK, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, spec_supervisor_name); /* the name that ps shows */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &unblocked);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = wake}, NULL);
    child c;
    if (!start_child(&c, &(task){role, about, said[1]})) {
        report.status = errno;
    } else {
        words w = {.fd = said[0]};
        tell(&(spec_supervisor_report){.why = SPEC_SUPERVISOR_STARTED, .status = c.pid});
        close(said[1]);
        close(SPEC_SUPERVISOR_COMMANDS);
        close(SPEC_SUPERVISOR_ANSWERS);
        close(SPEC_SUPERVISOR_BLOCK);
        fcntl(w.fd, F_SETFL, O_NONBLOCK);
        watch(&c, most_bytes, &w, &report, &unblocked);
        end_all(&c);
        for (int i = 0; i < 64 && listen_to(&w); i++) continue;
        end_line(&w);
        memcpy(report.words, w.last, sizeof report.words);
    }
    tell(&report);
    return 0;
}

void spec_supervisor_main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[0], spec_supervisor_name) != 0) return;
    _exit(supervise(argv[1], argv[2], strtoull(argv[3], NULL, 10)));
}
