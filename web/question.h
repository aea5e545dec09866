/* SPDX-License-Identifier: GPL-3.0-or-later */
/* question: the name and the arguments of a question (web/web.h).
 * Getters return a default if the argument is absent. `wrong` keeps the line about the first wrong
 * argument. After all getters, web_question_check refuses unknown arguments. */
#ifndef SPECLAB_QUESTION_H
#define SPECLAB_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_ARGUMENTS_MAX = 32 };

typedef struct {
    char *copy; /* copy of the question, cut into strings; owned */
    const char *name;
    int n;
    struct {
        const char *key, *value;
        bool read;
    } argument[WEB_ARGUMENTS_MAX];
    char wrong[200]; /* one line, or "" */
} web_question;

/* Returns false if memory runs out. */
bool web_question_init(web_question *question, const char *text);
void web_question_free(web_question *question);

const char *web_question_text(web_question *question, const char *key, const char *opt_default);
/* Lists the values of an argument that may come several times, in order and NULL-terminated. ret
 * has WEB_ARGUMENTS_MAX + 1 entries. Empty values are left out. */
void web_question_texts(const char **ret, web_question *question, const char *key);

double web_question_number(web_question *question, const char *key, double number);

/* Read whole numbers: a seed or a count, 0..2^53, and a signed number of 32 bits. */
uint64_t web_question_count(web_question *question, const char *key, uint64_t count);
int32_t web_question_integer(web_question *question, const char *key, int32_t integer);

/* Reads a list such as "0.5,0.7". If it is missing or empty, returns NULL and *ret_n = 0. The
 * caller frees it. */
double *web_question_numbers(int32_t *ret_n, web_question *question, const char *key);

/* Returns whether all arguments are known and right; if they are not, `wrong` has a line. */
bool web_question_check(web_question *question);

#endif
