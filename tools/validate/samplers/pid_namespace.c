/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/pid_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Forks into new namespaces of processes, mounts and System V memory, and also of users if `flags`
 * says so. */
static pid_t fork_into(int flags)
{
    const int all = flags | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | SIGCHLD;
    return (pid_t)syscall(SYS_clone, (unsigned long)all, NULL, NULL, NULL, 0);
}

static bool write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool wrote = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return wrote;
}

/* Keeps user and group ids in a new user namespace. */
static bool map_users(uid_t user, gid_t group)
{
    char line[64];
    snprintf(line, sizeof line, "%u %u 1", (unsigned)user, (unsigned)user);
    if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", line))
        return false;
    snprintf(line, sizeof line, "%u %u 1", (unsigned)group, (unsigned)group);
    return write_file("/proc/self/gid_map", line);
}

/* Mounts this namespace's own /proc, invisible outside it. */
static bool mount_proc(void)
{
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

/* Runs as the first process: waits for the child and reaps orphans. `tell` is its only descriptor.
 * Its exit ends the namespace. */
__attribute__((noreturn)) static void be_first(int tell, int (*run)(void *), void *self)
{
    struct pollfd parent = {.fd = tell};
    const char ready = 'r';
    int status = 0;
    pid_t child, pid;
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    if (poll(&parent, 1, 0) != 0 || write(tell, &ready, 1) != 1 || (child = fork()) < 0) _exit(127);
    if (child == 0) {
        close(tell);
        _exit(run(self));
    }
    close_range(0, (unsigned)tell - 1, 0); /* only the child keeps its channels */
    close_range((unsigned)tell + 1, ~0u, 0);
    while ((pid = waitpid(-1, &status, WUNTRACED)) > 0 || errno == EINTR)
        if (pid == child) break;
    if (write(tell, &status, sizeof status) == (ssize_t)sizeof status && WIFSTOPPED(status))
        for (;;) pause(); /* until the parent kills the namespace */
    _exit(0);
}

/* Returns whether the first process is ready. If not, it ended because its namespace failed. */
static bool is_ready(int fd)
{
    char byte;
    ssize_t n;
    while ((n = read(fd, &byte, 1)) < 0 && errno == EINTR) continue;
    return n == 1;
}

bool spec_pid_namespace_start(spec_pid_namespace *space, int (*run)(void *self), void *self)
{
    static const int ways[] = {0, CLONE_NEWUSER}; /* first as root, then as any user */
    const uid_t user = geteuid();
    const gid_t group = getegid();
    for (int i = 0; i < 2; i++) {
        int told[2];
        if (pipe2(told, O_CLOEXEC) != 0) return false;
        const pid_t first = fork_into(ways[i]);
        if (first == 0) {
            close(told[0]);
            if ((ways[i] & CLONE_NEWUSER && !map_users(user, group)) || !mount_proc()) _exit(127);
            be_first(told[1], run, self);
        }
        close(told[1]);
        if (first > 0 && is_ready(told[0])) {
            *space = (spec_pid_namespace){first, told[0]};
            return true;
        }
        close(told[0]);
        while (first > 0 && waitpid(first, NULL, 0) < 0 && errno == EINTR) continue;
    }
    return false;
}
