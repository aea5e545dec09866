/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/utf8.h"

size_t spec_utf8_decode(uint32_t *ret_code, const unsigned char *text, size_t length)
{
    const uint32_t lead = text[0];
    if (lead < 0x80) {
        *ret_code = lead;
        return 1;
    }
    *ret_code = SPEC_UTF8_INVALID;
    const size_t n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || length < n) return 1;
    uint32_t code = lead & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80) return 1;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < smallest[n] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 1;
    *ret_code = code;
    return n;
}
