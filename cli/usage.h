/* usage: --help, --usage and --version of every verb, and one line about an option that is none.
 * An argp child that takes no input. _parse runs argp silently, so that every line about a wrong option is ours: one
 * line, and the nearest option named. */
#ifndef SPECLAB_USAGE_H
#define SPECLAB_USAGE_H

#include <argp.h>

extern const struct argp spec_usage_argp;

/* Say what is wrong in one line, "speclab VERB: ...", on standard error. Control characters become '?'. _fail then
 * exits 2. */
__attribute__((format(printf, 2, 3))) void spec_usage_say(const char *verb, const char *format, ...);
__attribute__((noreturn, format(printf, 2, 3))) void spec_usage_fail(const char *verb, const char *format, ...);

/* argp_parse(argp, argc, argv, 0, NULL, input), where `argp` has spec_usage_argp among its children. Exits 2 on a wrong
 * option. */
void spec_usage_parse(const struct argp *argp, int argc, char **argv, void *input);

#endif
