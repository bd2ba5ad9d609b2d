#include "spec/gguf_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tw {
namespace {

constexpr GgufType types[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},       {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 0, 0},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 0, 0},     {16, "IQ2_XXS", 0, 0},
    {17, "IQ2_XS", 0, 0},     {18, "IQ3_XXS", 0, 0},  {19, "IQ1_S", 0, 0},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 0, 0},    {22, "IQ2_S", 0, 0},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 0, 0},       {25, "I16", 0, 0},
    {26, "I32", 0, 0},        {27, "I64", 0, 0},      {28, "F64", 0, 0},
    {29, "IQ1_M", 0, 0},      {30, "BF16", 1, 2},     {34, "TQ1_0", 0, 0},
    {35, "TQ2_0", 0, 0},      {39, "MXFP4", 32, 17},
};

}  // namespace

const GgufType* find_gguf_type(uint32_t number) {
  const auto* found = std::find_if(std::begin(types), std::end(types),
                                   [&](const GgufType& type) { return type.number == number; });
  return found != std::end(types) ? found : nullptr;
}

std::string gguf_type_name(uint32_t number) {
  const GgufType* found = find_gguf_type(number);
  return found != nullptr ? std::string(found->name) : fmt::format("type {}", number);
}

}  // namespace tw
