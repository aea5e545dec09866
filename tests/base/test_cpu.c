#include "base/cpu.h"

#include "tests/support/support.h"

static void the_environment_lowers_the_instruction_set(void **state)
{
    (void)state;
    const spec_isa best = spec_cpu_best_isa();
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= SPEC_ISA_VNNI; isa++) {
        setenv("SPECLAB_ISA", spec_cpu_isa_name(isa), 1);
        assert_int_equal(spec_cpu_isa(), isa < best ? isa : best);
    }
    unsetenv("SPECLAB_ISA");
    assert_int_equal(spec_cpu_isa(), best);
    printf("this machine: %s\n", spec_cpu_isa_name(best));
}

static void unknown_names_change_nothing(void **state)
{
    (void)state;
    static const char *const unknown[] = {"", "sse", "AVX2", "avx", "avx2 ", "portable2"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        setenv("SPECLAB_ISA", unknown[i], 1);
        assert_int_equal(spec_cpu_isa(), spec_cpu_best_isa());
    }
    unsetenv("SPECLAB_ISA");
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
        cmocka_unit_test(the_environment_lowers_the_instruction_set),
        cmocka_unit_test(unknown_names_change_nothing),
        cmocka_unit_test(names_are_those_of_the_environment_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
