/* plugin_child: what subject_plugin.c and its child say to each other, and the memory that they share.
 * The child may write anything there at any time: the parent reads its answers once, and never what it wrote itself. */
#ifndef SPECLAB_PLUGIN_CHILD_H
#define SPECLAB_PLUGIN_CHILD_H

#include "conformance/samplers/subject.h"

typedef enum {
    SPEC_PLUGIN_OPEN,
    SPEC_PLUGIN_BEGIN,
    SPEC_PLUGIN_RUN,
    SPEC_PLUGIN_GENERATE,
    SPEC_PLUGIN_COUNTERS
} spec_plugin_verb;

/* What the child is about, for the line about its end. */
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
    uint32_t number, verb; /* calls count from 1 */
    uint64_t bytes;        /* of the block: it may have grown */
} spec_plugin_command;

typedef struct {
    uint32_t number;
    int32_t status; /* 0, or why is in error */
} spec_plugin_answer;

/* The head of the block; rows, batch, text and options follow, at these offsets. */
typedef struct {
    spec_fixture fixture; /* its pointers are the parent's: no use to the child */
    uint32_t scope;
    int32_t capacity, n_coins;
    size_t target, draft, next, batch, text;
    size_t options;       /* 0: none */
    int32_t n;            /* run: rounds */
    int32_t start, K;     /* generate */
    uint64_t seed;
    int64_t n_tokens;

    int32_t place;        /* spec_plugin_place */
    spec_sampler_about about;
    uint64_t counters[3];
    int32_t counts;       /* 0: it has no counters */
    char error[480];
} spec_plugin_block;

/* The child: loads the library, and calls it as it is told until its input is closed. A keeper's role. */
int spec_plugin_child(const char *path);

#endif
