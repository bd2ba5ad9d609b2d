// Runs each row of one instruction table by itself and compares with what the interpreter makes of
// its `means:`. The functions and the table come from write_rows; the cases are in a file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

#include "kernels/rows.h"
#include "reference/half_reference.h"
#include "rows/case_file.h"
#include "rows/row_table.h"
#include "support/amx_emulator.h"
#include "support/call_checked.h"
#include "support/guarded_buffer.h"

namespace tw::test {
namespace {

/// Buffers are kept: thousands of calls share a few sizes.
GuardedBuffer& buffer(const char* name, size_t bytes, Flush flush, size_t misalign) {
  static std::map<std::tuple<std::string, size_t, Flush, size_t>, std::unique_ptr<GuardedBuffer>>
      all;
  auto& found = all[{name, bytes, flush, misalign}];
  if (!found) found = std::make_unique<GuardedBuffer>(name, bytes, flush, misalign);
  return *found;
}

std::string hex(const uint8_t* bytes, size_t count) {
  std::string text;
  char digits[4];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof digits, "%s%02x", i % 4 == 0 && i > 0 ? " " : "", bytes[i]);
    text += digits;
  }
  return text;
}

bool is_nan(const uint8_t* lane, size_t size) {
  uint32_t bits = 0;
  std::memcpy(&bits, lane, size);
  return std::isnan(value_of_bits(size == 2 ? "f16" : "f32", bits));
}

/// Makes results that may differ from the expected ones the same: NaNs, and addresses.
void settle(const RowGroup& group, const uint8_t* wanted, uint64_t memory,
            std::vector<uint8_t>& found) {
  for (const SpecialOutput& output : group.special) {
    if (output.offset >= found.size()) continue;
    uint8_t* at = found.data() + output.offset;
    const size_t size = output.float_bytes;
    if (size == 0) {
      uint64_t address = 0;
      std::memcpy(&address, at, sizeof address);
      address -= memory;
      std::memcpy(at, &address, sizeof address);
      continue;
    }
    for (size_t lane = 0; lane + size <= output.bytes; lane += size) {
      const uint8_t* other = wanted + output.offset + lane;
      if (is_nan(at + lane, size) && is_nan(other, size)) std::memcpy(at + lane, other, size);
    }
  }
}

class Caller {
 public:
  Caller(const tw_row_function& function, const RowGroup& group)
      : function_(function), group_(group) {}

  /// Empty, or what is wrong.
  std::string call(const RowCase& one, size_t turn) {
    const Flush flush = turn % 2 == 0 ? Flush::end : Flush::start;
    const size_t misalign = group_.aligned != 0 || turn % 3 != 2 ? 0 : 1 + turn % 13;
    const size_t result_bytes = function_.keeps != 0 ? one.outputs.size() : group_.result_bytes;
    GuardedBuffer& results = buffer("results", result_bytes, Flush::end, 0);
    GuardedBuffer& operands = buffer("operands", one.inputs.size(), Flush::end, 0);
    GuardedBuffer& memory = buffer("memory", one.before.size(), flush, misalign);
    results.fill(row_poison);
    copy(one.inputs, operands);
    copy(one.before, memory);

    tw_args args{};
    args.size = sizeof args;
    args.lhs = operands.data();
    uint8_t* pointer = memory.data() + one.pointer;
    args.rhs = pointer;
    args.dst = group_.access == Access::writes ? pointer : results.data();
    args.dst_stride =
        reinterpret_cast<uintptr_t>(results.data()) - reinterpret_cast<uintptr_t>(args.dst);
    const CallReport report = call_checked(reinterpret_cast<Function>(function_.run), &args);
    return judge(report, one, results, operands, memory);
  }

 private:
  static void copy(const std::vector<uint8_t>& bytes, const GuardedBuffer& to) {
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
  }

