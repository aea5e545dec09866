/* access_watch: a library of the simulator in which each access of a kernel to memory is looked at, as the thread
 * sanitizer of gcc marks them, with functions of our own in place of its library's.
 *
 * Two accesses of one launch to one byte, one of them a write, are a race unless one thread did both, or a barrier that
 * both threads reached lies between: sync_block for a block, sync_warp for a warp. Between blocks nothing orders them,
 * and shuffles, votes and products order no memory. Additions of several threads (add_uint32 and so on) do not race
 * with each other. A launch that may begin early does not, until after_previous, write the card's memory or read what
 * the launch before it wrote. Accesses past the end of an allocation are found too. */
#ifndef SPECLAB_ACCESS_WATCH_H
#define SPECLAB_ACCESS_WATCH_H

#include <stddef.h>

/* Weak: NULL in the libraries that do not watch. */
void access_watch_begin(void) __attribute__((weak)); /* of a launch */
void access_watch_forget(void) __attribute__((weak)); /* what launches did: they have ended */
void access_watch_block(void) __attribute__((weak));
void access_watch_atomic(const void *at, size_t bytes, const void *code) __attribute__((weak));
void access_watch_copy(const void *to, const void *opt_from, size_t bytes, const void *code) __attribute__((weak));

#endif
