#include "emit/assembly_frame.h"

#include <algorithm>
#include <set>

#include "emit/register_map.h"
#include "model/row_text.h"

namespace tw {
namespace {

bool is_vector(const Isa& isa, const SavedRegister& r) {
  return isa.files[static_cast<size_t>(r.file)].kind == Kind::vector;
}

constexpr int64_t scratch_alignment = 16;  // as much as stacks promise

RowTextValues frame_values(int64_t bytes) {
  return {{"bytes", [bytes](std::string_view) { return std::to_string(bytes); }}};
}

std::string move_line(const Isa& isa, const std::string& text, const SavedRegister& r) {
  return format_row_text(
      text,
      {{"r", [&](std::string_view view) { return register_name(isa, r.file, r.index, view); }},
       {"o", [&](std::string_view) { return std::to_string(r.offset); }}});
}

/// Debuggers know a vector register by the view of which the callee saves its part.
std::string cfi_line(const Isa& isa, const Frame& frame, SavedRegister r) {
  std::string view;
  if (is_vector(isa, r)) view = placeholders(isa.rules.save_vector).front().view;
  const int64_t offset = r.offset - frame.bytes - isa.rules.frame_bias;
  return format_row_text(
      isa.rules.cfi_save,
      {{"r", [&](std::string_view) { return register_name(isa, r.file, r.index, view); }},
       {"o", [&](std::string_view) { return std::to_string(offset); }}});
}

std::string scalar_line(const std::string& text, const std::string& reg, int64_t offset) {
  return format_row_text(text, {{"r", [&](std::string_view) { return reg; }},
                                {"o", [&](std::string_view) { return std::to_string(offset); }}});
}

/// Registers that rows destroy without having values in them.
void add_clobbered(const Program& program, std::set<std::pair<int, int>>& saved) {
  const Isa& isa = *program.isa;
  const auto add = [&](const std::string& clobber) {
    const size_t colon = clobber.find(':');
    for (size_t f = 0; colon != std::string::npos && f < isa.files.size(); ++f) {
      const std::vector<int>& its = isa.files[f].callee_saved;
      const int index = std::stoi(clobber.substr(colon + 1));
      if (isa.files[f].name != clobber.substr(0, colon)) continue;
      if (std::find(its.begin(), its.end(), index) == its.end()) continue;
      saved.insert({static_cast<int>(f), index});
    }
  };
  for_each_op(program.body, [&](const Op& op) {
    if (op.row == nullptr) return;
    for (const std::string& clobber : op.row->clobbers) add(clobber);
  });
}

}  // namespace

Frame make_frame(const Program& program) {
  const Isa& isa = *program.isa;
  const std::vector<int> files = register_files(program);
  Frame frame;
  std::set<std::pair<int, int>> saved;
  for (size_t v = 0; v < program.registers.size(); ++v) {
    const int index = program.registers[v];
    if (index < 0) continue;
    const auto& callee_saved = isa.files[static_cast<size_t>(files[v])].callee_saved;
    if (std::find(callee_saved.begin(), callee_saved.end(), index) != callee_saved.end()) {
      saved.insert({files[v], index});
    }
  }
  add_clobbered(program, saved);
  int64_t offset = int64_t{8} * program.frame_slots;
  if (program.scratch_bytes > 0) {
    offset = (offset + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
    frame.scratch = offset;
    offset += program.scratch_bytes;
  }
  for (const auto& [file, index] : saved) {
    SavedRegister r{file, index, offset};
    offset += is_vector(isa, r) ? isa.rules.save_vector_bytes : 8;
    frame.saved.push_back(r);
  }
  if (offset == 0) return frame;
  const int64_t align = isa.rules.frame_align;
  const int64_t bias = isa.rules.frame_bias;
  frame.bytes = (offset + bias + align - 1) / align * align - bias;
  return frame;
}

std::vector<std::string> frame_enter(const Isa& isa, const Frame& frame) {
  std::vector<std::string> lines;
  if (frame.bytes == 0) return lines;
  const AssemblyRules& rules = isa.rules;
  lines.push_back(format_row_text(rules.frame_enter, frame_values(frame.bytes)));
  if (!rules.cfi_frame.empty()) {
    lines.push_back(format_row_text(rules.cfi_frame, frame_values(frame.bytes + rules.frame_bias)));
  }
  for (const SavedRegister& r : frame.saved) {
    lines.push_back(move_line(isa, is_vector(isa, r) ? rules.save_vector : rules.save_scalar, r));
    if (!rules.cfi_save.empty()) lines.push_back(cfi_line(isa, frame, r));
  }
  return lines;
}

std::vector<std::string> frame_leave(const Isa& isa, const Frame& frame) {
  std::vector<std::string> lines;
  if (frame.bytes == 0) return lines;
  const AssemblyRules& rules = isa.rules;
  for (const SavedRegister& r : frame.saved) {
    lines.push_back(
        move_line(isa, is_vector(isa, r) ? rules.restore_vector : rules.restore_scalar, r));
  }
  lines.push_back(format_row_text(rules.frame_leave, frame_values(frame.bytes)));
  if (!rules.cfi_frame.empty()) {
    lines.push_back(format_row_text(rules.cfi_frame, frame_values(rules.frame_bias)));
  }
  return lines;
}

std::string save_scalar(const Isa& isa, const std::string& reg, int64_t offset) {
  return scalar_line(isa.rules.save_scalar, reg, offset);
}

std::string restore_scalar(const Isa& isa, const std::string& reg, int64_t offset) {
  return scalar_line(isa.rules.restore_scalar, reg, offset);
}

std::string frame_address(const Isa& isa, const std::string& reg, int64_t offset) {
  return scalar_line(isa.rules.frame_address, reg, offset);
}

}  // namespace tw
