/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hardware.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
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
                 {"MI300X", 1307.4e12, 5.3e12, 192e9},
                 {"MI355X", 2516.6e12, 8e12, 288e9},
                 {"RTX 3090", 71e12, 9.36e11, 24e9},
                 {"RTX 5090", 209.5e12, 1.792e12, 32e9},
                 {"DGX Spark", 125e12, 2.73e11, 128e9},
                 {"M2 Ultra", 27.2e12, 8e11, 192e9}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const spec_hardware *found = spec_hardware_find(known[i].name);
        assert_non_null(found);
        assert_string_equal(found->name, known[i].name);
        assert_same(found->flops, known[i].flops);
        assert_same(found->bandwidth, known[i].bandwidth);
        assert_same(found->memory, known[i].memory);
    }
}

/* Two names of cards that differ only in case and blanks would hide each other. */
TEST(each_machine_is_found_by_its_name_and_has_sources)
{
    for (const spec_hardware *card = spec_hardware_known; card->name != NULL; card++) {
        assert_ptr_equal(spec_hardware_find(card->name), card);
        assert_true(strlen(card->source) > 20);
        assert_true(card->flops > 1e12 && card->bandwidth > 1e11 && card->memory > 5e9);
        assert_true(card->flops8 == 0.0 || card->flops8 >= card->flops);
        assert_true(card->flops4 == 0.0 || card->flops4 > card->flops8);
        assert_non_null(card->share);
    }
}

/* docs/formats.md#cards has a row for each, with the same numbers. */
TEST(the_documents_have_the_same_cards)
{
    FILE *in = fopen("docs/formats.md", "r");
    char line[4096], *docs = calloc(1, 1 << 20);
    assert_non_null(in);
    while (fgets(line, sizeof line, in) != NULL)
        if (strlen(docs) + strlen(line) < (1 << 20) - 1) strcat(docs, line);
    fclose(in);
    for (const spec_hardware *card = spec_hardware_known; card->name != NULL; card++) {
        char row[256], eight[32] = "", four[32] = "";
        if (card->flops8 > 0.0) snprintf(eight, sizeof eight, "%.4g ", card->flops8 / 1e12);
        if (card->flops4 > 0.0) snprintf(four, sizeof four, "%.5g ", card->flops4 / 1e12);
        snprintf(row, sizeof row, "\n| %s | %.4g | %s| %s| %.4g | %.4g | ", card->name,
                 card->flops / 1e12, eight, four, card->bandwidth / 1e9, card->memory / 1e9);
        if (strstr(docs, row) == NULL) fail_msg("docs/formats.md lacks: %s", row + 1);
    }
    free(docs);
}

static void assert_span(const spec_span *span, double least, double most, bool more_is_better)
{
    const double sign = more_is_better ? -1.0 : 1.0;
    assert_true(sign * span->best < sign * span->central);
    assert_true(sign * span->central < sign * span->worst);
    assert_true(fmin(span->best, span->worst) >= least && fmax(span->best, span->worst) <= most);
}

TEST(what_engines_reach_is_between_its_ends)
{
    for (const spec_hardware *card = spec_hardware_known; card->name != NULL; card++) {
        const spec_engine_share *share = card->share;
        assert_true(strlen(share->source) > 20);
        assert_span(&share->efficiency, 0.3, 1.0, true);
        assert_span(&share->compute, 0.1, 1.0, true);
        assert_span(&share->overhead, 1e-4, 2e-2, false);
        assert_span(&share->draft_overhead, 1e-5, 1e-2, false);
        assert_span(&share->round, 0.0, 1e-2, false);
    }
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

TEST(makers_families_and_sxm_may_be_left_out_or_added)
{
    static const char *const names[][2] = {
        {"4090", "RTX 4090"},       {"NVIDIA GeForce RTX 4090", "RTX 4090"},
        {"H100 SXM", "H100"},       {"nvidia-h100-sxm5", "H100"},
        {"Apple M2 Max", "M2 Max"}, {"AMD Instinct MI300X", "MI300X"},
        {"7900xtx", "RX 7900 XTX"}, {"pro6000", "RTX PRO 6000"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const spec_hardware *card = spec_hardware_find(names[i][0]);
        if (card == NULL) fail_msg("%s", names[i][0]);
        assert_string_equal(card->name, names[i][1]);
    }
    assert_null(spec_hardware_find("RTX"));
    assert_null(spec_hardware_find("H100 PCIe")); /* it is slower */
}

TEST(an_unknown_name_gets_the_near_ones)
{
    static const char *const meant[][2] = {{"M2", "; did you mean 'M2 Max' or 'M2 Ultra'?"},
                                           {"H100 PCIe", "; did you mean 'H100'?"},
                                           {"4060", "; did you mean 'RTX 4060 Ti'?"},
                                           {"H10", "; did you mean 'H100'?"},
                                           {"MI350X", "; did you mean 'MI355X'?"},
                                           {"RTX", "; 'speclab list cards' shows them"},
                                           {"R", "; 'speclab list cards' shows them"}};
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
        char text[SPEC_HARDWARE_MEANT_SIZE];
        assert_string_equal(spec_hardware_meant(text, meant[i][0]), meant[i][1]);
    }
}
