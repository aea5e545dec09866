/* SPDX-License-Identifier: GPL-3.0-or-later */
/* key_option: reads an API key from the source that an option names: env:NAME or file:FILE. */
#ifndef SPECLAB_KEY_OPTION_H
#define SPECLAB_KEY_OPTION_H

/* Returns the key, which must not appear in any message; the caller frees it. Exits 2 if there is
 * none. */
char *spec_key_option_read(const char *verb, const char *option, const char *arg);

#endif
