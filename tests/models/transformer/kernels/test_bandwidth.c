/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/bandwidth.h"

#include "models/transformer/engine/backend.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <math.h>

/* The read covers every word: flipping one bit anywhere changes the result. */
TEST(every_word_is_read)
{
    spec_bandwidth bandwidth;
    spec_bandwidth_init(&bandwidth, 5000000);
    assert_true(bandwidth.bytes >= 5000000 && bandwidth.bytes % (1 << 21) == 0);
    const size_t words = bandwidth.bytes / sizeof *bandwidth.memory,
                 at[] = {0, 1, words / 3, words - 2, words - 1};
    const uint64_t usual = spec_bandwidth_read(&bandwidth, spec_test_pool(0));
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        bandwidth.memory[at[i]] ^= (uint64_t)1 << (7 * i + 1);
        assert_true(spec_bandwidth_read(&bandwidth, spec_test_pool(0)) ==
                    (usual | (uint64_t)1 << (7 * i + 1)));
        bandwidth.memory[at[i]] ^= (uint64_t)1 << (7 * i + 1);
    }
    spec_bandwidth_free(&bandwidth);
    spec_bandwidth_free(&bandwidth);
}

/* Every machine is within this range. */
TEST(the_processor_knows_how_fast_it_reads)
{
    spec_roofline roofline;
    const spec_backend *cpu = spec_test_context(0)->cpu;
    assert_int_equal(cpu->roofline(cpu, &roofline, NULL), GSL_SUCCESS);
    assert_true(roofline.read == 0.0 || (roofline.read > 1e7 && roofline.read < 1e14));
    assert_true(roofline.bf16 == 0.0 && roofline.int8 == 0.0 && roofline.launch == 0.0);
    print_message("reads %.3g GB/s\n", 1e-9 * roofline.read);
}
