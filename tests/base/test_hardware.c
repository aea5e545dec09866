/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hardware.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* Values of the data sheets that the table names. */
TEST(machines_have_the_numbers_of_their_data_sheets)
{
    static const struct {
        const char *name;
        double flops, bandwidth, memory;
    } known[] = {{"A100", 312e12, 2e12, 80e9},
                 {"H100", 989e12, 3.35e12, 80e9},
                 {"H200", 989e12, 4.8e12, 141e9},
                 {"B200", 2250e12, 8e12, 180e9},
                 {"L4", 121e12, 3e11, 24e9},
                 {"L40S", 362.05e12, 8.64e11, 48e9},
                 {"RTX 4090", 165.2e12, 1.008e12, 24e9},
                 {"RTX PRO 6000", 503.8e12, 1.792e12, 96e9},
                 {"MI300X", 1307.4e12, 5.3e12, 192e9}};
    enum { N = sizeof known / sizeof known[0] };
    for (int i = 0; i < N; i++) {
        const spec_hardware *found = spec_hardware_find(known[i].name);
        assert_ptr_equal(found, &spec_hardware_known[i]);
        assert_string_equal(found->name, known[i].name);
        assert_same(found->flops, known[i].flops);
        assert_same(found->bandwidth, known[i].bandwidth);
        assert_same(found->memory, known[i].memory);
        assert_true(strlen(found->source) > 20);
    }
    assert_null(spec_hardware_known[N].name);
}

TEST(names_disregard_case_blanks_and_hyphens)
{
    const spec_hardware *card = spec_hardware_find("RTX PRO 6000");
    assert_ptr_equal(spec_hardware_find("rtx-pro-6000"), card);
    assert_ptr_equal(spec_hardware_find("RtxPro6000"), card);
    assert_ptr_equal(spec_hardware_find("rtx_pro__6000"), card);
    assert_null(spec_hardware_find("RTX PRO 600"));
    assert_null(spec_hardware_find("RTX PRO 6000 x"));
    assert_null(spec_hardware_find("A1000"));
    assert_null(spec_hardware_find("-"));
    assert_null(spec_hardware_find(""));
}

TEST(all_names_are_listed)
{
    const char *names[SPEC_HARDWARE_MAX];
    spec_hardware_names(names);
    int n = 0;
    for (; names[n] != NULL; n++) assert_ptr_equal(names[n], spec_hardware_known[n].name);
    assert_null(spec_hardware_known[n].name);
}
