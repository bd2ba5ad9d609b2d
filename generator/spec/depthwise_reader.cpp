#include "spec/depthwise_reader.h"

#include <fmt/format.h>

#include "model/depthwise.h"
#include "spec/entry_values.h"
#include "spec/kernel_reader.h"

namespace tw {
namespace {

constexpr int64_t most_taps = 11;  ///< in a line of a window, and lines of it
constexpr int64_t most_stride = 4;

/// "3x5": lines by columns.
Window read_taps(const YamlNode& node) {
  const std::string& text = node.text();
  const size_t middle = text.find('x');
  const auto side = [&](const std::string& digits) {
    const bool is_number = !digits.empty() && digits.size() <= 2 &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    const int value = is_number ? std::stoi(digits) : 0;
    if (value >= 1 && value <= most_taps) return value;
    node.fail(fmt::format("taps '{}' are not possible: lines x columns are, from 1x1 to {}x{}",
                          text, most_taps, most_taps));
  };
  const bool is_pair = middle != std::string::npos;
  return {side(text.substr(0, middle)), side(is_pair ? text.substr(middle + 1) : ""), 1};
}

int read_stride(const YamlNode& node) {
  const int64_t stride = node.positive();
  if (stride <= most_stride) return static_cast<int>(stride);
  node.fail(fmt::format("stride {} is not possible: 1 to {} are", stride, most_stride));
}

std::vector<Window> read_windows(const YamlNode& entry) {
  std::vector<Window> windows;
  for (const YamlNode* taps : alternatives(entry.at("taps"))) {
    for (const YamlNode* stride : alternatives(entry.at("stride"))) {
      windows.push_back(read_taps(*taps));
      windows.back().stride = read_stride(*stride);
    }
  }
  return windows;
}

}  // namespace

void read_depthwise_kernel(const YamlNode& entry, const Family& family, IsaLibrary& isas,
                           std::vector<Variant>& variants) {
  entry.expect_keys({"isa", "layout", "taps", "stride", "tile", "print", "spills"});
  const std::vector<Window> windows = read_windows(entry);
  const std::vector<Tile> tiles = read_tiles(entry.at("tile"));
  const YamlNode* const layout = entry.find("layout");
  const LayoutStyle style = layout == nullptr ? LayoutStyle::own : read_layout(*layout);
  for (const YamlNode* isa_node : alternatives(entry.at("isa"))) {
    const Isa& isa = isas.get(isa_node->text(), isa_node->where());
    const LayoutPair layouts =
        isa_node->checked([&] { return depthwise_layouts(family, isa, style); });
    for (const Window& window : windows) {
      for (const Tile& tile : tiles) {
        Variant variant;
        variant.family = family;
        variant.window = window;
        variant.style = style;
        variant.lhs = layouts.lhs;
        variant.rhs = layouts.rhs;
        variant.tile = tile;
        variant.technique = Technique::fma;
        read_common(entry, isa, variant);
        variants.push_back(variant);
      }
    }
  }
}

}  // namespace tw
