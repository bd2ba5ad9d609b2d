// Random depthwise variants of every ISA, interpreted after every stage, against the reference.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <utility>

#include "interpreter/random_variant.h"
#include "ir/interpreter.h"
#include "model/depthwise.h"
#include "pipeline/pipeline.h"
#include "reference/depthwise_reference.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"
#include "support/environment.h"

namespace tw::test::depthwise_test {
namespace {

const std::filesystem::path templates = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";

struct Ground {
  std::string isa;
  std::string format;  ///< of pixels
  LayoutStyle style = LayoutStyle::own;
};

void PrintTo(const Ground& ground, std::ostream* out) {
  *out << ground.isa << ' ' << ground.format << ' ' << name(ground.style);
}

Family family_of(const std::string& format) {
  Family family;
  family.operation = Operation::depthwise;
  family.lhs = find_format(format);
  family.rhs = find_format(format == "qai8" ? "qsi8cx" : format);
  family.dst = family.lhs->element;
  family.name = family_name(family);
  return family;
}

std::optional<LayoutPair> layouts_of(const Family& family, const Isa& isa, LayoutStyle style) {
  try {
    return depthwise_layouts(family, isa, style);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

/// Of sanitizers, which look at C++ that all ISAs share, each format and style on every fourth ISA.
std::vector<Ground> grounds() {
  IsaLibrary isas(templates);
  std::vector<Ground> all;
  std::map<std::pair<std::string, LayoutStyle>, int> seen;
  for (const LayoutStyle style : {LayoutStyle::own, LayoutStyle::kleidiai}) {
    for (const std::string& name : isas.known()) {
      for (const char* format : {"f32", "f16", "qai8"}) {
        const Isa& isa = isas.get(name);
        const bool fits = isa.has(OpCode::fma) && layouts_of(family_of(format), isa, style);
        // What a table of tiles extends is a table of its own.
        if (!fits || isa.usual_technique == Technique::tile) continue;
        const bool taken = !is_sanitized || is_long() || seen[{format, style}]++ % 4 == 0;
        if (taken) all.push_back({name, format, style});
      }
    }
  }
  return all;
}

Variant random_depthwise(const Family& family, const Isa& isa, LayoutStyle style, Random& random) {
  Variant v;
  v.family = family;
  v.style = style;
  const LayoutPair layouts = *layouts_of(family, isa, style);
  v.lhs = layouts.lhs;
  v.rhs = layouts.rhs;
  v.isa = &isa;
  v.technique = Technique::fma;
  v.print_assembly = isa.can_print_assembly;
  if (makes_lines(v)) {
    const int64_t most_columns = family.dst == ElementType::f16 ? 3 : 5;
    v.window = {static_cast<int>(random.between(1, 3)),
                static_cast<int>(random.between(2, most_columns)), 1};
    if (v.window.height * v.window.width > 14) v.window.height = 2;
    v.tile = {depthwise_lines, v.rhs.panel};
    return v;
  }
  v.window = {static_cast<int>(random.between(1, 5)), static_cast<int>(random.between(1, 5)),
              static_cast<int>(random.between(1, 3))};
  // Of halves a panel may be two vectors.
  const bool wide = v.rhs.panel != isa.vector_bytes.divided(4);
  v.tile = {random.between(1, wide ? 4 : 6), v.rhs.panel * random.between(1, wide ? 1 : 2)};
  return v;
}

Depthwise random_shape(const Variant& v, VectorLength vl, Random& random) {
  Depthwise in;
  const auto side = [&](int64_t from, int64_t to) {
    return static_cast<size_t>(random.between(from, to));
  };
  in.taps_y = static_cast<size_t>(v.window.height);
  in.taps_x = static_cast<size_t>(v.window.width);
  in.stride = static_cast<size_t>(v.window.stride);
  in.top = side(0, 2);
  in.bottom = side(0, 2);
  in.left = side(0, 2);
  in.right = side(0, 2);
  in.height = in.taps_y + side(0, makes_lines(v) ? 6 : 2);
  in.width = in.taps_x + side(0, 3 * v.tile.m.fixed * v.window.stride);
  in.channels = side(1, 2 * v.tile.n.at(vl) + 1);
  in.type = v.family.dst == ElementType::i8 ? "i8" : std::string(name(v.family.dst));
  in.by_column = makes_lines(v);
  in.fused = v.isa->can_print_assembly;
  fill_depthwise(in, static_cast<uint32_t>(random.between(1, 1 << 20)));
  if (random.between(0, 1) == 0) {
    in.min = in.codes() ? -20 : -1.5F;
    in.max = in.codes() ? 60 : 2.5F;
  }
  return in;
}

std::vector<uint8_t> bytes_of(const std::vector<uint64_t>& pointers) {
  std::vector<uint8_t> bytes(pointers.size() * 8);
  std::memcpy(bytes.data(), pointers.data(), bytes.size());
  return bytes;
}

/// What is wrong with a line of outputs that is there.
std::string check_line(const Memory& memory, uint64_t dst, const Depthwise& in, size_t line,
                       size_t stride) {
  const size_t bytes = in.channels * in.value_bytes();
  const std::vector<uint8_t>& found = memory.bytes(dst);
  const std::vector<bool>& written = memory.written(dst);
  const std::vector<uint8_t> right = depthwise_outputs(in);
  for (size_t i = 0; i < found.size(); ++i) {
    const bool ours = i % stride < bytes;
    if (written[i] != ours)
      return "byte " + std::to_string(i) + (ours ? " is not" : " is") + " written";
    if (ours && found[i] != right[(line * in.columns() + i / stride) * bytes + i % stride]) {
      return "pixel " + std::to_string(i / stride) + " is wrong in byte " +
             std::to_string(i % stride);
    }
  }
  return "";
}

/// Lines of outputs that a call makes. Those in front of the first one do not exist.
struct Lines {
  int64_t first = 0, count = 1;
};

/// Each pixel lies by itself, so that a read beyond its channels is a fault.
std::string run_lines(const Program& program, const Depthwise& in, Lines lines,
                      const DepthwisePanels& panels, VectorLength vl, bool physical) {
  Memory memory;
  Arguments arguments;
  const auto set = [&](ArgField field, uint64_t value) {
    arguments.field[static_cast<size_t>(field)] = value;
  };
  const size_t bytes = in.channels * in.value_bytes();
  const size_t padded_width = in.left + in.width + in.right;
  const std::vector<float> nothing(in.channels, static_cast<float>(in.lhs_zero_point));
  const uint64_t pad = memory.add("pad", bytes_of_values(in.type, nothing), false);
  const auto pixel_lines =
      static_cast<size_t>(lines.count - 1) * in.stride + in.taps_y;  // one below the other
  const bool one = lines.count == 1;
  // [line][column], or of several lines [column][line].
  std::vector<uint64_t> table(pixel_lines * padded_width);
  for (size_t line = 0; line < pixel_lines; ++line) {
    const size_t y = static_cast<size_t>(lines.first) * in.stride + line;  // far off before 0
    for (size_t x = 0; x < padded_width; ++x) {
      const bool inside =
          y >= in.top && y < in.top + in.height && x >= in.left && x < in.left + in.width;
      std::vector<float> pixel;
      for (size_t c = 0; c < in.channels; ++c) pixel.push_back(padded_value(in, y, x, c));
      table[one ? line * padded_width + x : x * pixel_lines + line] =
          inside ? memory.add("pixel", bytes_of_values(in.type, pixel), false, 4) : pad;
    }
  }
  const std::vector<uint8_t> rhs = packed_depthwise(in, panels);
  const size_t stride = bytes + 4;
  std::vector<uint64_t> outs;
  for (int64_t line = lines.first; line < lines.first + lines.count; ++line) {
    if (line <= 0 && !outs.empty()) {
      outs.push_back(outs.back());
      continue;
    }
    outs.push_back(memory.add_unwritten("dst", (in.columns() - 1) * stride + bytes, 4));
  }
  set(ArgField::m, in.columns());
  set(ArgField::n, in.channels);
  set(ArgField::k, in.taps());
  set(ArgField::lhs, memory.add("table", bytes_of(table), false));
  set(ArgField::lhs_stride, padded_width * 8);
  set(ArgField::rhs, memory.add("weights", rhs, false, 4));
  set(ArgField::rhs_stride, rhs.size() / ((in.channels + panels.channels - 1) / panels.channels));
  set(ArgField::dst, one ? outs.front() : memory.add("outs", bytes_of(outs), false));
  set(ArgField::dst_stride, stride);
  set(ArgField::dst_zero_point, static_cast<uint32_t>(in.dst_zero_point));
  arguments.min = in.min;
  arguments.max = in.max;
  try {
    run(program, arguments, memory, {.vl = vl, .physical = physical});
  } catch (const Fault& fault) {
    return std::string("fault: ") + fault.what();
  }
  for (size_t i = 0; i < outs.size(); ++i) {
    const int64_t line = std::max<int64_t>(lines.first + static_cast<int64_t>(i), 0);
    const std::string wrong = check_line(memory, outs[i], in, static_cast<size_t>(line), stride);
    if (!wrong.empty()) return "line " + std::to_string(line) + ": " + wrong;
  }
  return "";
}

class DepthwiseInterpreter : public testing::TestWithParam<Ground> {};

TEST_P(DepthwiseInterpreter, AgreesWithTheReference) {
  constexpr int rounds = is_sanitized ? 5 : 25;
  IsaLibrary isas(templates);
  const Isa& isa = isas.get(GetParam().isa);
  const CoreModel core = read_core(templates, isa.default_core);
  const Family family = family_of(GetParam().format);
  Random random(20260711);
  int runs = 0;
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    const Variant variant = random_depthwise(family, isa, GetParam().style, random);
    std::optional<Compiled> compiled;
    try {
      compiled = compile(variant, core);
    } catch (const SpecError&) {
      ++refused;
      continue;
    }
    VectorLength vl;
    if (variant.tile.n.vl != 0) vl.vl = random.of<int64_t>({1, 2, 4, 8, 16});
    if (variant.tile.n.svl != 0) vl.svl = random.of<int64_t>({1, 1, 2, 4, 8});
    const Depthwise in = random_shape(variant, vl, random);
    Lines lines;
    if (makes_lines(variant)) lines.count = depthwise_lines;
    lines.first = random.between(1, static_cast<int64_t>(in.lines())) - lines.count;
    const DepthwisePanels panels{static_cast<size_t>(variant.rhs.panel.at(vl)),
                                 variant.style == LayoutStyle::kleidiai};
    const auto check = [&](const char* stage, const Program& program, bool physical) {
      ++runs;
      ASSERT_EQ(run_lines(program, in, lines, panels, vl, physical), "")
          << stage << ": " << variant.name() << ", " << in.channels << " channels, " << in.columns()
          << " outputs, lines from " << lines.first;
    };
    check("lowered", compiled->lowered, false);
    check("ordered", compiled->ordered, false);
    if (compiled->pipelined) check("pipelined", *compiled->pipelined, false);
    if (compiled->allocated) check("allocated", *compiled->allocated, true);
    if (HasFatalFailure()) return;
  }
  std::printf("%s: %d runs, %d of %d variants refused\n", isa.name.c_str(), runs, refused, rounds);
  // A few rounds may draw tiles that are mostly too large, of 16 registers.
  EXPECT_LT(4 * refused, (is_sanitized ? 4 : 3) * rounds);
}

/// What kernels of lines do not do, they refuse.
TEST(DepthwiseLines, AreOfOneShape) {
  IsaLibrary isas(templates);
  const Isa& isa = isas.get("sme2");
  const CoreModel core = read_core(templates, isa.default_core);
  const auto refused = [&](const char* format, Window window, Tile tile) {
    const Family family = family_of(format);
    Random random(1);
    Variant v = random_depthwise(family, isa, LayoutStyle::kleidiai, random);
    v.window = window;
    v.tile = tile;
    try {
      compile(v, core);
    } catch (const SpecError& error) {
      return std::string(error.what()).find("does not fit depthwise") != std::string::npos;
    }
    return false;
  };
  const Length n = {0, 0, 4};
  EXPECT_FALSE(refused("f32", {3, 3, 1}, {4, n}));
  EXPECT_FALSE(refused("f16", {3, 3, 1}, {4, n * 2}));
  EXPECT_TRUE(refused("f32", {3, 3, 2}, {4, n}));
  EXPECT_TRUE(refused("f32", {3, 3, 1}, {8, n}));
  EXPECT_TRUE(refused("f32", {3, 3, 1}, {4, n * 2}));
  EXPECT_TRUE(refused("f32", {3, 1, 1}, {4, n}));
  EXPECT_TRUE(refused("f32", {3, 5, 1}, {4, n}));
  EXPECT_TRUE(refused("f16", {3, 4, 1}, {4, n * 2}));
}

INSTANTIATE_TEST_SUITE_P(, DepthwiseInterpreter, testing::ValuesIn(grounds()),
                         [](const auto& ground) {
                           const bool own = ground.param.style == LayoutStyle::own;
                           return ground.param.isa + "_" + ground.param.format +
                                  (own ? "" : "_kleidiai");
                         });

}  // namespace
}  // namespace tw::test::depthwise_test
