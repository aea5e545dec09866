/* team: the processors of this process, which compute one pass together.
 * One team for the whole process, since its processors are one set: models share it, and a pass that finds it taken, or
 * that runs inside an OpenMP region, works alone. As many threads as OpenMP would use here. A job is cut into chunks
 * that whoever is free takes next, so that results must not depend on who takes which; a thread takes those that follow
 * the one it had, as long as there are any, so that chunks one after the other in memory are read as one stream. */
#ifndef SPECLAB_TEAM_H
#define SPECLAB_TEAM_H

#include <stdbool.h>

/* Chunk i of a job, on any thread. */
typedef void spec_team_work(void *job, int chunk);

/* Say that somebody will want it, and that he no longer does: its threads start with the first job and end with the
 * last release. */
void spec_team_hold(void);
void spec_team_release(void);

/* Take the team for a while, for all the jobs of a pass; false where it is taken, or this is one of several OpenMP
 * threads, or one thread is all there is. Who was given it gives it back. While it is taken its threads wait awake:
 * they spin briefly, then yield; afterwards they sleep. */
bool spec_team_take(void);
void spec_team_give_back(void);

/* Do chunks 0..n-1 of a job and return when all are done: by the team where it is taken by this thread, else alone, in
 * order. */
void spec_team_run(spec_team_work *work, void *job, int n, bool taken);

/* Threads, this one among them, that would share a job. */
int spec_team_size(void);

#endif
