/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_child: the messages and the shared memory between subject_plugin.c and its child process.
 * The child may write anything into the memory at any time, so the parent reads each answer only
 * once, and never reads its own data back. */
#ifndef SPECLAB_PLUGIN_CHILD_H
#define SPECLAB_PLUGIN_CHILD_H

#include "tools/validate/samplers/subject.h"

typedef enum {
    SPEC_PLUGIN_OPEN,
    SPEC_PLUGIN_BEGIN,
    SPEC_PLUGIN_RUN,
    SPEC_PLUGIN_GENERATE,
    SPEC_PLUGIN_COUNTERS
} spec_plugin_verb;

/* The call that the child is in, for the error message if it ends. */
typedef enum {
    SPEC_PLUGIN_LOADING,
    SPEC_PLUGIN_IN_ABI,
    SPEC_PLUGIN_IN_DESCRIBE,
    SPEC_PLUGIN_IN_OPEN,
    SPEC_PLUGIN_IN_STEP,
    SPEC_PLUGIN_IN_GENERATE,
    SPEC_PLUGIN_IN_COUNTERS,
    SPEC_PLUGIN_PLACES
} spec_plugin_place;

typedef struct {
    uint32_t number, verb; /* number: calls count from 1 */
    uint64_t bytes;        /* size of the block, which may have grown */
} spec_plugin_command;

typedef struct {
    uint32_t number;
    int32_t status; /* 0, or a GSL code; the block's `error` has the message */
} spec_plugin_answer;

/* The head of the block; rows, batch, text and options follow at these offsets. */
typedef struct {
    spec_fixture fixture; /* its pointers are valid only in the parent */
    uint32_t scope;
    int32_t capacity, n_coins;
    size_t target, draft, next, batch, text;
    size_t options;       /* 0: none */
    int32_t n;            /* rounds that SPEC_PLUGIN_RUN runs */
    int32_t start, K;     /* for SPEC_PLUGIN_GENERATE */
    uint64_t seed;
    int64_t n_tokens;

    int32_t place;        /* spec_plugin_place */
    spec_sampler_about about;
    uint64_t counters[3];
    int32_t counts;       /* 0: the plug-in has no counters */
    char error[480];
} spec_plugin_block;

/* The child's main function, a role of the supervisor: loads the library and runs commands until
 * its input closes. */
int spec_plugin_child(const char *path);

#endif
