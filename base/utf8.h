/* SPDX-License-Identifier: GPL-3.0-or-later */
/* utf8: decodes one UTF-8 character, and accepts only valid ones.
 * Invalid bytes are reported one by one, so that a caller can pass every byte on. */
#ifndef SPECLAB_UTF8_H
#define SPECLAB_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The code of a byte that does not begin a valid character. */
#define SPEC_UTF8_INVALID UINT32_MAX

/* Decodes the character at the front of `text` (length >= 1) and returns its length, 1 to 4 bytes.
 * For an invalid sequence the length is 1 and *ret_code is SPEC_UTF8_INVALID. Over-long forms,
 * surrogates, code points above 10FFFF, and stray or missing continuation bytes are invalid; so is
 * a character cut off by the end of the text. */
size_t spec_utf8_decode(uint32_t *ret_code, const unsigned char *text, size_t length);

#endif
