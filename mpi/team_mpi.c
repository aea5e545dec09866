/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A team of MPI ranks. Rank 0 is the leader: it deals out tasks (points, or groups of one point)
 * and sleeps between messages. A member that has delivered a result gets the next task. At exit all
 * ranks meet in MPI_Finalize; where a failed run leaves a member computing, rank 0 aborts it. */
#include "base/stop_flag.h"
#include "cli/team_start.h"

#include "speclab/no_memory.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Messages of members: a request for a task without a result, a request with a result, and the end
 * of a member. The leader answers a request with a task, or with one whose list is `no_more`. */
enum { TAG_ASK = 1, TAG_RESULT, TAG_LEAVE, TAG_DEAL };
enum { AWAKE = 500 /* how often we look for a message before the first pause */ };
enum {
    AHEAD = 16 /* how many tasks per member may be dealt before the result of the first one is
                * taken */
};
#define no_more UINT64_MAX

typedef struct {
    char *bytes;
    size_t size;
} message;

static struct {
    int rank, size;
    /* of the leader */
    int members;       /* members that have not left */
    int *idle, n_idle; /* (size) members that wait for a task */
    uint64_t *dealt;   /* (size) the item that a member computes, or no_more */
    spec_task next;    /* the next task to deal; its list is no_more before the first one */
    message *given;    /* (AHEAD size) results not taken yet; item i is at i modulo the array's
                        * length */
    char why[256];      /* why a member left, or "" */
    /* of a member */
    bool left;
} ranks;

static uint64_t places(void)
{
    return (uint64_t)AHEAD * (uint64_t)ranks.size;
}

/* Waits for a message: polls for a moment, and then with pauses, because Open MPI's own waiting
 * would keep a processor busy. Returns false after a stop. */
static bool wait_for(MPI_Status *status, const volatile int *opt_stop)
{
    const struct timespec pause = {.tv_nsec = 100000};
    int there = 0;
    for (uint64_t tries = 0;; tries++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, status);
        if (there) return true;
        if (spec_stop_is_set(opt_stop)) return false;
        if (tries < AWAKE) sched_yield();
        else nanosleep(&pause, NULL);
    }
}

/* ---- the leader ------------------------------------------------------------------------------ */

static void deal(int member, const spec_task *task)
{
    const uint64_t numbers[2] = {task->list, task->item};
    MPI_Send(numbers, 2, MPI_UINT64_T, member, TAG_DEAL, MPI_COMM_WORLD);
    ranks.dealt[member] = task->item;
    ranks.members -= task->list == no_more;
}

