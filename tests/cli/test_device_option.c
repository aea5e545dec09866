/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --device as users run it, on the simulated GPU or a real one, on which some tests are skipped.
 * Every unusable GPU or driver gives one error line and exit code 2. SPECLAB names the program. */
#include "models/gpu/images.h"
#include "tests/support/child.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <string.h>

#define MODEL "random?dim=32&layers=2&heads=4&kv_heads=2&ffn=64&vocab=40&context=32&type="
#define TARGET "--target " MODEL "f32"
#define DRAFT "--draft " MODEL "q8_0"

#define needs_the_simulator()                                                                      \
    do {                                                                                           \
        spec_needs_program();                                                                      \
        if (spec_card_is_real()) skip();                                                           \
    } while (0)

/* Runs with one more environment variable. */
static void fails_with(const char *name, const char *value, const char *arguments,
                       const char *begin)
{
    setenv(name, value, 1);
    spec_program_fails(arguments, 2, begin);
    unsetenv(name);
}

TEST(the_card_writes_what_the_processor_writes, SLOW)
{
    spec_needs_program();
    static const char *const more[] = {"",
                                       " " DRAFT,
                                       " --draft quantised?type=q8_0",
                                       " --draft layers?exit=1",
                                       " " DRAFT "&device=cpu",
                                       " --draft quantised?type=q8_0&device=cpu"};
    char command[600];
    spec_child cpu, gpu;
    spec_child_run(&cpu, "generate " TARGET " -n 14 --temperature 0 --plain");
    assert_int_equal(cpu.code, 0);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        snprintf(command, sizeof command,
                 "generate " TARGET " -n 14 --temperature 0 --device gpu%s", more[i]);
        spec_child_run(&gpu, command);
        if (gpu.code != 0) fail_msg("%s: exit code %d: %s", command, gpu.code, gpu.line);
        assert_string_equal(gpu.text, cpu.text);
        spec_child_free(&gpu);
    }
    spec_child_free(&cpu);
}

TEST(the_option_is_for_specs_that_can_have_it_and_have_none)
{
    spec_needs_program();
    setenv("SPECLAB_LIBCUDA", "/nowhere", 1); /* these commands need no GPU */
    spec_program_works("generate " TARGET " -n 3 --device cpu");
    spec_program_works("generate " TARGET " -n 3 --device auto");
    spec_program_works("generate " TARGET "&device=cpu -n 3 --device gpu");
    spec_program_works("generate " TARGET "&device=cpu " DRAFT "&device=cpu -n 3 --device gpu");
    spec_program_fails("generate " TARGET "&device=cpu " DRAFT " -n 3 --device gpu", 2,
                       "speclab generate: --draft: device=gpu: ");
    if (!spec_card_is_real()) spec_simulated_card();
    else unsetenv("SPECLAB_LIBCUDA");
}

TEST(every_verb_that_opens_a_transformer_has_it, SLOW)
{
    spec_needs_program();
    spec_program_works("rows " TARGET " " DRAFT " --device gpu -n 5 -o pair.rows");
    spec_program_works(
        "bench " TARGET
        " --draft layers?exit=1 --device gpu --K 0,2 --widths 1,2 --texts 2 --tokens 8 "
        "--context 4");
    spec_program_works(
        "prove --target "
        "random?dim=16&layers=1&heads=2&ffn=32&vocab=3&context=16&type=f32&device=gpu "
        "--draft layers --K 1 --rule token");
}

TEST(devices_are_listed_or_the_line_says_why_there_is_none)
{
    spec_child c;
    needs_the_simulator();
    setenv("SIM_CARDS", "2", 1);
    spec_program_prints("list devices --format csv", 0, "\ndevice,cpu,the processor,",
                        "\ndevice,gpu:0,\"simulated card, 8 GiB\",",
                        "\ndevice,gpu:1,\"simulated card, 8 GiB\",");
    spec_program_works("generate " TARGET " -n 3 --device gpu:1");
    spec_program_works("generate " TARGET " " DRAFT "&device=gpu:1 -n 3 --device gpu");
    setenv("SIM_CAPABILITY", "7.5", 1);
    spec_program_prints(
        "list devices --format csv", 0,
        "\ndevice,gpu:1,\"cannot be used: GPU 1 (simulated card) has compute capability 7.5");
    spec_program_works("generate " TARGET " -n 3 --device auto");
    unsetenv("SIM_CAPABILITY");
    setenv("SIM_CARDS", "0", 1);
    spec_program_prints("list devices --format csv", 0,
                        "\ndevice,gpu,there is no NVIDIA GPU: CUDA_ERROR_NO_DEVICE");
    unsetenv("SIM_CARDS");
    spec_child_run(&c, "list --format csv"); /* only `list devices` searches for GPUs */
    assert_null(strstr(c.text, "\ndevice,"));
    spec_child_free(&c);
}

