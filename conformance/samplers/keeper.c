#include "conformance/samplers/keeper.h"

#include "conformance/samplers/plugin_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char spec_keeper_name[] = "speclab-keeper";

/* Milliseconds between two looks at the child's memory, and for those that escaped its group to end; generations whose
 * memory is counted. */
enum { LOOK_MS = 20, ESCAPED_MS = 2000, NESTED = 8 };

static int run_command(const char *about)
{
    execl("/bin/sh", "sh", "-c", about, (char *)NULL);
    return 127;
}

static const spec_keeper_role roles[] = {
    {"exec", run_command},
    {"plugin", spec_plugin_child},
};

/* ---- what the child says ----------------------------------------------------------------------------------------- */

typedef struct {
    int fd;      /* or -1 */
    char line[sizeof((spec_keeper_report *)0)->words], last[sizeof((spec_keeper_report *)0)->words];
    size_t n;    /* of `line`, that is still being said; `last` is the last one that was not empty */
} words;

static void end_line(words *w)
{
    w->line[w->n] = '\0';
    if (w->n > 0) memcpy(w->last, w->line, w->n + 1);
    w->n = 0;
}

/* Read what there is, once. */
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

/* ---- its memory -------------------------------------------------------------------------------------------------- */

static size_t read_file(char *text, size_t size, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Pages of its own that a process and its children hold: files that are mapped, weights say, are not counted. */
static uint64_t resident_pages(pid_t pid, int depth)
{
    char text[512], path[64];
    unsigned long resident = 0, shared = 0;
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if (read_file(text, sizeof text, path) > 0 && sscanf(text, "%*u %lu %lu", &resident, &shared) == 2)
        sum = resident > shared ? resident - shared : 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (depth >= NESTED || read_file(text, sizeof text, path) == 0) return sum;
    for (char *at = text, *end; *at != '\0'; at = end) {
        const long child = strtol(at, &end, 10);
        if (end == at) break;
        if (*end != '\0') sum += resident_pages((pid_t)child, depth + 1); /* a number cut short is none */
    }
    return sum;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Those that left the child's group are the keeper's children once their parents are gone (it is a subreaper). */
static void kill_children(void)
{
    char text[4096];
    (void)read_file(text, sizeof text, "/proc/thread-self/children");
    for (char *at = text, *end; *at != '\0'; at = end) {
        const long child = strtol(at, &end, 10);
        if (end == at) break;
        if (*end != '\0') kill((pid_t)child, SIGKILL);
    }
}

static void end_all(pid_t child)
{
    kill(-child, SIGKILL); /* the whole group at once: no fork gets away */
    for (int waited = 0; waited < ESCAPED_MS; waited++) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (pid < 0) return; /* no children left */
        kill_children();
        pause_ms(1);
    }
}

/* ---- the keeper -------------------------------------------------------------------------------------------------- */

static void wake(int number)
{
    (void)number; /* ends ppoll */
}

static int start_child(const spec_keeper_role *role, const char *about, int said)
{
    const pid_t keeper = getpid(), child = fork();
    if (child != 0) return child;
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(127);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(said, STDERR_FILENO);
    close(SPEC_KEEPER_LIFELINE);
    close(said);
    _exit(role->run(about));
}

/* Has the child ended, or stopped? Reaps whatever else there is. */
static bool is_over(pid_t child, spec_keeper_report *report)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (pid != child) continue;
        report->why = WIFSTOPPED(status) ? SPEC_KEEPER_STOPPED : SPEC_KEEPER_ENDED;
        report->status = status;
        return true;
    }
    return false;
}

static void watch(pid_t child, uint64_t most_pages, words *w, spec_keeper_report *report, const sigset_t *unblocked)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000};
    while (!is_over(child, report)) {
        struct pollfd fds[2] = {{.fd = SPEC_KEEPER_LIFELINE, .events = POLLIN}, {.fd = w->fd, .events = POLLIN}};
        if (most_pages > 0 && resident_pages(child, 0) > most_pages) {
            report->why = SPEC_KEEPER_MEMORY;
            return;
        }
        if (ppoll(fds, 2, most_pages > 0 ? &look : NULL, unblocked) < 0) continue;
        if (fds[0].revents != 0) {
            if (!is_over(child, report)) report->why = SPEC_KEEPER_TOLD;
            return;
        }
        if (fds[1].revents != 0) listen_to(w);
    }
}

static void tell(const spec_keeper_report *report)
{
    (void)send(SPEC_KEEPER_LIFELINE, report, sizeof *report, MSG_NOSIGNAL);
}

static int keep(const char *role_name, const char *about, uint64_t most_bytes)
{
    spec_keeper_report report = {.why = SPEC_KEEPER_NOT_FORKED};
    const spec_keeper_role *role = NULL;
    sigset_t blocked, unblocked;
    int said[2];
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, role_name) == 0) role = &roles[i];
    if (fcntl(SPEC_KEEPER_BLOCK, F_GETFD) < 0) dup2(SPEC_KEEPER_LIFELINE, SPEC_KEEPER_BLOCK); /* or another gets it */
    if (role == NULL || close_range(SPEC_KEEPER_BLOCK + 1, ~0u, 0) != 0 || pipe2(said, O_CLOEXEC) != 0) return 127;
    fcntl(SPEC_KEEPER_LIFELINE, F_SETFD, FD_CLOEXEC);
    fcntl(SPEC_KEEPER_BLOCK, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, spec_keeper_name); /* as ps shows it */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &unblocked);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = wake}, NULL);
    const pid_t child = start_child(role, about, said[1]);
    if (child < 0) {
        report.status = errno;
    } else {
        words w = {.fd = said[0]};
        setpgid(child, child); /* whoever is first */
        tell(&(spec_keeper_report){.why = SPEC_KEEPER_STARTED, .status = child});
        close(said[1]);
        close(SPEC_KEEPER_COMMANDS);
        close(SPEC_KEEPER_ANSWERS);
        close(SPEC_KEEPER_BLOCK);
        fcntl(w.fd, F_SETFL, O_NONBLOCK);
        watch(child, most_bytes / (uint64_t)sysconf(_SC_PAGESIZE), &w, &report, &unblocked);
        end_all(child);
        for (int i = 0; i < 64 && listen_to(&w); i++) continue;
        end_line(&w);
        memcpy(report.words, w.last, sizeof report.words);
    }
    tell(&report);
    return 0;
}

__attribute__((constructor)) static void become_keeper(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[0], spec_keeper_name) != 0) return;
    _exit(keep(argv[1], argv[2], strtoull(argv[3], NULL, 10)));
}
