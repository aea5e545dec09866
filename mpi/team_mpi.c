/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A team of MPI ranks. Rank 0 leads: it deals points, computes nothing, and sleeps between
 * messages. A member that has given a point gets the next one. At exit all ranks meet in
 * MPI_Finalize; where a failed run leaves a member computing, rank 0 aborts it. */
#include "cli/team_start.h"

#include "speclab/no_memory.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Messages of members: a request without a point, with one, and the end of a member. The leader
 * answers the first two with the number of a point, or with NO_MORE. */
enum { TAG_ASK = 1, TAG_POINT, TAG_LEAVE, TAG_DEAL };
enum { AWAKE = 500 /* looks for a message before the first pause */ };
enum { AHEAD = 16 /* points for each member that may be dealt before the one that is wanted */ };
static const uint64_t no_more = UINT64_MAX;

typedef struct {
    char *bytes;
    size_t size;
} message;

static struct {
    int rank, size;
    /* of the leader */
    int members;       /* that have not left */
    int *idle, n_idle; /* (size) members that wait for a point */
    uint64_t *dealt;   /* (size) the point that a member computes, or no_more */
    bool begun;
    uint64_t next, end; /* points to deal */
    message *given;     /* (AHEAD size) points that are not taken, by number modulo its length */
    char why[256];      /* why a member left, or "" */
    /* of a member */
    bool left;
} ranks;

static uint64_t places(void)
{
    return (uint64_t)AHEAD * (uint64_t)ranks.size;
}

/* Wait for a message, for a moment awake and then with pauses: Open MPI's own waiting would keep a
 * processor busy. False after a stop. */
static bool wait_for(MPI_Status *status, const volatile int *opt_stop)
{
    const struct timespec pause = {.tv_nsec = 100000};
    int there = 0;
    for (uint64_t tries = 0;; tries++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, status);
        if (there) return true;
        if (opt_stop != NULL && *opt_stop != 0) return false;
        if (tries < AWAKE) sched_yield();
        else nanosleep(&pause, NULL);
    }
}

/* ---- the leader ------------------------------------------------------------------------------ */

static void deal(int member, uint64_t point)
{
    MPI_Send(&point, 1, MPI_UINT64_T, member, TAG_DEAL, MPI_COMM_WORLD);
    ranks.dealt[member] = point;
    ranks.members -= point == no_more;
}

/* Receive one message: keep its point, and note that the member is idle or has left. */
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
    if (status->MPI_TAG == TAG_POINT) {
        ranks.given[ranks.dealt[member] % places()] = (message){bytes, (size_t)size};
        bytes = NULL;
    }
    ranks.dealt[member] = no_more;
    free(bytes);
    return GSL_SUCCESS;
}

static int take(void *self, char **ret_bytes, size_t *ret_size, uint64_t index, uint64_t end,
                const volatile int *opt_stop, spec_error *error)
{
    MPI_Status status;
    (void)self;
    if (!ranks.begun) ranks.next = index;
    ranks.begun = true;
    ranks.end = end;
    message *wanted = &ranks.given[index % places()];
    for (;;) {
        while (ranks.n_idle > 0 && ranks.next < end && ranks.next < index + places())
            deal(ranks.idle[--ranks.n_idle], ranks.next++);
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

/* Tell every member that there is no more, and wait until all have heard it. */
static void dismiss(void)
{
    MPI_Status status;
    spec_error error;
    for (;;) {
        while (ranks.n_idle > 0) deal(ranks.idle[--ranks.n_idle], no_more);
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

static bool answer(uint64_t *ret_index)
{
    MPI_Status status;
    wait_for(&status, NULL);
    MPI_Recv(ret_index, 1, MPI_UINT64_T, 0, TAG_DEAL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ranks.left = *ret_index == no_more;
    return !ranks.left;
}

static message to_give; /* of this member: sent with its next request */

static bool next(void *self, uint64_t *ret_index)
{
    (void)self;
    MPI_Send(to_give.bytes, (int)to_give.size, MPI_CHAR, 0,
             to_give.bytes != NULL ? TAG_POINT : TAG_ASK, MPI_COMM_WORLD);
    free(to_give.bytes);
    to_give.bytes = NULL;
    to_give.size = 0;
    return answer(ret_index);
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
        leave(NULL, "out of memory for the rows of a point");
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
    team.leads = ranks.rank == 0;
    return ranks.size > 1 ? &team : NULL;
}
