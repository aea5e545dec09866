/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hardware.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

const spec_hardware spec_hardware_known[] = {
    {"A100", "NVIDIA A100 80 GB, dense FP16; 2 TB/s is rounded (1.94 as a PCIe card, 2.04 as SXM)",
     312e12, 2.0e12, 80e9},
    {"H100", "NVIDIA H100 80 GB SXM, dense FP16: half of the sparse peak of the data sheet", 989e12,
     3.35e12, 80e9},
    {"H200", "NVIDIA H200 141 GB SXM, dense FP16: half of the sparse peak of the data sheet",
     989e12, 4.8e12, 141e9},
    {"B200", "NVIDIA DGX B200 data sheet, per GPU: half of the sparse FP16 peak", 2250e12, 8.0e12,
     180e9},
    {"L4", "NVIDIA L4 data sheet: half of the sparse FP16 peak", 121e12, 300e9, 24e9},
    {"L40S", "NVIDIA L40S data sheet: dense FP16", 362.05e12, 864e9, 48e9},
    {"RTX 4090", "NVIDIA Ada architecture white paper: dense FP16 with FP32 accumulation", 165.2e12,
     1008e9, 24e9},
    {"RTX PRO 6000",
     "NVIDIA RTX Blackwell PRO white paper, Workstation Edition: dense FP16 with FP32 accumulation",
     503.8e12, 1792e9, 96e9},
    {"MI300X", "AMD Instinct MI300X data sheet: dense FP16", 1307.4e12, 5.3e12, 192e9},
    {.name = NULL},
};

static const char *skip(const char *text)
{
    while (*text == ' ' || *text == '-' || *text == '_') text++;
    return text;
}

static bool is_same(const char *a, const char *b)
{
    a = skip(a), b = skip(b);
    while (*a != '\0' && toupper((unsigned char)*a) == toupper((unsigned char)*b))
        a = skip(a + 1), b = skip(b + 1);
    return *a == *b;
}

const spec_hardware *spec_hardware_find(const char *name)
{
    const spec_hardware *hardware = spec_hardware_known;
    while (hardware->name != NULL && !is_same(hardware->name, name)) hardware++;
    return hardware->name == NULL ? NULL : hardware;
}

void spec_hardware_names(const char *ret_names[SPEC_HARDWARE_MAX])
{
    int n = 0;
    for (; spec_hardware_known[n].name != NULL; n++) {
        assert(n + 1 < SPEC_HARDWARE_MAX);
        ret_names[n] = spec_hardware_known[n].name;
    }
    ret_names[n] = NULL;
}
