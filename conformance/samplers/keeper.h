/* keeper: the process between speclab and a child that may do anything. It starts the child, reads what it says on
 * standard error, watches its memory, and ends all that came of it: when told to, and when speclab is gone.
 * A keeper is this very program, started anew: any program that this file is linked into becomes one, before main, when
 * its name is spec_keeper_name. So neither keeper nor child inherits threads, locks or OpenMP's state, and the keeper
 * may fork. The other side is ward.h; nobody else needs this header. */
#ifndef SPECLAB_KEEPER_H
#define SPECLAB_KEEPER_H

#include <stdint.h>

extern const char spec_keeper_name[];

/* What a keeper is started with: these descriptors, and the arguments role, what it is about, and most bytes. */
enum {
    SPEC_KEEPER_COMMANDS = 0, /* the child's standard input: a socket */
    SPEC_KEEPER_ANSWERS = 1,  /* its standard output: a pipe */
    SPEC_KEEPER_LIFELINE = 3, /* the keeper's: once it is closed at the other end, all is ended */
    SPEC_KEEPER_BLOCK = 4     /* memory that both share, if the role needs any */
};

/* What the keeper reports down the lifeline: first that it has started the child, last how that ended. */
typedef enum {
    SPEC_KEEPER_STARTED,   /* status is the child's process, which leads a group */
    SPEC_KEEPER_ENDED,     /* by itself: status */
    SPEC_KEEPER_TOLD,      /* speclab said so */
    SPEC_KEEPER_MEMORY,    /* it took more than it may */
    SPEC_KEEPER_STOPPED,   /* it stopped itself: status */
    SPEC_KEEPER_NOT_FORKED /* it could not be started: status is errno */
} spec_keeper_why;

typedef struct {
    int32_t why, status; /* status as waitpid's */
    char words[200];     /* the last line on standard error, or "" */
} spec_keeper_report;

/* What a child does: a line of the table in keeper.c. */
typedef struct {
    const char *name;
    int (*run)(const char *about); /* in the child; its exit code */
} spec_keeper_role;

#endif
