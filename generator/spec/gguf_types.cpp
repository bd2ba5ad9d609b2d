#include "spec/gguf_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "model/sources.h"

namespace tw {
namespace {

/// Numbers of types never change.
struct Numbered {
  uint32_t number;
  std::string_view name;
  /// What rows become that are not packed as they are, and bytes of a block of those.
  std::string_view flat = {};
  uint64_t bytes = 0;
};
constexpr Numbered numbers[] = {
    {0, "F32"},
    {1, "F16"},
    {2, "Q4_0"},
    {3, "Q4_1"},
    {6, "Q5_0"},
    {7, "Q5_1"},
    {8, "Q8_0"},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K"},
    {13, "Q5_K"},
    {14, "Q6_K"},
    {15, "Q8_K"},
    {16, "IQ2_XXS", "iq2_flat", 66},
    {17, "IQ2_XS", "iq2_flat", 74},
    {18, "IQ3_XXS", "iq3_xxs_flat", 98},
    {19, "IQ1_S", "iq1_flat", 50},
    {20, "IQ4_NL"},
    {21, "IQ3_S", "iq3_s_flat", 110},
    {22, "IQ2_S", "iq2_flat", 82},
    {23, "IQ4_XS"},
    {24, "I8"},
    {25, "I16"},
    {26, "I32"},
    {27, "I64"},
    {28, "F64"},
    {29, "IQ1_M", "iq1_flat", 56},
    {30, "BF16"},
    {34, "TQ1_0", "tq2_0", 54},
    {35, "TQ2_0"},
    {39, "MXFP4"},
    {40, "NVFP4"},
    {41, "Q1_0"},
    {42, "Q2_0"},
};

/// "q4_0" for "Q4_0".
std::string source_name_of(std::string_view type) {
  std::string name(type);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

const Source* source_of(const Numbered& type) {
  const std::string name = type.flat.empty() ? source_name_of(type.name) : std::string(type.flat);
  const auto found = std::find_if(sources().begin(), sources().end(), [&](const Source& source) {
    return source.name == name && block_of(source) != 0;
  });
  return found != sources().end() ? &*found : nullptr;
}

/// Floats are rows as they are; weights in blocks are kept as what their packer reads.
GgufType described(const Numbered& numbered) {
  GgufType type{numbered.number, numbered.name, 0, 0, "", ""};
  if (const Format* format = find_format(source_name_of(numbered.name));
      format != nullptr && is_float(*format)) {
    type.block = 1;
    type.bytes = static_cast<uint64_t>(bits(format->element)) / 8;
    type.family = fmt::format("matmul_clamp_f32_f32_{}p", format->name);
  } else if (const Source* source = source_of(numbered)) {
    type.block = static_cast<uint64_t>(block_of(*source));
    type.bytes = numbered.bytes != 0 ? numbered.bytes : static_cast<uint64_t>(block_bytes(*source));
    type.scales = name(kept_scales(*source));
    type.family = fmt::format("matmul_clamp_f32_qsi8d32p_{}p", format_of(*source).name);
  }
  return type;
}

const std::vector<GgufType>& types() {
  static const std::vector<GgufType> all = [] {
    std::vector<GgufType> list;
    for (const Numbered& numbered : numbers) list.push_back(described(numbered));
    return list;
  }();
  return all;
}

template <typename Is>
const GgufType* find_type(const Is& is) {
  const auto found = std::find_if(types().begin(), types().end(), is);
  return found != types().end() ? &*found : nullptr;
}

}  // namespace

const GgufType* find_gguf_type(uint32_t number) {
  return find_type([&](const GgufType& type) { return type.number == number; });
}

const GgufType* find_gguf_type(std::string_view name) {
  return find_type([&](const GgufType& type) { return type.name == name; });
}

std::string gguf_type_name(uint32_t number) {
  const GgufType* found = find_gguf_type(number);
  return found != nullptr ? std::string(found->name) : fmt::format("type {}", number);
}

std::vector<std::string_view> served_types() {
  std::vector<std::string_view> names;
  for (const GgufType& type : types()) {
    if (!type.family.empty()) names.push_back(type.name);
  }
  return names;
}

}  // namespace tw
