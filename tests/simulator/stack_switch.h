/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stack_switch: stacks for the threads of a block, and switches between them.
 * A few instructions on x86-64, swapcontext elsewhere; the address sanitizer and valgrind are
 * informed. A stack is created once; its function never returns, and it lives as long as the
 * process. */
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
    void *top;    /* the stack pointer while it does not run */
    const void *bottom; /* lowest byte, above a guard page; for the host thread's stack: set when it
                         * is first left */
    size_t size;
    void *fake; /* the address sanitizer's fake stack */
    struct simulated_stack *next, *older;
#if !defined __x86_64__
    ucontext_t context;
#endif
} simulated_stack;

/* Creates a stack on which `run` starts at the first switch. `number` spreads stacks over cache
 * sets. */
simulated_stack *simulated_stack_new(int number, void (*run)(void));

/* Returns whether the address is in the guard page below a stack. */
bool simulated_stack_is_full(const void *address);

#if defined __x86_64__
/* Saves the callee-saved registers rbx, rbp, r12 to r15 and the stack pointer. */
void simulated_switch_registers(void **from, void *to);
#endif

#ifdef SIMULATED_ASAN
extern simulated_stack *simulated_stack_left; /* the stack that the last switch left */
#endif

/* `run` must call it first. */
static inline void simulated_stack_began(void)
{
#ifdef SIMULATED_ASAN
    __sanitizer_finish_switch_fiber(NULL, &simulated_stack_left->bottom,
                                    &simulated_stack_left->size);
#endif
}

/* Switches from the running stack `from`; returns when another thread switches back to it. */
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
    __sanitizer_finish_switch_fiber(from->fake, &simulated_stack_left->bottom,
                                    &simulated_stack_left->size);
#endif
}

#endif
