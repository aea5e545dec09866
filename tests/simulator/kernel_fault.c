/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/kernel_fault.h"

#include "tests/simulator/block_run.h"
#include "tests/simulator/simulated_driver.h"
#include "tests/simulator/stack_switch.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

enum { SIGNAL_STACK = 64 << 10 };

static char signal_stack[SIGNAL_STACK];
static stack_t stack_before;
static struct sigaction segv_before, bus_before, timer_before;

static void on_time(int number)
{
    (void)number;
    block_run_fail("the launch does not come back");
}

static void on_address(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (simulated_stack_is_full(info->si_addr)) block_run_fail("its stack is full");
#ifdef SIMULATED_ASAN
    __sanitizer_print_stack_trace();
#endif
    block_run_fail("address %p is no memory of the card", info->si_addr);
}

void kernel_fault_watch(void)
{
    const struct sigaction time = {.sa_handler = on_time};
    sigaction(SIGVTALRM, &time, &timer_before);
    const struct itimerval patience = {.it_value.tv_sec = simulated_setting("SIM_PATIENCE", 60)};
    setitimer(ITIMER_VIRTUAL, &patience, NULL);
    const struct sigaction address = {.sa_sigaction = on_address,
                                      .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = SIGNAL_STACK};
    sigaltstack(&stack, &stack_before);
    sigaction(SIGSEGV, &address, &segv_before);
    sigaction(SIGBUS, &address, &bus_before);
}

void kernel_fault_watched(void)
{
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){0}, NULL);
    sigaction(SIGVTALRM, &timer_before, NULL);
    sigaction(SIGSEGV, &segv_before, NULL);
    sigaction(SIGBUS, &bus_before, NULL);
    sigaltstack(&stack_before, NULL);
}
