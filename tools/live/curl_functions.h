/* SPDX-License-Identifier: GPL-3.0-or-later */
/* curl_functions: what tools/live/http.c uses of libcurl, with the numbers of its binary interface.
 * The library is loaded when a server is first asked: no other command waits for the thirty
 * libraries that it needs, and speclab builds and runs without it.
 * tests/tools/live/test_curl_functions.c compares this list with curl/curl.h. */
#ifndef SPECLAB_CURL_FUNCTIONS_H
#define SPECLAB_CURL_FUNCTIONS_H

#include <stdint.h>

typedef struct spec_curl_list spec_curl_list;

typedef struct { /* CURLMsg; `result` is its data, if `message` is CURLMSG_DONE */
    int message;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} spec_curl_message;

/* NUMBER(name, value): errors, options and facts. */
#define SPEC_CURL_NUMBERS(NUMBER)                                                                  \
    NUMBER(CURLE_OK, 0)                                                                            \
    NUMBER(CURLE_PARTIAL_FILE, 18)                                                                 \
    NUMBER(CURLE_OPERATION_TIMEDOUT, 28)                                                           \
    NUMBER(CURLE_GOT_NOTHING, 52)                                                                  \
    NUMBER(CURLE_SEND_ERROR, 55)                                                                   \
    NUMBER(CURLE_RECV_ERROR, 56)                                                                   \
    NUMBER(CURLM_OK, 0)                                                                            \
    NUMBER(CURLMSG_DONE, 1)                                                                        \
    NUMBER(CURL_ERROR_SIZE, 256)                                                                   \
    NUMBER(CURLOPT_POST, 47)                                                                       \
    NUMBER(CURLOPT_CONNECTTIMEOUT, 78)                                                             \
    NUMBER(CURLOPT_NOSIGNAL, 99)                                                                   \
    NUMBER(CURLOPT_TIMEOUT_MS, 155)                                                                \
    NUMBER(CURLOPT_WRITEDATA, 10001)                                                               \
    NUMBER(CURLOPT_URL, 10002)                                                                     \
    NUMBER(CURLOPT_ERRORBUFFER, 10010)                                                             \
    NUMBER(CURLOPT_POSTFIELDS, 10015)                                                              \
    NUMBER(CURLOPT_HTTPHEADER, 10023)                                                              \
    NUMBER(CURLOPT_PRIVATE, 10103)                                                                 \
    NUMBER(CURLOPT_PROTOCOLS_STR, 10318)                                                           \
    NUMBER(CURLOPT_WRITEFUNCTION, 20011)                                                           \
    NUMBER(CURLOPT_POSTFIELDSIZE_LARGE, 30120)                                                     \
    NUMBER(CURLINFO_PRIVATE, 0x100015)                                                             \
    NUMBER(CURLINFO_RESPONSE_CODE, 0x200002)                                                       \
    NUMBER(CURLINFO_RETRY_AFTER, 0x600039)

/* FUNCTION(result, name, parameters): curl_<name>. */
#define SPEC_CURL_FUNCTIONS(FUNCTION)                                                              \
    FUNCTION(void *, easy_init, (void))                                                            \
    FUNCTION(void, easy_cleanup, (void *easy))                                                     \
    FUNCTION(void, easy_reset, (void *easy))                                                       \
    FUNCTION(int, easy_setopt, (void *easy, int option, ...))                                      \
    FUNCTION(int, easy_getinfo, (void *easy, int info, ...))                                       \
    FUNCTION(const char *, easy_strerror, (int code))                                              \
    FUNCTION(void *, multi_init, (void))                                                           \
    FUNCTION(int, multi_cleanup, (void *multi))                                                    \
    FUNCTION(int, multi_add_handle, (void *multi, void *easy))                                     \
    FUNCTION(int, multi_remove_handle, (void *multi, void *easy))                                  \
    FUNCTION(int, multi_perform, (void *multi, int *running))                                      \
    FUNCTION(int, multi_poll, (void *multi, void *extra, unsigned n, int ms, int *ret_n))          \
    FUNCTION(spec_curl_message *, multi_info_read, (void *multi, int *ret_left))                   \
    FUNCTION(spec_curl_list *, slist_append, (spec_curl_list * list, const char *text))            \
    FUNCTION(void, slist_free_all, (spec_curl_list * list))

typedef struct {
#define SPEC_CURL_MEMBER(result, name, parameters) result(*name) parameters;
    SPEC_CURL_FUNCTIONS(SPEC_CURL_MEMBER)
#undef SPEC_CURL_MEMBER
} spec_curl;

#endif
