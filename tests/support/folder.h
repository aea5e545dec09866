/* SPDX-License-Identifier: GPL-3.0-or-later */
/* folder: a temporary folder for a test program's files, removed at the end.
 * Set-up and tear-down of a group of tests, or of one test: in between it is the working folder. */
#ifndef SPECLAB_TESTS_FOLDER_H
#define SPECLAB_TESTS_FOLDER_H

/* The previous working folder: the root of the source tree. */
extern char spec_folder_before[];

int spec_folder_enter(void **state);
int spec_folder_leave(void **state); /* removes it with its contents */

#endif
