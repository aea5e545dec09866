/* SPDX-License-Identifier: GPL-3.0-or-later */
/* access_watch: a race detector for simulated kernels, which checks every access to memory.
 * gcc marks accesses as for its thread sanitizer; functions here replace that library's.
 *
 * Two accesses of one launch to a byte race if one of them is a write. They do not race if one
 * thread did both, or both threads reached a barrier in between: sync_block for a block, sync_warp
 * for a warp. Nothing orders blocks but what simt.h says: fence and take_uint32 in the block that
 * wrote, take_uint32, fence and load_fresh in the one that reads. Shuffles, votes and products do
 * not order memory. Atomic additions (add_uint32 and so on) do not race with each other. A launch
 * that may begin early must not, before after_previous, write GPU memory or read what the previous
 * launch wrote. Accesses past the end of an allocation are found too. */
#ifndef SPECLAB_ACCESS_WATCH_H
#define SPECLAB_ACCESS_WATCH_H

#include <stddef.h>

/* Weak: NULL in libraries without the detector. */
void access_watch_begin(void) __attribute__((weak)); /* at a launch */
void access_watch_forget(void) __attribute__((weak)); /* forgets the launches that have ended */
void access_watch_block(void) __attribute__((weak));
void access_watch_atomic(const void *at, size_t bytes, const void *code) __attribute__((weak));
void access_watch_copy(const void *to, const void *opt_from, size_t bytes, const void *code)
    __attribute__((weak));
void access_watch_fenced(void) __attribute__((weak));
void access_watch_took(void) __attribute__((weak));
void access_watch_fresh(const void *at, size_t bytes, const void *code) __attribute__((weak));

#endif
