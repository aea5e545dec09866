/* folder: a temporary folder of its own for a test program, so that its files collide with nobody's and none is left.
 * Set-up and tear-down of a group of tests, or of one test: in between the working folder is the temporary one. */
#ifndef SPECLAB_TESTS_FOLDER_H
#define SPECLAB_TESTS_FOLDER_H

/* Where the program was before: the root of the source. */
extern char spec_folder_before[];

int spec_folder_enter(void **state);
int spec_folder_leave(void **state); /* removes it with all that is in it */

#endif
