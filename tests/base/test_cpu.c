/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/cpu.h"

#include "tests/support/support.h"

static void a_limit_lowers_the_instruction_set(void **state)
{
    (void)state;
    const spec_isa best = spec_cpu_best_isa();
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= SPEC_ISA_VNNI; isa++) {
        assert_int_equal(spec_cpu_limit(spec_cpu_isa_name(isa), NULL), GSL_SUCCESS);
        assert_int_equal(spec_cpu_isa(), isa < best ? isa : best);
    }
    assert_int_equal(spec_cpu_limit(NULL, NULL), GSL_SUCCESS);
    assert_int_equal(spec_cpu_isa(), best);
    printf("this machine: %s\n", spec_cpu_isa_name(best));
}

static void unknown_names_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const char *const unknown[] = {"", "sse", "AVX2", "avx", "avx2 ", "portable2"};
    spec_error error = {""};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(spec_cpu_limit(unknown[i], &error), GSL_EINVAL);
        assert_int_equal(spec_cpu_isa(), spec_cpu_best_isa());
    }
    assert_string_equal(error.text,
                        "portable2: instruction sets are portable, avx2, avx512 and vnni");
    assert_int_equal(spec_cpu_limit("portable", &error), GSL_SUCCESS);
    assert_int_equal(spec_cpu_limit("sse", &error), GSL_EINVAL);
    assert_int_equal(spec_cpu_isa(), SPEC_ISA_PORTABLE);
    assert_int_equal(spec_cpu_limit(NULL, &error), GSL_SUCCESS);
}

static void names_are_those_of_the_environment_variable(void **state)
{
    (void)state;
    assert_string_equal(spec_cpu_isa_name(SPEC_ISA_PORTABLE), "portable");
    assert_string_equal(spec_cpu_isa_name(SPEC_ISA_AVX2), "avx2");
    assert_string_equal(spec_cpu_isa_name(SPEC_ISA_AVX512), "avx512");
    assert_string_equal(spec_cpu_isa_name(SPEC_ISA_VNNI), "vnni");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_lowers_the_instruction_set),
        cmocka_unit_test(unknown_names_are_refused_and_change_nothing),
        cmocka_unit_test(names_are_those_of_the_environment_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
