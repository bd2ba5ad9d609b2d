#include "pack/case.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <sstream>

#include "kernels/rows.h"
#include "pack/source.h"
#include "support/call_checked.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace tw::test {
namespace {

void fill(const GuardedBuffer& buffer, const void* bytes) {
  if (buffer.size() != 0) std::memcpy(buffer.data(), bytes, buffer.size());
}

std::vector<size_t> slice_ends(const PackCase& c, size_t panel) {
  std::vector<size_t> ends;
  for (const size_t cut : c.cuts)
    ends.push_back(std::min((cut + panel - 1) / panel * panel, c.rows));
  ends.push_back(c.rows);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

std::string first_difference(const uint8_t* found, const std::vector<uint8_t>& wanted,
                             size_t panel_bytes) {
  if (std::memcmp(found, wanted.data(), wanted.size()) == 0) return "";
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    std::ostringstream out;
    out << "panel " << i / panel_bytes << ", byte " << i % panel_bytes << " of " << panel_bytes
        << ": " << int{found[i]} << " instead of " << int{wanted[i]};
    return out.str();
  }
  return "";
}

/// Whether other panels changed than those of the slice: others may be packed at the same time.
bool wrote_elsewhere(const GuardedBuffer& packed, const std::vector<uint8_t>& before,
                     const tw_pack_args& args, size_t panel) {
  const size_t begin = args.row_begin / panel * args.packed_stride;
  const size_t end = (args.row_end + panel - 1) / panel * args.packed_stride;
  const size_t stop = std::min(end, before.size());
  return std::memcmp(packed.data(), before.data(), begin) != 0 ||
         std::memcmp(packed.data() + stop, before.data() + stop, before.size() - stop) != 0;
}

std::string call(const tw_packer& packer, const tw_pack_args& args,
                 const std::vector<const GuardedBuffer*>& buffers) {
  const CallReport report = call_checked(reinterpret_cast<Function>(packer.run), &args);
  std::string problem;
  for (const GuardedBuffer* buffer : buffers) {
    if (report.signal != 0) problem += buffer->describe(report.address);
    problem += buffer->slack_damage();
  }
  if (report.signal != 0) return "signal " + std::to_string(report.signal) + " " + problem;
  // Packers are C, so a compiler made them.
  const uint64_t clobbered = report.clobbered & ~compilers_choice();
  if (clobbered != 0) problem += " clobbered " + register_names(clobbered);
  return problem;
}

}  // namespace

std::string to_string(const PackCase& c) {
  std::ostringstream out;
  out << "rows " << c.rows << ", k " << c.k << ", extra stride " << c.extra_stride << ", misalign "
      << c.misalign << (c.unsigned_nibbles ? ", unsigned" : ", signed")
      << (c.with_bias ? "" : ", no bias") << (c.source_at_start ? ", source at start" : "")
      << ", seed " << c.seed << ", cuts";
  for (const size_t cut : c.cuts) out << ' ' << cut;
  return out.str();
}

