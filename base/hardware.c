/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hardware.h"

#include "base/names.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- what engines reach ---------------------------------------------------------------------- */

#define DRAFTS                                                                                     \
    "drafts: vLLM pull request 16937, EAGLE with K = 2, 4 and 7 on an H100; their range: vLLM "    \
    "issue 20780"

/* If there are measurements of two model sizes on a machine, they tell efficiency and overhead
 * apart. If there is only one size, we assume the efficiency and take what remains as overhead. */
static const spec_engine_share
    hbm = {"efficiency assumed; overhead: 8B models on an H100 at batch 1, 6.8 ms (SGLang, vLLM) "
           "to 7.5 ms (vLLM pull request 16937); compute: [LiuX25]; " DRAFTS,
           {0.9, 0.8, 0.65},
           {0.85, 0.7, 0.4},
           {0.6e-3, 1.2e-3, 2e-3},
           {0.1e-3, 0.3e-3, 0.7e-3},
           {0.4e-3, 0.9e-3, 1.3e-3}},
    a100 = {"gpt-fast's README: Llama 2 of 7B and 70B in 8 and in 4 bits; compute assumed; " DRAFTS,
            {0.7, 0.66, 0.55},
            {0.85, 0.7, 0.4},
            {0.6e-3, 1.3e-3, 2e-3},
            {0.1e-3, 0.3e-3, 0.7e-3},
            {0.4e-3, 0.9e-3, 1.3e-3}},
    gddr = {"llm-perf-bench of sh1ng: Llama 2 of 7B and 13B in 4 bits on RTX 3090 Ti and 4090, "
            "three engines; compute, and which of their efficiencies: vLLM on an RTX PRO 6000 "
            "(docs/serving_claims.md); drafts: "
            "llama.cpp on an RTX 3060 with K = 2 and 3 (KoboldCpp issue 2262), the worst ones: "
            "InventiveHQ on an RTX 5060 Ti",
            {0.93, 0.85, 0.72},
            {0.95, 0.8, 0.2},
            {0.6e-3, 1.4e-3, 2e-3},
            {0.1e-3, 0.5e-3, 5e-3},
            {0.0, 0.3e-3, 1.3e-3}},
    apple = {"llama.cpp, Llama 2 7B in 16, 8 and 4 bits on M1 Pro and M3 Pro (gist of "
             "andrewginns, 2023); the best overhead: M2 Ultra, llama.cpp pull request 16894; "
             "compute: prompts on M1 Max and M4 in 2026 (normiebench issues 40 and 3) reach "
             "0.78, M1 Pro in 2023 0.33; the default between them and drafts assumed",
             {0.97, 0.9, 0.75},
             {0.78, 0.5, 0.2},
             {0.5e-3, 3e-3, 8e-3},
             {0.3e-3, 1e-3, 4e-3},
             {0.0, 0.5e-3, 2e-3}},
    unified = {"DGX Spark: Qwen3 of 8B and 32B in 16 bits (lyb.re), Llama 3.3 70B in FP4 (NVIDIA's "
               "playbooks, issue 79); overhead, compute and drafts assumed",
               {0.93, 0.85, 0.6},
               {0.6, 0.33, 0.2},
               {0.5e-3, 3e-3, 10e-3},
               {0.2e-3, 0.7e-3, 3e-3},
               {0.0, 0.7e-3, 2e-3}};

/* ---- cards ----------------------------------------------------------------------------------- */

#define AMPERE "NVIDIA GA102 architecture white paper"
#define ADA "NVIDIA Ada architecture white paper"
#define BLACKWELL "NVIDIA RTX Blackwell architecture white paper"
#define BY_CLOCK "peaks from its cores and clock, as in the white paper's cards"
#define APPLE "Apple's newsroom: bandwidth and memory; the peak, of its shaders, is assumed"

