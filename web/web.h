/* SPDX-License-Identifier: GPL-3.0-or-later */
/* web: the functions that the web page calls: a question as text in, an answer as JSON out.
 * It uses only the library (speclab/speclab.h). It also compiles natively, and tests compare the
 * answers byte by byte. docs/page.md lists the questions and their answers.
 *
 * A question consists of lines: first its name, then "key=value" for each argument. A missing or
 * empty argument gets its default; an unknown one is an error. If an argument comes twice, the last
 * counts, but a list such as `file` takes all its values. `text` must be the last argument, and
 * takes all the lines that follow.
 *
 * An answer is one JSON object in UTF-8. Numbers have 17 digits; NaN is null, and infinity is
 * 1e999, which JSON.parse reads as Infinity. A failure is {"error": LINE, "status": SPECLAB_*}. */
#ifndef SPECLAB_WEB_H
#define SPECLAB_WEB_H

/* The library, opened with one thread, and at most one simulation, one distribution and one text.
 * Each worker has its own. */
typedef struct web_lab web_lab;

/* Opens the library. Returns NULL if memory runs out. */
web_lab *web_open(void);
void web_close(web_lab *opt_web);

/* Returns the answer, which is valid until the next question. */
const char *web_ask(web_lab *web, const char *question);

#endif