  std::string judge(const CallReport& report, const RowCase& one, const GuardedBuffer& results,
                    const GuardedBuffer& operands, const GuardedBuffer& memory) const {
    if (report.signal != 0) {
      std::string place = memory.describe(report.address);
      if (place.empty()) place = results.describe(report.address);
      return "signal " + std::to_string(report.signal) +
             (place.empty() ? " somewhere" : ", it touched memory " + place);
    }
    const uint64_t allowed = function_.is_assembly != 0 ? 0 : compilers_choice();
    if ((report.clobbered & ~allowed) != 0) {
      return "it clobbered " + register_names(report.clobbered & ~allowed);
    }
    for (const GuardedBuffer* each : {&results, &operands, &memory}) {
      if (std::string damage = each->slack_damage(); !damage.empty()) return damage;
    }
    std::vector<uint8_t> found(results.data(), results.data() + results.size());
    settle(group_, one.outputs.data(), reinterpret_cast<uintptr_t>(memory.data()), found);
    std::string wrong = difference("results", found, one.outputs);
    if (!wrong.empty()) return wrong;
    return difference("memory", {memory.data(), memory.data() + memory.size()}, one.after);
  }

  static std::string difference(const char* what, const std::vector<uint8_t>& found,
                                const std::vector<uint8_t>& wanted) {
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i] == wanted[i]) continue;
      const size_t at = i / 16 * 16;
      const size_t count = std::min<size_t>(16, found.size() - at);
      return std::string(what) + " at byte " + std::to_string(at) + ": " +
             hex(found.data() + at, count) + ", means: says " + hex(wanted.data() + at, count);
    }
    return {};
  }

  const tw_row_function& function_;
  const RowGroup& group_;
};

/// What there is to say, in a file, too, because test drivers show no output of what passes.
void say(const std::string& text, const char* path) {
  FILE* const file = std::fopen(path, "w");
  if (file == nullptr) throw std::runtime_error(std::string(path) + " cannot be written");
  std::fprintf(file, "%s\n", text.c_str());
  std::fclose(file);
  std::printf("%s\n", text.c_str());
}

/// Number of wrong functions.
int run_all(const std::vector<RowGroup>& groups, const char* summary) {
  int wrong = 0;
  size_t calls = 0;
  std::map<size_t, size_t> cases_of_row;
  std::set<size_t> counted;
  for (size_t i = 0; i < tw_row_function_count; ++i) {
    const tw_row_function& function = tw_row_functions[i];
    const RowGroup& group = groups.at(function.group);
    if (counted.insert(function.group).second) cases_of_row[function.row] += group.cases.size();
    Caller caller(function, group);
    for (size_t turn = 0; turn < group.cases.size(); ++turn, ++calls) {
      const std::string text = caller.call(group.cases[turn], turn);
      if (text.empty()) continue;
      std::printf("%s: %s, %s, case %zu: %s\n", group.name.c_str(),
                  function.is_assembly != 0 ? "assembly" : "C", function.operands, turn,
                  text.c_str());
      ++wrong;
      break;
    }
  }
  size_t fewest = cases_of_row.empty() ? 0 : SIZE_MAX;  // none: other tables have all
  size_t most = 0;
  for (const auto& [row, cases] : cases_of_row) {
    fewest = std::min(fewest, cases);
    most = std::max(most, cases);
  }
  std::ostringstream text;
  text << tw_row_isa << ": " << tw_row_summary << "; " << tw_row_function_count << " functions, "
       << fewest << " to " << most << " cases a row, " << calls << " calls, " << wrong << " wrong";
  const bool has_tiles = (tw_row_features & TW_FEATURE_AMX_TILE) != 0;
  if (has_tiles && tiles_here() == Tiles::emulated) text << "; tiles emulated";
  say(text.str(), summary);
  return wrong;
}

}  // namespace
}  // namespace tw::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: rows_test CASES SUMMARY\n", stderr);
    return 2;
  }
  try {
    if (!tw::test::should_run(tw_row_isa, tw_row_features)) {
      tw::test::say(std::string(tw_row_isa) + ": not run, this CPU lacks a feature", argv[2]);
      return 77;
    }
    return tw::test::run_all(tw::test::read_groups(argv[1]), argv[2]) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