const spec_hardware spec_hardware_known[] = {
    {"A100", "NVIDIA A100 80 GB, dense FP16; 2 TB/s is rounded (1.94 as a PCIe card, 2.04 as SXM)",
     312e12, 2.0e12, 80e9, 624e12, 0.0, &a100},
    {"H100", "NVIDIA H100 80 GB SXM, dense FP16: half of the sparse peak of the data sheet", 989e12,
     3.35e12, 80e9, 1979e12, 0.0, &hbm},
    {"H200", "NVIDIA H200 141 GB SXM, dense FP16: half of the sparse peak of the data sheet",
     989e12, 4.8e12, 141e9, 1979e12, 0.0, &hbm},
    {"B200", "NVIDIA DGX B200 data sheet, per GPU: half of the sparse FP16 peak", 2250e12, 8.0e12,
     180e9, 4500e12, 9000e12, &hbm},
    {"L4", "NVIDIA L4 data sheet: half of the sparse FP16 peak", 121e12, 300e9, 24e9, 242.5e12, 0.0,
     &gddr},
    {"L40S", "NVIDIA L40S data sheet: dense FP16", 362.05e12, 864e9, 48e9, 733e12, 0.0, &gddr},
    {"RTX 4090", ADA ": dense FP16 with FP32 accumulation", 165.2e12, 1008e9, 24e9, 330.3e12, 0.0,
     &gddr},
    {"RTX PRO 6000",
     "NVIDIA RTX Blackwell PRO white paper, Workstation Edition: dense FP16 with FP32 accumulation",
     503.8e12, 1792e9, 96e9, 1007.6e12, 2015.2e12, &gddr},
    {"MI300X", "AMD Instinct MI300X data sheet: dense FP16", 1307.4e12, 5.3e12, 192e9, 2614.9e12,
     0.0, &hbm},
    {"MI355X", "AMD Instinct MI355X data sheet: dense FP16", 2516.6e12, 8.0e12, 288e9, 5033.2e12,
     10066.3e12, &hbm},
    {"GTX 1080 Ti", "NVIDIA's specifications; no tensor cores: FP32, and INT8 at four times it",
     11.3e12, 484e9, 11e9, 45.3e12, 0.0, &gddr},
    {"RTX 3060", AMPERE "; " BY_CLOCK, 25.5e12, 360e9, 12e9, 102e12, 0.0, &gddr},
    {"RTX 3080", AMPERE ", 10 GB", 59.5e12, 760e9, 10e9, 238e12, 0.0, &gddr},
    {"RTX 3090", AMPERE, 71e12, 936e9, 24e9, 284e12, 0.0, &gddr},
    {"RTX 3090 Ti", AMPERE "; " BY_CLOCK, 80e12, 1008e9, 24e9, 320e12, 0.0, &gddr},
    {"RTX 4060 Ti", ADA ", 16 GB; " BY_CLOCK, 44.1e12, 288e9, 16e9, 88.2e12, 0.0, &gddr},
    {"RTX 4070", ADA "; " BY_CLOCK, 58.3e12, 504e9, 12e9, 116.6e12, 0.0, &gddr},
    {"RTX 4080", ADA, 97.5e12, 716.8e9, 16e9, 194.9e12, 0.0, &gddr},
    {"RTX 5060 Ti", BLACKWELL ", 16 GB; " BY_CLOCK, 47.4e12, 448e9, 16e9, 94.8e12, 379e12, &gddr},
    {"RTX 5070 Ti", BLACKWELL, 87.9e12, 896e9, 16e9, 175.8e12, 703e12, &gddr},
    {"RTX 5080", BLACKWELL, 112.6e12, 960e9, 16e9, 225.1e12, 900.4e12, &gddr},
    {"RTX 5090", BLACKWELL, 209.5e12, 1792e9, 32e9, 419e12, 1676e12, &gddr},
    {"RX 7900 XTX", "AMD's specifications: FP16 matrix products; 8-bit peak: the same as INT8",
     122.8e12, 960e9, 24e9, 122.8e12, 0.0, &gddr},
    {"DGX Spark",
     "NVIDIA DGX Spark: 1 PFLOP of sparse FP4, 273 GB/s; the other peaks are assumed to be halves",
     125e12, 273e9, 128e9, 250e12, 500e12, &unified},
    {"Strix Halo", "AMD Ryzen AI Max+ 395: LPDDR5X-8000 of 256 bits; the peak is assumed", 59.4e12,
     256e9, 128e9, 59.4e12, 0.0, &unified},
    {"M1 Pro", APPLE, 5.2e12, 200e9, 32e9, 0.0, 0.0, &apple},
    {"M1 Max", APPLE, 10.4e12, 400e9, 64e9, 0.0, 0.0, &apple},
    {"M2 Max", APPLE, 13.6e12, 400e9, 96e9, 0.0, 0.0, &apple},
    {"M2 Ultra", APPLE, 27.2e12, 800e9, 192e9, 0.0, 0.0, &apple},
    {"M3 Pro", APPLE, 7.4e12, 150e9, 36e9, 0.0, 0.0, &apple},
    {"M3 Max", APPLE ", 40 GPU cores", 14.2e12, 400e9, 128e9, 0.0, 0.0, &apple},
    {"M3 Ultra", APPLE, 28.4e12, 819e9, 512e9, 0.0, 0.0, &apple},
    {"M4", APPLE, 4.6e12, 120e9, 32e9, 0.0, 0.0, &apple},
    {"M4 Pro", APPLE, 9.2e12, 273e9, 64e9, 0.0, 0.0, &apple},
    {"M4 Max", APPLE ", 40 GPU cores", 18.4e12, 546e9, 128e9, 0.0, 0.0, &apple},
    {.name = NULL},
};

