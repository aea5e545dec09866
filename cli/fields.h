/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fields: the options of a verb, each declared once.
 * A row of the table has an option's name, its help and the member of the verb's arguments that it
 * fills; the member's type says how the value is read. From the rows come the parser, --help, the
 * ranges in errors, defaults, what excludes what, the line "assumed", and the axes of a grid. */
#ifndef SPECLAB_FIELDS_H
#define SPECLAB_FIELDS_H

#include "cli/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the values of an axis are written: a list of numbers, names separated by commas, or texts
 * separated by newlines. _FLAG is an option without a value; its axis has the value 1. If the
 * values differ from what the user typed, _MADE has the values, one per line, and _ASKED has what
 * the user typed, for the provenance. _MADE axes are zipped: a point takes line i of each. */
typedef enum {
    SPEC_AXIS_NONE,
    SPEC_AXIS_NUMBERS,
    SPEC_AXIS_NAMES,
    SPEC_AXIS_LINES,
    SPEC_AXIS_FLAG,
    SPEC_AXIS_MADE,
    SPEC_AXIS_ASKED
} spec_axis_kind;

/* The type of a member: const char * keeps the word as it was typed, bool is an option without a
 * value, uint64_t and int are whole numbers (an int or enum with `choice` is the index of a name),
 * and double is a number. */
typedef enum {
    SPEC_FIELD_NONE, /* no member: a heading of --help, or an option with a `read` function */
    SPEC_FIELD_TEXT,
    SPEC_FIELD_FLAG,
    SPEC_FIELD_COUNT,
    SPEC_FIELD_WHOLE,
    SPEC_FIELD_NUMBER
} spec_field_type;

/* Reads a word into the arguments; exits 2 if it is wrong. */
typedef void spec_field_reader(void *arguments, const char *word, const char *verb);

typedef struct {
    const char *name;  /* "c-token"; its parameter is c_token. NULL: a heading */
    char letter;       /* 'K', or 0 */
    /* what stands for the value in the help: "LIST"; NULL for a bool. The name of a FILE must not
     * be empty. */
    const char *value;
    const char *help;
    spec_field_type type; /* with `at`: SPEC_FIELD(arguments, member) */
    size_t at;
    /* default, as the user would type it; the help ends with it, in parentheses */
    const char *fallback;
    bool assumed;  /* the line "assumed" names the default if the user gave no value */
    spec_axis_kind axis; /* how the value becomes an axis of the grid */
    const char *parameter; /* name of the axis; NULL: that of the option, with _ for - */
    /* least and largest value of a number; both 0: no limit. `above`: `low` itself is too small;
     * `below`: `high` itself is too large */
    double low, high;
    bool above, below;
    const char *const *choice; /* the names that an int or enum stands for, ending with NULL */
    spec_field_reader *read;   /* instead of a member */
    bool repeats;              /* may be given several times */
    int group; /* the help lists groups in order, and the options of a group by name; 0 is 1 */
} spec_field;

/* Sets type and at. */
#define SPEC_FIELD(of, member)                                                                     \
    .type = _Generic(((of *)0)->member,                                                            \
        const char *: SPEC_FIELD_TEXT,                                                             \
        bool: SPEC_FIELD_FLAG,                                                                     \
        uint64_t: SPEC_FIELD_COUNT,                                                                \
        int: SPEC_FIELD_WHOLE,                                                                     \
        unsigned: SPEC_FIELD_WHOLE,                                                                \
        double: SPEC_FIELD_NUMBER),                                                                \
    .at = offsetof(of, member)

/* What an option needs, or cannot be combined with. `option` and `others` are names separated by
 * blanks; an option needs one of the others. */
typedef struct {
    const char *option;
    bool needs;
    const char *others;
    const char *why; /* the reason, which ends the error: ": a model makes one call by itself"; or
                      * NULL */
} spec_field_relation;

typedef struct spec_fields {
    const spec_field *fields;             /* ends with a row without help; or NULL */
    const spec_field_relation *relations; /* ends with a row without option; or NULL */
    const char *doc;                      /* the summary, "\v", and the text below the options */
    const char *words;                    /* the arguments that are not options; or NULL */
    spec_field_reader *word;              /* reads such a word */
    const spec_field *also;               /* further fields, of a struct at this offset; or NULL */
    size_t also_at;
    bool alone;                   /* has no other options but --help and --version */
    bool grid;                    /* has --resume, --shard, --batches and --sums */
    const char *formats, *output; /* its own help of --format and of --output; or NULL */
} spec_fields;

/* Help of --output, for a verb that writes a text. */
#define SPEC_FIELDS_TEXT_OUTPUT                                                                    \
    "write to FILE instead of standard output (FILE.json: json; else plain text)"

/* Sets the defaults, then reads the options of the command line into the arguments: the verb's, and
 * the common ones into `opt_common`, which is NULL for a verb that stands alone. Starts the
 * progress line (base/progress.h). Exits 2 on bad usage, with one line that names the nearest
 * option. */
void spec_fields_parse(void *arguments, spec_options *opt_common, const spec_fields *of, int argc,
                       char **argv);

/* Returns whether the command line had an option; takes its name. */
bool spec_fields_gave(const char *option);

/* Adds the defaults that `assumed` marks, and that still hold, to the line "assumed". */
void spec_fields_assume(spec_assumed *assumed, const spec_field *fields, const void *arguments);

#endif