TEST(the_closing_line_says_which_device_each_model_is_on)
{
    needs_the_simulator();
    spec_child c;
    spec_child_run(&c, "generate " TARGET " " DRAFT "&device=cpu -n 3 --device auto");
    assert_int_equal(c.code, 0);
    assert_non_null(
        strstr(c.line, "; target on gpu:0 (simulated card), draft on cpu (the processor)"));
    assert_null(strstr(c.line, "no card"));
    spec_child_free(&c);
    spec_child_run(&c, "generate " TARGET " -n 3");
    assert_null(strstr(c.line, "target on"));
    spec_child_free(&c);
    setenv("SIM_CAPABILITY", "7.5", 1);
    spec_child_run(&c, "generate " TARGET " -n 3 --device auto");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(
        c.line, "; target on cpu (the processor); auto found no card: GPU 0 (simulated card) has "
                "compute capability 7.5, and the kernels need 8.0 or later"));
    spec_child_free(&c);
    unsetenv("SIM_CAPABILITY");
    setenv("SPECLAB_LIBCUDA", "/nowhere", 1);
    spec_child_run(&c, "generate " TARGET " -n 3 --device auto");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(
        c.line, "; target on cpu (the processor); auto found no card: the library in "));
    spec_child_free(&c);
    spec_program_prints(
        "generate " TARGET " " DRAFT " -n 3 --format json", 0,
        "\"devices\": \"target on cpu (the processor), draft on cpu (the processor)\"");
    spec_program_prints("generate --target zipf -n 3 --format json", 0, "\"devices\": null");
    spec_program_prints(
        "bench " TARGET
        " --draft layers?exit=1 --device auto --K 1 --widths 1 --texts 2 --tokens 4 "
        "--context 4 --format csv",
        0,
        "# devices: target on cpu (the processor), draft on cpu (the processor); auto found "
        "no card: the library in SPECLAB_LIBCUDA");
    spec_simulated_card();
}

TEST(drivers_and_cards_that_cannot_be_used_are_named_with_their_reason)
{
    needs_the_simulator();
    static const char *const verb[] = {"generate", "bench"};
    char command[600], begin[300], old[4200];
    for (int i = 0; i < 2; i++) { /* none of these computes anything */
        snprintf(command, sizeof command, "%s " TARGET " --device gpu", verb[i]);
#define LINE(words)                                                                                \
    (snprintf(begin, sizeof begin, "speclab %s: --target: device=gpu: %s", verb[i], (words)), begin)
        fails_with("SIM_CARDS", "0", command, LINE("there is no NVIDIA GPU: CUDA_ERROR_NO_DEVICE"));
        fails_with("SIM_VERSION", "11040", command,
                   LINE("the NVIDIA driver is too old: it supports CUDA 11.4, and 12.0 or later is "
                        "needed"));
        fails_with("SIM_CAPABILITY", "7.5", command,
                   LINE("GPU 0 (simulated card) has compute capability 7.5, and the kernels need "
                        "8.0 or later"));
        fails_with("SIM_IMAGES", "0", command,
                   LINE(spec_images_are_there()
                            ? "GPU 0 (simulated card): the kernels cannot be loaded: "
                              "CUDA_ERROR_INVALID_IMAGE"
                            : "this speclab was built without nvcc, so it has no kernels for a "
                              "GPU"));
        setenv("SIM_VERSION", "12040", 1);
        fails_with("SIM_IMAGES", "0", command,
                   LINE(spec_images_version() > 12040 ? "the NVIDIA driver is too old for the "
                                                        "kernels: it supports CUDA 12.4, and nvcc "
                        : spec_images_are_there()
                            ? "GPU 0 (simulated card): the kernels cannot be loaded"
                            : "this speclab was built without nvcc"));
        unsetenv("SIM_VERSION");
        snprintf(old, sizeof old, "%s/../plugins/old_driver.so", spec_simulator_path("."));
        setenv("SPECLAB_LIBCUDA", old, 1);
        spec_program_fails(command, 2, LINE("the NVIDIA driver is too old: "));
        setenv("SPECLAB_LIBCUDA", "libm.so.6", 1);
        spec_program_fails(command, 2,
                           LINE("libm.so.6 is not a CUDA driver: it has no function cuInit"));
        setenv("SPECLAB_LIBCUDA", "/nowhere/libcuda.so", 1);
        spec_program_fails(command, 2,
                           LINE("the library in SPECLAB_LIBCUDA cannot be loaded: /nowhere/"));
        spec_simulated_card();
    }
    spec_program_fails("generate " TARGET " --device gpu:7", 2,
                       "speclab generate: --target: device=gpu:7: there is no GPU 7: this machine "
                       "has one NVIDIA GPU, gpu:0");
    fails_with("SIM_CARDS", "3", "generate " TARGET " --device gpu:7",
               "speclab generate: --target: device=gpu:7: there is no GPU 7: this machine has 3 "
               "NVIDIA GPUs, gpu:0 to "
               "gpu:2");
}

