#include "model/isa.h"

#include <algorithm>

namespace tw {

std::string to_string(const Where& where) {
  std::string text = where.file;
  if (where.line > 0) {
    text += ':' + std::to_string(where.line) + ':' + std::to_string(where.column);
  }
  return text;
}

bool is_callee_saved(const RegisterFile& file, int index, const Convention& convention) {
  const std::vector<std::string>& saved = convention.callee_saved;
  return std::any_of(file.views.begin(), file.views.end(), [&](const auto& view) {
    const std::string& name = view.second[static_cast<size_t>(index)];
    return std::find(saved.begin(), saved.end(), name) != saved.end();
  });
}

Length Immediate::unit() const {
  if (of == Symbol::vl) return {0, scale};
  if (of == Symbol::svl) return {0, 0, scale};
  return scale;
}

std::optional<int64_t> Immediate::encoded(Length value) const {
  if (scale == 0) return std::nullopt;
  const int64_t number = (value.fixed + value.vl + value.svl) / scale;
  return unit() * number == value ? std::optional(number) : std::nullopt;
}

bool Immediate::fits(Length value) const {
  const std::optional<int64_t> number = encoded(value);
  if (!number || *number < least) return false;
  if (bits >= 63) return is_signed || *number >= 0;
  const int64_t half = int64_t{1} << (bits - 1);
  return is_signed ? *number >= -half && *number < half : *number >= 0 && *number < 2 * half;
}

std::string Immediate::text(Length value) const {
  return of == Symbol::one ? to_string(value) : std::to_string(encoded(value).value_or(0));
}

const Operand* Row::operand(const std::string& operand_name) const {
  for (const Operand& operand : operands) {
    if (operand.name == operand_name) return &operand;
  }
  return nullptr;
}

const RegisterFile* Isa::file_of(Kind kind) const {
  for (const RegisterFile& file : files) {
    if (file.kind == kind) return &file;
  }
  return nullptr;
}

const RegisterFile* Isa::file(const std::string& file_name) const {
  for (const RegisterFile& file : files) {
    if (file.name == file_name) return &file;
  }
  return nullptr;
}

const Row* Isa::row_for(OpCode code, int bits, Length bytes,
                        const std::function<bool(const Row&)>& wanted) const {
  if (bytes == Length{}) bytes = vector_bytes;
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& it) {
    const MeansNode& node = it.means.front();
    return it.means.size() == 1 && node.code == code && node.bits == bits &&
           bytes_of(it) == bytes && wanted(it);
  });
  return row == rows.end() ? nullptr : &*row;
}

bool includes(const Isa& isa, const Isa& other) {
  return isa.architecture == other.architecture &&
         std::all_of(other.features.begin(), other.features.end(), [&](const std::string& feature) {
           return std::find(isa.features.begin(), isa.features.end(), feature) !=
                  isa.features.end();
         });
}

}  // namespace tw
