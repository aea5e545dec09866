/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/unpacked.h"

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { SIZE = 300000 };
static char text[SIZE], read_back[2 * SIZE + 1];
static unsigned char packed[2 * SIZE];

/* Words with some entropy, so that the compressed text is longer than a block of the reader. */
static void write_text(void)
{
    uint64_t random = spec_test_seed();
    for (int i = 0; i < SIZE; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        text[i] = "abcdefghijklmnopqrstuvwxyz \n0123"[random >> 59];
    }
}

static size_t pack(unsigned char *to, const char *from, size_t n)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (unsigned char *)from;
    stream.avail_in = (unsigned)n;
    stream.next_out = to;
    stream.avail_out = SIZE;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

/* Reads the bytes of a file in pieces of `piece`; returns them, or the error. */
static size_t read_bytes(spec_error *ret_error, const void *bytes, size_t n, size_t piece)
{
    const int fd = memfd_create("file", 0);
    size_t sum = 0, got;
    int status;
    assert_int_equal(write(fd, bytes, n), n);
    lseek(fd, 0, SEEK_SET);
    OWNED(spec_unpacked) unpacked = spec_unpacked_of(fd, "x", NULL);
    do {
        status = spec_unpacked_read(&got, &unpacked, read_back + sum, piece, ret_error);
        sum += got;
        assert_true(sum + piece < sizeof read_back);
    } while (status == GSL_SUCCESS && got > 0);
    if (status == GSL_SUCCESS) ret_error->text[0] = '\0';
    close(fd);
    return sum;
}

TEST(a_file_is_read_as_it_is_or_unpacked)
{
    spec_error e;
    write_text();
    const size_t n = pack(packed, text, SIZE);
    assert_true(n > (1 << 16));
    static const size_t pieces[] = {7, 4096, 100000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        assert_int_equal(read_bytes(&e, text, SIZE, pieces[i]), SIZE);
        assert_memory_equal(read_back, text, SIZE);
        assert_int_equal(read_bytes(&e, packed, n, pieces[i]), SIZE);
        assert_memory_equal(read_back, text, SIZE);
        assert_string_equal(e.text, "");
    }
    /* two parts, as cat a.gz b.gz makes them, and an empty one */
    const size_t first = pack(packed, text, 1000), empty = pack(packed + first, "", 0);
    const size_t second = pack(packed + first + empty, text + 1000, 2000);
    assert_int_equal(read_bytes(&e, packed, first + empty + second, 4096), 3000);
    assert_memory_equal(read_back, text, 3000);
    assert_int_equal(read_bytes(&e, "", 0, 10), 0);
    assert_int_equal(read_bytes(&e, "\x1f", 1, 10), 1);
}

TEST(damaged_and_cut_files_are_refused)
{
    spec_error e;
    write_text();
    const size_t n = pack(packed, text, SIZE);
    for (size_t cut = 2; cut < n; cut += n / 7) {
        read_bytes(&e, packed, cut, 4096);
        assert_string_equal(e.text, "x: its gzip data are cut");
    }
    memset(packed + n / 2, 'x', 100);
    read_bytes(&e, packed, n, 4096);
    assert_string_equal(e.text, "x: its gzip data are damaged");
    pack(packed, text, 1000);
    memcpy(packed + pack(packed, text, 1000), "junk", 4);
    read_bytes(&e, packed, pack(packed, text, 1000) + 4, 4096);
    assert_string_equal(e.text, "x: its gzip data are damaged");
}

#ifndef SPECLAB_ZSTD
TEST(zstd_needs_its_library)
{
    spec_error e;
    read_bytes(&e, "\x28\xb5\x2f\xfd", 4, 10);
    assert_string_equal(e.text, "x: is compressed by zstd, which is not built in: decompress it "
                                "first (unzstd)");
}
#endif

TEST(reading_stops_where_asked)
{
    static const volatile int stop = 1;
    OWNED(spec_unpacked) unpacked = spec_unpacked_of(-1, "x", &stop);
    char byte;
    size_t got;
    assert_fails(spec_unpacked_read(&got, &unpacked, &byte, 1, &error), GSL_EFAILED, "x: stopped");
}
