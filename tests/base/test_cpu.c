/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"

#include "tests/support/support.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
static const char *const names[] = {"portable", "neon", "dotprod"};
static const char refused[] = "portable2: instruction sets are portable, neon and dotprod";
#elif defined(__x86_64__)
static const char *const names[] = {"portable", "avx2", "avx512", "vnni"};
static const char refused[] = "portable2: instruction sets are portable, avx2, avx512 and vnni";
#else
static const char *const names[] = {"portable"};
static const char refused[] = "portable2: the only instruction set is portable";
#endif

TEST(a_limit_lowers_the_instruction_set)
{
    const spec_isa best = spec_cpu_best_isa();
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa < SPEC_ISA_END; isa++) {
        assert_int_equal(spec_cpu_limit(spec_cpu_isa_name(isa), NULL), GSL_SUCCESS);
        assert_int_equal(spec_cpu_isa(), isa < best ? isa : best);
    }
    assert_int_equal(spec_cpu_limit(NULL, NULL), GSL_SUCCESS);
    assert_int_equal(spec_cpu_isa(), best);
    printf("this machine: %s\n", spec_cpu_isa_name(best));
}

TEST(unknown_names_are_refused_and_change_nothing)
{
    static const char *const unknown[] = {"", "sse", "AVX2", "avx", "avx2 ", "portable2"};
    spec_error error = {""};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(spec_cpu_limit(unknown[i], &error), GSL_EINVAL);
        assert_int_equal(spec_cpu_isa(), spec_cpu_best_isa());
    }
    assert_string_equal(error.text, refused);
    assert_works(spec_cpu_limit("portable", &error));
    assert_int_equal(spec_cpu_limit("sse", &error), GSL_EINVAL);
    assert_int_equal(spec_cpu_isa(), SPEC_ISA_PORTABLE);
    assert_works(spec_cpu_limit(NULL, &error));
}

TEST(names_are_those_of_the_environment_variable)
{
    assert_int_equal(SPEC_ISA_END, sizeof names / sizeof *names);
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa < SPEC_ISA_END; isa++)
        assert_string_equal(spec_cpu_isa_name(isa), names[isa]);
}