/* Words that a name may leave out or add: makers, product families, and the SXM form factor. */
static const char *const optional[] = {"NVIDIA", "GEFORCE", "AMD", "RADEON", "INSTINCT", "APPLE",
                                       "RTX",    "GTX",     "RX",  "SXM5",   "SXM4",     "SXM"};

static const char *skip(const char *text)
{
    const size_t n = sizeof optional / sizeof *optional;
    for (size_t i = 0; i < n;) {
        const size_t length = strlen(optional[i]);
        const bool is_blank = *text == ' ' || *text == '-' || *text == '_';
        const bool is_word = strncasecmp(text, optional[i], length) == 0;
        text += is_blank ? 1 : is_word ? length : 0;
        i = is_blank || is_word ? 0 : i + 1;
    }
    return text;
}

/* Returns what is left of `a` after `b`; NULL if `a` does not begin with it. */
static const char *rest_after(const char *a, const char *b)
{
    a = skip(a), b = skip(b);
    while (*b != '\0' && toupper((unsigned char)*a) == toupper((unsigned char)*b))
        a = skip(a + 1), b = skip(b + 1);
    return *b == '\0' ? a : NULL;
}

const spec_hardware *spec_hardware_find(const char *name)
{
    for (const spec_hardware *card = spec_hardware_known; card->name != NULL; card++) {
        const char *rest = rest_after(name, card->name);
        if (rest != NULL && *rest == '\0') return card;
    }
    return NULL;
}

const char *spec_hardware_meant(char buffer[SPEC_HARDWARE_MEANT_SIZE], const char *name)
{
    enum { CARDS = 64 };
    const char *names[CARDS];
    char meant[SPEC_NAMES_MEANT_SIZE];
    size_t used = 0;
    int n = 0;
    for (const spec_hardware *card = spec_hardware_known; card->name != NULL; card++) {
        assert(n + 1 < CARDS);
        names[n++] = card->name;
        const bool near = *skip(name) != '\0' && (rest_after(name, card->name) != NULL ||
                                                  rest_after(card->name, name) != NULL);
        if (near && used < SPEC_HARDWARE_MEANT_SIZE)
            used += (size_t)snprintf(buffer + used, SPEC_HARDWARE_MEANT_SIZE - used, "%s'%s'",
                                     used == 0 ? "; did you mean " : " or ", card->name);
    }
    names[n] = NULL;
    if (used == 0 || used + 1 >= SPEC_HARDWARE_MEANT_SIZE)
        snprintf(buffer, SPEC_HARDWARE_MEANT_SIZE, "%s",
                 spec_names_meant(meant, name, names, "; 'speclab list cards' shows them"));
    else
        snprintf(buffer + used, SPEC_HARDWARE_MEANT_SIZE - used, "?");
    return buffer;
}
