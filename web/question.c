/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "web/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double whole_max = 9007199254740992.0; /* 2^53 */

bool web_question_init(web_question *question, const char *text)
{
    *question = (web_question){.copy = strdup(text)};
    if (question->copy == NULL) return false;
    question->name = question->copy;
    char *end = strchr(question->copy, '\n');
    while (end != NULL && end[1] != '\0') {
        char *line = end + 1;
        *end = '\0';
        char *value = strchr(line, '=');
        if (question->n == WEB_ARGUMENTS_MAX || value == NULL) {
            snprintf(question->wrong, sizeof question->wrong, "'%.100s' is not key=value", line);
            return true;
        }
        *value++ = '\0';
        end = strcmp(line, "text") == 0 ? NULL : strchr(value, '\n');
        question->argument[question->n].key = line;
        question->argument[question->n++].value = value;
    }
    if (end != NULL) *end = '\0';
    return true;
}

void web_question_free(web_question *question)
{
    free(question->copy);
    *question = (web_question){.copy = NULL};
}

static const char *find(web_question *question, const char *key)
{
    const char *value = NULL;
    for (int i = 0; i < question->n; i++) {
        if (strcmp(question->argument[i].key, key) != 0) continue;
        question->argument[i].read = true;
        value = question->argument[i].value;
    }
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static void refuse(web_question *question, const char *key, const char *value, const char *right)
{
    if (question->wrong[0] == '\0')
        snprintf(question->wrong, sizeof question->wrong, "%s is '%.60s': give %s", key, value,
                 right);
}

const char *web_question_text(web_question *question, const char *key, const char *opt_default)
{
    const char *value = find(question, key);
    return value != NULL ? value : opt_default;
}

void web_question_texts(const char **ret, web_question *question, const char *key)
{
    for (int i = 0; i < question->n; i++) {
        if (strcmp(question->argument[i].key, key) != 0) continue;
        question->argument[i].read = true;
        if (question->argument[i].value[0] != '\0') *ret++ = question->argument[i].value;
    }
    *ret = NULL;
}

double web_question_number(web_question *question, const char *key, double number)
{
    const char *value = find(question, key);
    char *end;
    if (value == NULL) return number;
    const double given = strtod(value, &end);
    if (*end == '\0') return given;
    refuse(question, key, value, "a number");
    return number;
}

uint64_t web_question_count(web_question *question, const char *key, uint64_t count)
{
    const double given = web_question_number(question, key, (double)count);
    if (given >= 0.0 && given <= whole_max && given == (double)(uint64_t)given)
        return (uint64_t)given;
    refuse(question, key, find(question, key), "a whole number from 0 to 2^53");
    return count;
}

int32_t web_question_integer(web_question *question, const char *key, int32_t integer)
{
    const double given = web_question_number(question, key, integer);
    if (given >= INT32_MIN && given <= INT32_MAX && given == (double)(int32_t)given)
        return (int32_t)given;
    refuse(question, key, find(question, key), "a whole number");
    return integer;
}

double *web_question_numbers(int32_t *ret_n, web_question *question, const char *key)
{
    const char *value = find(question, key), *at = value;
    int32_t n = 0;
    *ret_n = 0;
    if (value == NULL) return NULL;
    double *number = malloc((strlen(value) / 2 + 1) * sizeof *number);
    if (number == NULL) {
        refuse(question, key, value, "fewer numbers: there is no memory for these");
        return NULL;
    }
    for (;; at++) {
        char *end;
        number[n++] = strtod(at, &end);
        if (end == at || (*end != ',' && *end != '\0')) {
            refuse(question, key, value, "numbers with commas between them");
            free(number);
            return NULL;
        }
        at = end;
        if (*at == '\0') break;
    }
    *ret_n = n;
    return number;
}

bool web_question_check(web_question *question)
{
    for (int i = 0; i < question->n && question->wrong[0] == '\0'; i++)
        if (!question->argument[i].read)
            snprintf(question->wrong, sizeof question->wrong, "%.40s has no argument '%.60s'",
                     question->name, question->argument[i].key);
    return question->wrong[0] == '\0';
}