/* Runs on a GPU with this much memory. */
static void run_with_memory(spec_child *c, const char *command, long bytes)
{
    char memory[32];
    assert_true(bytes < 1L << 30);
    snprintf(memory, sizeof memory, "%ld", bytes);
    setenv("SIM_MEMORY", memory, 1);
    spec_child_run(c, command);
    unsetenv("SIM_MEMORY");
}

/* GPU memory from far too little to enough: some commands fail before the target's weights are
 * loaded, others before the draft's. */
TEST(a_card_without_room_says_what_was_needed)
{
    needs_the_simulator();
    static const char command[] = "generate " TARGET " " DRAFT " -n 3 --device gpu --temperature 0";
    int target = 0, draft = 0;
    bool good = false;
    for (long bytes = 1 << 20; !good; bytes += bytes / 3) {
        spec_child c = {0};
        run_with_memory(&c, command, bytes);
        good = c.code == 0;
        if (!good) {
            spec_child_says(&c, command, 2, "speclab generate: ");
            assert_int_equal(c.n, 0);
            assert_non_null(strstr(c.line, "GPU 0 (simulated card) has "));
            const bool of_draft = strstr(c.line, ", those of the target ") != NULL;
            assert_non_null(strstr(c.line, " are needed: weights "));
            assert_non_null(strstr(c.line, of_draft ? "--draft: " : "--target: "));
            target += !of_draft;
            draft += of_draft;
        }
        spec_child_free(&c);
    }
    assert_true(target > 0 && draft > 0);
}

/* The memory budget counts all sessions of both models and their buffers. For any memory size, a
 * command is refused before it loads a model, or it completes. */
TEST(there_is_room_for_everything_or_nothing_is_loaded, SLOW)
{
    needs_the_simulator();
    static const char *const commands[] = {
        "generate " TARGET " " DRAFT " -n 3 --device gpu --ahead --baseline",
        "generate " TARGET " --draft layers?exit=1 -n 3 --device gpu --baseline",
        "generate " TARGET " --draft perturb?of=target -n 3 --device gpu",
        "bench " TARGET " " DRAFT " --device gpu --K 0:3 --texts 2 --tokens 4 --context 4",
        "bench " TARGET
        " --draft layers?exit=1 --device gpu --K 2,3 --texts 2 --tokens 4 --context 4 --ahead",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        bool good = false;
        for (long bytes = 4 << 20; !good; bytes += bytes / 12) {
            spec_child c = {0};
            run_with_memory(&c, commands[i], bytes);
            good = c.code == 0;
            if (!good &&
                (strstr(c.line, ": --") == NULL || strstr(c.line, " are needed: ") == NULL))
                fail_msg("%s with %ld bytes: %s", commands[i], bytes, c.line);
            spec_child_free(&c);
        }
    }
}

static void fault(const char *command, const char *begin)
{
    spec_child c = {0};
    int faults = 0;
    char at[16];
    for (int n = 1;; n += 3 + 2 * n) {
        snprintf(at, sizeof at, "%d", n);
        setenv("SIM_FAULT_AT", at, 1);
        spec_child_run(&c, command);
        unsetenv("SIM_FAULT_AT");
        const int code = c.code;
        if (code != 0) spec_child_says(&c, command, 2, begin);
        spec_child_free(&c);
        if (code == 0) break; /* the command has fewer launches */
        faults++;
    }
    assert_true(faults >= 3);
}

TEST(a_fault_in_the_middle_of_whatever_pass_ends_it_with_one_line, SLOW)
{
    needs_the_simulator();
    static const char line[] =
        "speclab generate: GPU 0 failed in a pass: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory "
        "access was encountered)";
    fault("generate " TARGET " -p 1 -n 3 --plain --device gpu", line);
    fault("generate " TARGET " " DRAFT " -n 4 --device gpu --baseline --temperature 0", line);
    fault("generate " TARGET " --draft layers?exit=1 -n 4 --device gpu", line);
    fault("generate " TARGET " " DRAFT " -n 4 --device gpu --ahead", line);
    fault("generate " TARGET " " DRAFT " -n 4 --device gpu --verify device", line);
    setenv("SPECLAB_GPU_RECORD", "0", 1);
    fault("generate " TARGET " -n 4 --device gpu --temperature 0.7", line);
    unsetenv("SPECLAB_GPU_RECORD");
    fails_with("SIM_FAULT_AT", "40", "rows " TARGET " --device gpu -n 9 -o a.rows",
               "speclab rows: GPU 0 failed in a pass");
    fails_with("SIM_FAULT_AT", "99",
               "bench " TARGET " --device gpu --K 2 --texts 2 --tokens 8 --context 4",
               "speclab bench: GPU 0 failed in a pass");
}

SUITE(SIMULATOR, .setup = spec_program_set_up, .teardown = spec_program_tear_down);
