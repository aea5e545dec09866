/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of tools/live/curl_functions.h are those of curl/curl.h, or this file does not
 * compile. The functions are called by the other tests of this folder. Skipped without that
 * header. */
#include "tests/support/support.h"
#include "tools/live/curl_functions.h"

#if defined(__has_include)
#if __has_include(<curl/curl.h>)
#define HEADER
#endif
#endif

#ifdef HEADER

#include <curl/curl.h>
#include <stddef.h>

#define SAME_NUMBER(name, number) _Static_assert((long)(name) == (number), #name);
SPEC_CURL_NUMBERS(SAME_NUMBER)

_Static_assert(sizeof(spec_curl_message) == sizeof(CURLMsg), "the size of a message");
_Static_assert(offsetof(spec_curl_message, easy) == offsetof(CURLMsg, easy_handle), "easy");
_Static_assert(offsetof(spec_curl_message, data) == offsetof(CURLMsg, data), "data");
_Static_assert(sizeof(curl_off_t) == sizeof(int64_t), "an offset");

TEST(numbers_and_messages_are_those_of_the_header) {}

#else

TEST(numbers_and_messages_are_those_of_the_header)
{
    printf("skipped: %s: there is no curl/curl.h\n", __func__);
    skip();
}

#endif
