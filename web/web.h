/* SPDX-License-Identifier: GPL-3.0-or-later */
/* web: the functions that the web page calls: a question as text in, an answer as JSON out.
 * It uses only the library (speclab/speclab.h). It also compiles natively, and tests compare the
 * answers byte by byte. docs/page.md lists the questions and their answers.
 *
 * A question is lines: its name, then "key=value" for each argument. A missing or empty argument
 * has its default; an unknown one is an error. If one comes twice, the last counts, but all
 * values of a list such as `file` do. `text` must be the last and takes all further lines.
 *
 * An answer is one JSON object in UTF-8. Numbers have 17 digits; NaN is null, and infinity 1e999,
 * which JSON.parse reads as Infinity. A failure is {"error": LINE, "status": SPECLAB_*}. */
#ifndef SPECLAB_WEB_H
#define SPECLAB_WEB_H

/* The library, opened with one thread, and at most one simulation, law and text; one per worker. */
typedef struct web_lab web_lab;

/* Returns NULL if memory runs out. */
web_lab *web_open(void);
void web_close(web_lab *opt_web);

/* Returns the answer, valid until the next question. */
const char *web_ask(web_lab *web, const char *question);

#endif
