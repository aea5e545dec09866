/* stack_switch: stacks of their own for the threads of a block, and going from one to another.
 * A few instructions on x86-64, swapcontext elsewhere; the address sanitizer and valgrind are told of the stacks. A
 * stack is made once and runs its function, which never returns, for as long as the process lives. */
#ifndef SPECLAB_STACK_SWITCH_H
#define SPECLAB_STACK_SWITCH_H

#include <stddef.h>
#if !defined __x86_64__
#include <ucontext.h>
#endif

typedef struct simulated_stack {
    void *top;    /* where it stands, while it does not run */
    void *bottom; /* lowest byte, above a page that faults; NULL: the stack of the host's thread */
    size_t size;
    void *fake; /* the address sanitizer's */
    struct simulated_stack *next;
#if !defined __x86_64__
    ucontext_t context;
#endif
} simulated_stack;

/* A new one on which `run` begins when it is first switched to. `number` spreads stacks over the sets of the caches. */
simulated_stack *simulated_stack_new(int number, void (*run)(void));

/* To be called first by `run`. */
void simulated_stack_began(void);

/* The stack that runs is `from`. Comes back when somebody switches to `from`. */
void simulated_stack_switch(simulated_stack *from, simulated_stack *to);

#endif