/* Receives one message: keeps its result, and notes that the member is idle or has left. */
static int receive(const MPI_Status *status, spec_error *error)
{
    const int member = status->MPI_SOURCE;
    int size;
    MPI_Get_count(status, MPI_CHAR, &size);
    char *bytes = malloc((size_t)size + 1);
    if (bytes == NULL) return spec_no_memory(error);
    MPI_Recv(bytes, size, MPI_CHAR, member, status->MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bytes[size] = '\0';
    if (status->MPI_TAG == TAG_LEAVE) {
        if (ranks.why[0] == '\0') snprintf(ranks.why, sizeof ranks.why, "%s", bytes);
        ranks.members--;
    } else {
        ranks.idle[ranks.n_idle++] = member;
    }
    if (status->MPI_TAG == TAG_RESULT) {
        ranks.given[ranks.dealt[member] % places()] = (message){bytes, (size_t)size};
        bytes = NULL;
    }
    ranks.dealt[member] = no_more;
    free(bytes);
    return GSL_SUCCESS;
}

static int take(void *self, char **ret_bytes, size_t *ret_size, const spec_task *task, uint64_t end,
                const volatile int *opt_stop, spec_error *error)
{
    MPI_Status status;
    (void)self;
    if (ranks.next.list != task->list) ranks.next = *task;
    message *wanted = &ranks.given[task->item % places()];
    for (;;) {
        for (; ranks.n_idle > 0 && ranks.next.item < end &&
               ranks.next.item < task->item + places();
             ranks.next.item++)
            deal(ranks.idle[--ranks.n_idle], &ranks.next);
        if (wanted->bytes != NULL) break;
        if (ranks.why[0] != '\0') return spec_fail(error, GSL_EFAILED, "%s", ranks.why);
        if (ranks.members == 0) return spec_fail(error, GSL_EFAILED, "no other rank is left");
        if (!wait_for(&status, opt_stop)) return spec_fail(error, GSL_EFAILED, "interrupted");
        const int failed = receive(&status, error);
        if (failed) return failed;
    }
    *ret_bytes = wanted->bytes;
    *ret_size = wanted->size;
    wanted->bytes = NULL;
    return GSL_SUCCESS;
}

/* Tells every member that there are no more tasks, and waits until all have received this. */
static void dismiss(void)
{
    static const spec_task last = {no_more, no_more};
    MPI_Status status;
    spec_error error;
    for (;;) {
        while (ranks.n_idle > 0) deal(ranks.idle[--ranks.n_idle], &last);
        if (ranks.members == 0) return;
        for (int i = 1; i < ranks.size; i++) {
            if (ranks.dealt[i] == no_more) continue;
            fflush(NULL);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        wait_for(&status, NULL);
        receive(&status, &error);
    }
}

/* ---- a member -------------------------------------------------------------------------------- */

static bool answer(spec_task *ret)
{
    MPI_Status status;
    uint64_t numbers[2];
    wait_for(&status, NULL);
    MPI_Recv(numbers, 2, MPI_UINT64_T, 0, TAG_DEAL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *ret = (spec_task){numbers[0], numbers[1]};
    ranks.left = ret->list == no_more;
    return !ranks.left;
}

static message to_give; /* this member's result, sent with its next request */

static bool next(void *self, spec_task *ret)
{
    (void)self;
    MPI_Send(to_give.bytes, (int)to_give.size, MPI_CHAR, 0,
             to_give.bytes != NULL ? TAG_RESULT : TAG_ASK, MPI_COMM_WORLD);
    free(to_give.bytes);
    to_give.bytes = NULL;
    to_give.size = 0;
    return answer(ret);
}

static void leave(void *self, const char *why)
{
    (void)self;
    if (!ranks.left) MPI_Send(why, (int)strlen(why), MPI_CHAR, 0, TAG_LEAVE, MPI_COMM_WORLD);
    ranks.left = true;
}

static void give(void *self, const char *bytes, size_t size)
{
    (void)self;
    to_give.bytes = malloc(size);
    if (to_give.bytes == NULL || size > INT32_MAX) {
        leave(NULL, "out of memory for the result of a task");
        exit(2);
    }
    memcpy(to_give.bytes, bytes, size);
    to_give.size = size;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void meet(void)
{
    if (ranks.rank == 0)
        dismiss();
    else
        leave(NULL, "");
    MPI_Finalize();
}

const spec_team *spec_team_start(int *argc, char ***argv)
{
    static spec_team team = {.take = take, .next = next, .give = give, .leave = leave};
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
    ranks.members = ranks.size - 1;
    ranks.idle = calloc((size_t)ranks.size, sizeof *ranks.idle);
    ranks.dealt = malloc((size_t)ranks.size * sizeof *ranks.dealt);
    ranks.given = calloc((size_t)places(), sizeof *ranks.given);
    if (ranks.idle == NULL || ranks.dealt == NULL || ranks.given == NULL ||
        (ranks.rank > 0 &&
         (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL)))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < ranks.size; i++) ranks.dealt[i] = no_more;
    atexit(meet);
    ranks.next.list = no_more;
    team.leads = ranks.rank == 0;
    team.members = ranks.size - 1;
    return ranks.size > 1 ? &team : NULL;
}
