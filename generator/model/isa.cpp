#include "model/isa.h"

namespace tw {

std::string to_string(const Where& where) {
  std::string text = where.file;
  if (where.line > 0) {
    text += ':' + std::to_string(where.line) + ':' + std::to_string(where.column);
  }
  return text;
}

bool Immediate::fits(int64_t value) const {
  if (scale == 0 || value % scale != 0 || value < least) return false;
  const int64_t encoded = value / scale;
  if (bits >= 63) return is_signed || encoded >= 0;
  const int64_t half = int64_t{1} << (bits - 1);
  return is_signed ? encoded >= -half && encoded < half : encoded >= 0 && encoded < 2 * half;
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

const Row* Isa::row_for(OpCode code, int bits, Length bytes) const {
  if (bytes == Length{}) bytes = vector_bytes;
  for (const Row& row : rows) {
    if (row.means.size() != 1) continue;
    const MeansNode& node = row.means.front();
    const Length row_bytes = row.bytes == Length{} ? vector_bytes : row.bytes;
    if (node.code == code && node.bits == bits && row_bytes == bytes) return &row;
  }
  return nullptr;
}

}  // namespace tw
