/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config_tree: the parser of experiment files: a tree of settings with their lines.
 * The syntax is libconfig's (docs/formats.md); we do not use libconfig, because it ends the process
 * if memory runs out. The parser recurses, so the caller must refuse deep nesting. A node owns its
 * name, text and children. */
#ifndef SPECLAB_CONFIG_TREE_H
#define SPECLAB_CONFIG_TREE_H

#include "speclab/status.h"

#include <stdbool.h>

typedef enum {
    SPEC_NODE_INTEGER,
    SPEC_NODE_REAL,
    SPEC_NODE_BOOL,
    SPEC_NODE_TEXT,
    SPEC_NODE_ARRAY, /* [...]: scalars of one kind */
    SPEC_NODE_LIST,  /* (...): any kind */
    SPEC_NODE_GROUP  /* {...}: settings with names; the whole file is one */
} spec_node_kind;

typedef struct spec_config_node {
    spec_node_kind kind;
    int line;
    char *name;        /* NULL for an element of a list, and for the whole file */
    long long integer; /* also the value of a bool */
    double real;
    char *text;
    struct spec_config_node **child; /* (n) */
    int n;
} spec_config_node;

/* Parses a text; errors read "path:line: what". */
int spec_config_tree_parse(spec_config_node **ret_root, const char *text, const char *path,
                           spec_error *error);
void spec_config_tree_free(spec_config_node *node); /* NULL is allowed */

/* Returns the setting of that name in a group; NULL if it is missing or the node is not a group. */
spec_config_node *spec_config_tree_member(const spec_config_node *node, const char *name);

#endif
