/* SPDX-License-Identifier: GPL-3.0-or-later */
/* key_option: an API key, from where an option says: env:NAME or file:FILE. */
#ifndef SPECLAB_KEY_OPTION_H
#define SPECLAB_KEY_OPTION_H

/* Returns the key, which must not get into a message; the caller frees it. Exits 2 if there is
 * none. */
char *spec_key_option_read(const char *verb, const char *option, const char *arg);

#endif
