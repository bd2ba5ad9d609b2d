/* Names of AArch64 cores by MIDR_EL1, and which of them issue in order. */
#include "internal.h"

/* 0x41 is Arm, 0x51 Qualcomm, 0x61 Apple. */
static const struct {
  unsigned implementer, part;
  const char* name;
  bool in_order;
} cores[] = {
    {0x41, 0xd03, "Cortex-A53", true},      {0x41, 0xd04, "Cortex-A35", true},
    {0x41, 0xd05, "Cortex-A55", true},      {0x41, 0xd07, "Cortex-A57", false},
    {0x41, 0xd08, "Cortex-A72", false},     {0x41, 0xd09, "Cortex-A73", false},
    {0x41, 0xd0a, "Cortex-A75", false},     {0x41, 0xd0b, "Cortex-A76", false},
    {0x41, 0xd0c, "Neoverse-N1", false},    {0x41, 0xd0d, "Cortex-A77", false},
    {0x41, 0xd40, "Neoverse-V1", false},    {0x41, 0xd41, "Cortex-A78", false},
    {0x41, 0xd44, "Cortex-X1", false},      {0x41, 0xd46, "Cortex-A510", true},
    {0x41, 0xd47, "Cortex-A710", false},    {0x41, 0xd48, "Cortex-X2", false},
    {0x41, 0xd49, "Neoverse-N2", false},    {0x41, 0xd4b, "Cortex-A78C", false},
    {0x41, 0xd4d, "Cortex-A715", false},    {0x41, 0xd4e, "Cortex-X3", false},
    {0x41, 0xd4f, "Neoverse-V2", false},    {0x41, 0xd80, "Cortex-A520", true},
    {0x41, 0xd81, "Cortex-A720", false},    {0x41, 0xd82, "Cortex-X4", false},
    {0x41, 0xd84, "Neoverse-V3", false},    {0x41, 0xd85, "Cortex-X925", false},
    {0x41, 0xd87, "Cortex-A725", false},    {0x41, 0xd8a, "C1-Nano", true},
    {0x41, 0xd8b, "C1-Pro", false},         {0x41, 0xd8c, "C1-Ultra", false},
    {0x41, 0xd8e, "Neoverse-N3", false},    {0x41, 0xd8f, "Cortex-A320", true},
    {0x41, 0xd90, "C1-Premium", false},     {0x51, 0x001, "Oryon", false},
    {0x51, 0x002, "Oryon v3", false},       {0x51, 0x802, "Kryo 385 Gold", false},
    {0x51, 0x803, "Kryo 385 Silver", true}, {0x51, 0x804, "Kryo 485 Gold", false},
    {0x51, 0x805, "Kryo 485 Silver", true}, {0x61, 0x022, "Apple M1 E", false},
    {0x61, 0x023, "Apple M1 P", false},     {0x61, 0x024, "Apple M1 Pro E", false},
    {0x61, 0x025, "Apple M1 Pro P", false}, {0x61, 0x028, "Apple M1 Max E", false},
    {0x61, 0x029, "Apple M1 Max P", false}, {0x61, 0x032, "Apple M2 E", false},
    {0x61, 0x033, "Apple M2 P", false},     {0x61, 0x034, "Apple M2 Pro E", false},
    {0x61, 0x035, "Apple M2 Pro P", false}, {0x61, 0x038, "Apple M2 Max E", false},
    {0x61, 0x039, "Apple M2 Max P", false}, {0x61, 0x042, "Apple M3 E", false},
    {0x61, 0x043, "Apple M3 P", false},     {0x61, 0x052, "Apple M4 E", false},
    {0x61, 0x053, "Apple M4 P", false},
};

/* Index into the table, -1: unknown. */
static int find_core(uint64_t midr) {
  const unsigned implementer = midr >> 24 & 0xff, part = midr >> 4 & 0xfff;
  for (size_t i = 0; i < sizeof cores / sizeof cores[0]; ++i) {
    if (cores[i].implementer == implementer && cores[i].part == part) return (int)i;
  }
  return -1;
}

const char* tw_core_name(uint64_t midr) {
  const int core = find_core(midr);
  return core < 0 ? NULL : cores[core].name;
}

bool tw_core_in_order(uint64_t midr) {
  const int core = find_core(midr);
  return core >= 0 && cores[core].in_order;
}
