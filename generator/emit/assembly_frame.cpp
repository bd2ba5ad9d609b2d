#include "emit/assembly_frame.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <stdexcept>

#include "emit/register_map.h"
#include "model/row_text.h"

namespace tw {
namespace {

bool is_vector(const Isa& isa, const SavedRegister& r) {
  return isa.files[static_cast<size_t>(r.file)].kind == Kind::vector;
}

constexpr int64_t stack_alignment = 16;  // that stacks promise
constexpr int64_t page = 4096;
// Arm's instructions end at a page; Windows wants the pages of longer ones touched in order.
int64_t longest_frame(const Isa& isa) {
  return isa.rules.touch_page.empty() ? page - stack_alignment : 4 * page;
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Gathers the lines of a prologue or an epilogue: an instruction, then what describes it.
class Lines {
 public:
  Lines(const Isa& isa, const Convention& convention, const Frame& frame, const std::string& symbol)
      : isa_(isa), bias_(convention.frame_bias), frame_(frame), symbol_(symbol) {}

  void add(const std::vector<std::string>& texts, const std::string& described = {}) {
    for (const std::string& text : texts) {
      done.push_back(
          format_row_text(text, {{"symbol", [&](std::string_view) { return symbol_; }}}));
      if (!described.empty()) done.push_back(described);
    }
  }

  void touch_pages(const std::string& text) {
    for (int64_t below = page; below < frame_.bytes; below += page) {
      done.push_back(format_row_text(text, {{"bytes", number(below)}}));
    }
  }

  void add_frame(const std::string& text, int64_t to_caller) {
    if (text.empty()) return;
    done.push_back(
        format_row_text(text, {{"bytes", number(frame_.bytes)}, {"cfa", number(to_caller)}}));
  }

  void add_register(const std::string& text, const SavedRegister& r) {
    if (text.empty()) return;
    const auto name = [&](std::string_view view) {
      return register_name(isa_, r.file, r.index, view);
    };
    done.push_back(format_row_text(text, {{"r", name},
                                          {"o", number(r.offset)},
                                          {"cfa_o", number(r.offset - frame_.bytes - bias_)}}));
  }

  std::vector<std::string> done;

 private:
  static std::function<std::string(std::string_view)> number(int64_t value) {
    return [value](std::string_view) { return std::to_string(value); };
  }

  const Isa& isa_;
  int64_t bias_;
  const Frame& frame_;
  const std::string& symbol_;
};

std::string scalar_line(const std::string& text, const std::string& reg, int64_t offset) {
  return format_row_text(text, {{"r", [&](std::string_view) { return reg; }},
                                {"o", [&](std::string_view) { return std::to_string(offset); }}});
}

/// Registers that the Program's values have, and those that rows destroy beside them.
std::set<std::pair<int, int>> used_registers(const Program& program) {
  std::set<std::pair<int, int>> used;
  const std::vector<int> files = register_files(program);
  for (size_t v = 0; v < program.registers.size(); ++v) {
    if (program.registers[v] >= 0) used.insert({files[v], program.registers[v]});
  }
  const Isa& isa = *program.isa;
  for_each_op(program.body, [&](const Op& op) {
    if (op.row == nullptr) return;
    for (const std::string& clobber : op.row->clobbers) {
      const size_t colon = clobber.find(':');
      for (size_t f = 0; colon != std::string::npos && f < isa.files.size(); ++f) {
        if (isa.files[f].name != clobber.substr(0, colon)) continue;
        used.insert({static_cast<int>(f), std::stoi(clobber.substr(colon + 1))});
      }
    }
  });
  return used;
}

}  // namespace

Frame make_frame(const Program& program, const Convention& convention) {
  const Isa& isa = *program.isa;
  Frame frame;
  int64_t offset = int64_t{8} * program.frame_slots;
  if (program.scratch_bytes > 0) {
    offset = frame.scratch = round_up(offset, stack_alignment);
    offset += program.scratch_bytes;
    if (!isa.rules.align_address.empty()) offset += scratch_alignment - stack_alignment;
  }
  for (const auto& [file, index] : used_registers(program)) {
    if (!is_callee_saved(isa.files[static_cast<size_t>(file)], index, convention)) continue;
    SavedRegister r{file, index, 0};
    const int64_t bytes = is_vector(isa, r) ? convention.save_vector_bytes : 8;
    r.offset = round_up(offset, bytes);
    offset = r.offset + bytes;
    frame.saved.push_back(r);
  }
  if (offset == 0) return frame;
  frame.bytes =
      round_up(offset + convention.frame_bias, convention.frame_align) - convention.frame_bias;
  if (frame.bytes <= longest_frame(isa)) return frame;
  throw std::runtime_error(fmt::format("{}: a frame of {} bytes, {} are possible", program.name,
                                       frame.bytes, longest_frame(isa)));
}

std::vector<std::string> prologue(const Program& program, const Convention& convention,
                                  const std::string& symbol) {
  const Isa& isa = *program.isa;
  const UnwindRules& unwind = convention.unwind;
  const Frame frame = make_frame(program, convention);
  Lines lines(isa, convention, frame, symbol);
  lines.add(unwind.begin);
  lines.add(convention.entry, unwind.entry);
  lines.add(isa.rules.entry, unwind.entry);
  if (frame.bytes > 0) {
    lines.touch_pages(isa.rules.touch_page);
    lines.add_frame(isa.rules.frame_enter, 0);
    lines.add_frame(unwind.frame, frame.bytes + convention.frame_bias);
  }
  for (const SavedRegister& r : frame.saved) {
    const bool vector = is_vector(isa, r);
    lines.add_register(vector ? convention.save_vector : isa.rules.save_scalar, r);
    lines.add_register(vector ? unwind.save_vector : unwind.save_scalar, r);
  }
  lines.add(unwind.prologue_end);
  const std::string& to = isa.convention.args_register;
  const std::string& from = convention.args_register;
  if (from != to) {
    lines.add({format_row_text(convention.args_move,
                               {{"to", [&](std::string_view) { return to; }},
                                {"from", [&](std::string_view) { return from; }}})});
  }
  return lines.done;
}

std::vector<std::string> epilogue(const Program& program, const Convention& convention,
                                  const std::string& symbol) {
  const Isa& isa = *program.isa;
  const UnwindRules& unwind = convention.unwind;
  const Frame frame = make_frame(program, convention);
  Lines lines(isa, convention, frame, symbol);
  lines.add(convention.before_restore);
  if (frame.bytes > 0) lines.add(unwind.epilogue_begin);
  for (const SavedRegister& r : frame.saved) {
    const bool vector = is_vector(isa, r);
    lines.add_register(vector ? convention.restore_vector : isa.rules.restore_scalar, r);
    lines.add_register(vector ? unwind.restore_vector : unwind.restore_scalar, r);
  }
  if (frame.bytes > 0) {
    lines.add_frame(isa.rules.frame_leave, 0);
    lines.add_frame(unwind.frame_left, convention.frame_bias);
    lines.add(unwind.epilogue_end);
  }
  lines.add(convention.leave);
  lines.add(unwind.end);
  return lines.done;
}

std::string save_scalar(const Isa& isa, const std::string& reg, int64_t offset) {
  return scalar_line(isa.rules.save_scalar, reg, offset);
}

std::string restore_scalar(const Isa& isa, const std::string& reg, int64_t offset) {
  return scalar_line(isa.rules.restore_scalar, reg, offset);
}

std::vector<std::string> scratch_address(const Program& program, const std::string& reg) {
  const AssemblyRules& rules = program.isa->rules;
  const int64_t offset = make_frame(program, program.isa->convention).scratch;
  if (rules.align_address.empty()) return {scalar_line(rules.frame_address, reg, offset)};
  const auto to = [&](std::string_view) { return reg; };
  const auto bytes = [](std::string_view) { return std::to_string(scratch_alignment); };
  return {scalar_line(rules.frame_address, reg, offset + scratch_alignment - stack_alignment),
          format_row_text(rules.align_address, {{"r", to}, {"bytes", bytes}})};
}

}  // namespace tw
