/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/stack_switch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

/* Frames are larger under the sanitizers and without optimisation. */
#if defined SIMULATED_ASAN || !defined __OPTIMIZE__
enum { STACK_SIZE = 256 << 10 };
#else
enum { STACK_SIZE = 64 << 10 };
#endif
enum { PAGE = 4096 };

static simulated_stack *newest;
#ifdef SIMULATED_ASAN
simulated_stack *simulated_stack_left;
#endif

static void *stack_memory(void)
{
    char *memory = mmap(NULL, PAGE + STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0) {
        perror("simulator: a thread's stack");
        _exit(3);
    }
#ifdef VALGRIND_STACK_REGISTER
    (void)VALGRIND_STACK_REGISTER(memory + PAGE, memory + PAGE + STACK_SIZE);
#endif
    return memory + PAGE;
}

#if defined __x86_64__

__asm__(".text\n"
        ".hidden simulated_switch_registers\n"
        ".globl simulated_switch_registers\n"
        ".type simulated_switch_registers, @function\n"
        "simulated_switch_registers:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n"
        ".size simulated_switch_registers, .-simulated_switch_registers\n");

static void lay_out(simulated_stack *s, int number, void (*run)(void))
{
    /* Tops at multiples of 4096 bytes would share one set of the L1 cache. */
    void **top = (void **)((char *)s->bottom + s->size - (size_t)(number * 5 % 56) * 64 - 64);
    *--top = NULL;                   /* return address of run; also keeps the stack aligned */
    *--top = (void *)(uintptr_t)run; /* popped by ret */
    for (int i = 0; i < 6; i++) *--top = NULL;
    s->top = top;
}

#else

static void lay_out(simulated_stack *s, int number, void (*run)(void))
{
    (void)number;
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = (char *)s->bottom;
    s->context.uc_stack.ss_size = s->size;
    makecontext(&s->context, run, 0);
}

#endif

simulated_stack *simulated_stack_new(int number, void (*run)(void))
{
    simulated_stack *s = calloc(1, sizeof *s);
    if (s == NULL) {
        perror("simulator: a thread's stack");
        _exit(3);
    }
    s->bottom = stack_memory();
    s->size = STACK_SIZE;
    s->older = newest;
    newest = s;
    lay_out(s, number, run);
    return s;
}

bool simulated_stack_is_full(const void *address)
{
    const char *at = address;
    for (const simulated_stack *s = newest; s != NULL; s = s->older)
        if (at < (const char *)s->bottom && at >= (const char *)s->bottom - PAGE) return true;
    return false;
}
