/* stack_switch: stacks of their own for the threads of a block, and going from one to another.
 * A few instructions on x86-64, swapcontext elsewhere; the address sanitizer and valgrind are told of the stacks. A
 * stack is made once and runs its function, which never returns, for as long as the process lives. */
#ifndef SPECLAB_STACK_SWITCH_H
#define SPECLAB_STACK_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#if !defined __x86_64__
#include <ucontext.h>
#endif

/* SIMULATED_ASAN: built under the address sanitizer. */
#if defined __SANITIZE_ADDRESS__
#define SIMULATED_ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SIMULATED_ASAN 1
#endif
#endif
#ifdef SIMULATED_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

typedef struct simulated_stack {
    void *top;    /* where it stands, while it does not run */
    const void *bottom; /* lowest byte, above a page that faults; of the host's thread: known once it was left */
    size_t size;
    void *fake; /* the address sanitizer's */
    struct simulated_stack *next, *older;
#if !defined __x86_64__
    ucontext_t context;
#endif
} simulated_stack;

/* A new one on which `run` begins when it is first switched to. `number` spreads stacks over the sets of the caches. */
simulated_stack *simulated_stack_new(int number, void (*run)(void));

/* Whether the address is in the page below a stack. */
bool simulated_stack_is_full(const void *address);

#if defined __x86_64__
/* Keeps what a called function has to keep: rbx, rbp, r12 to r15 and the stack's place. */
void simulated_switch_registers(void **from, void *to);
#endif

#ifdef SIMULATED_ASAN
extern simulated_stack *simulated_stack_left; /* just now */
#endif

/* To be called first by `run`. */
static inline void simulated_stack_began(void)
{
#ifdef SIMULATED_ASAN
    __sanitizer_finish_switch_fiber(NULL, &simulated_stack_left->bottom, &simulated_stack_left->size);
#endif
}

/* The stack that runs is `from`. Comes back when somebody switches to `from`. */
static inline void simulated_stack_switch(simulated_stack *from, simulated_stack *to)
{
#ifdef SIMULATED_ASAN
    simulated_stack_left = from;
    __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->size);
#endif
#if defined __x86_64__
    simulated_switch_registers(&from->top, to->top);
#else
    swapcontext(&from->context, &to->context);
#endif
#ifdef SIMULATED_ASAN
    __sanitizer_finish_switch_fiber(from->fake, &simulated_stack_left->bottom, &simulated_stack_left->size);
#endif
}

#endif