std::string check_packer(const tw_packer& packer, const PackCase& c) {
  std::mt19937 random(c.seed);
  const LayoutText& layout = read_layout(packer.layout->text, vector_bytes(*packer.layout) / 16);
  Source source;
  OperandCodes codes = make_source(packer, c, layout, random, source);
  const StaticMatmul numbers = static_numbers(c, source, codes);
  if (is_static(layout)) fold(numbers, codes);
  const std::vector<uint8_t> wanted = pack(layout, codes);
  const size_t panels = (c.rows + layout.panel - 1) / layout.panel;

  const Flush flush = c.source_at_start ? Flush::start : Flush::end;
  GuardedBuffer from("source", source.bytes.size(), flush, c.misalign);
  fill(from, source.bytes.data());
  GuardedBuffer packed("packed", wanted.size(), Flush::end, c.misalign);
  packed.fill(0xa5);
  const GuardedBuffer scales("scales", source.scales.size(), Flush::end);
  const std::vector<uint8_t> biases = bytes_of_floats(bias_type(layout), source.bias);
  const GuardedBuffer bias("bias", biases.size(), Flush::end);
  const GuardedBuffer zeros("zero points", source.zeros.size(), Flush::end);
  fill(scales, source.scales.data());
  fill(bias, biases.data());
  fill(zeros, source.zeros.data());

  tw_pack_args args;
  std::memset(&args, 0, sizeof args);
  args.size = sizeof args;
  tw_pack_into(&args, packer.layout);
  args.rows = c.rows;
  args.k = c.k;
  args.source = from.data();
  args.source_stride = source.stride;
  args.lhs_zero_point = numbers.lhs_zero_point;
  args.lhs_scale = numbers.lhs_scale;
  if (!is_lhs(packer)) {
    if (!source.scales.empty()) args.scales = scales.data();
    args.scale_stride = source.scale_stride;
    if (c.with_bias) args.bias = bias.data();
    if (!source.zeros.empty()) args.zero_points = zeros.data();
    args.dst_scale = numbers.dst_scale;
    args.flags = layout.bits == 4 && c.unsigned_nibbles ? TW_PACK_UNSIGNED_NIBBLES : 0;
  }
  args.packed = packed.data();
  args.packed_stride = wanted.size() / panels;
  args.vector_bytes = vector_bytes(*packer.layout);
  // Slices in any order.
  std::vector<size_t> ends = slice_ends(c, layout.panel);
  std::vector<size_t> order(ends.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (const size_t i : order) {
    args.row_begin = i == 0 ? 0 : ends[i - 1];
    args.row_end = ends[i];
    const std::vector<uint8_t> before(packed.data(), packed.data() + packed.size());
    const std::string problem = call(packer, args, {&from, &packed, &scales, &bias, &zeros});
    if (!problem.empty()) return problem;
    if (wrote_elsewhere(packed, before, args, layout.panel)) {
      return "the slice from row " + std::to_string(args.row_begin) +
             " wrote into another's panels";
    }
  }
  return first_difference(packed.data(), wanted, args.packed_stride);
}

/// Whole blocks, if there are blocks.
static size_t depth_of(const tw_packer& packer, size_t k) {
  const size_t block = std::max<size_t>(1, packer.layout->block);
  return (k + block - 1) / block * block;
}

std::vector<PackCase> edge_cases(const tw_packer& packer) {
  const size_t panel = panel_rows(*packer.layout);
  std::vector<size_t> rows = {1, panel, panel + 1, 2 * panel, 3 * panel - 1};
  if (panel > 1) rows.push_back(panel - 1);
  std::set<size_t> depths;
  for (const size_t k : {1, 2, 3, 7, 8, 31, 32, 33, 64, 127, 128, 129, 256, 259}) {
    depths.insert(depth_of(packer, k));
  }
  std::vector<PackCase> cases;
  bool row_flag = false;
  for (const size_t r : rows) {
    row_flag = !row_flag;
    bool one_flag = row_flag;
    for (const size_t k : depths) {
      one_flag = !one_flag;
      for (const bool flag : {false, true}) {
        // Any two of rows, k and flag meet; all three in long runs.
        if (!is_long() && flag != one_flag) continue;
        PackCase c;
        c.rows = r;
        c.k = k;
        c.unsigned_nibbles = flag;
        c.source_at_start = flag;
        c.with_bias = cases.size() % 3 != 0;
        c.seed = static_cast<uint32_t>(r * 1000 + k);
        cases.push_back(c);
      }
    }
  }
  return cases;
}

std::vector<PackCase> random_cases(const tw_packer& packer, size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  const size_t panel = panel_rows(*packer.layout);
  auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  std::vector<PackCase> cases;
  for (size_t i = 0; i < count; ++i) {
    PackCase c;
    c.rows = 1 + below(below(2) == 0 ? 3 * panel + 1 : 300);
    c.k = 1 + below(below(2) == 0 ? 70 : 600);
    if (below(3) == 0) c.k = (c.k + 31) / 32 * 32;
    c.k = depth_of(packer, c.k);
    if (below(3) == 0) c.rows = (c.rows + panel - 1) / panel * panel;
    c.extra_stride = below(2) == 0 ? 0 : below(100);
    // Floats are aligned to their size, bytes to nothing.
    c.misalign = below(2) == 0 ? 0 : below(64);
    if (is_lhs(packer)) {
      const size_t bytes = bytes_of_float(packer.source);
      c.extra_stride = c.extra_stride / bytes * bytes;
      c.misalign = c.misalign / bytes * bytes;
      c.rows = 1 + below(4 * panel + 1);
    }
    c.unsigned_nibbles = below(2) == 0;
    c.with_bias = below(4) != 0;
    c.source_at_start = below(3) == 0;
    for (size_t cut = below(4); cut > 0; --cut) c.cuts.push_back(below(c.rows));
    c.seed = static_cast<uint32_t>(random());
    cases.push_back(c);
  }
  return cases;
}

}  // namespace tw::test
