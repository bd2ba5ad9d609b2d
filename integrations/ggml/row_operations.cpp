#include "integrations/ggml/row_operations.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "integrations/ggml/rows.h"
#include "integrations/ggml/team.h"

namespace tw::ggml {

namespace {

const RowOperation* const kOperations[] = {&kRmsNorm, &kAdd,       &kMultiply, &kScale,
                                           &kGlu,     &kRope,      &kSetRows,  &kGetFloats,
                                           &kCopy,    &kContiguous};

std::map<int32_t, const RowOperation*> by_number;

/// Calling others costs as much as so many bytes, about.
constexpr size_t kBytesAlone = size_t{1} << 15;
constexpr size_t kSharesPerThread = 4;

}  // namespace

void find_row_operations(const char* (*name_of)(int32_t op)) {
  // The last one of all hosts of the versions that we know is GLU.
  constexpr int32_t kMost = 128;
  by_number.clear();
  for (int32_t number = 0; number < kMost; ++number) {
    const char* name = name_of(number);
    if (name == nullptr) return;
    const auto* const found =
        std::find_if(std::begin(kOperations), std::end(kOperations),
                     [&](const auto* known) { return std::strcmp(known->name, name) == 0; });
    if (found != std::end(kOperations)) by_number[number] = *found;
    if (std::strcmp(name, kGlu.name) == 0) return;
  }
}

const RowOperation* covering_row_operation(const Tensor& op) {
  const auto at = by_number.find(op.op);
  return at != by_number.end() && at->second->covers(op) ? at->second : nullptr;
}

Status compute_rows(const RowOperation& operation, const Tensor& op, int threads) {
  if (operation.check != nullptr) operation.check(op);
  const size_t units = operation.units(op), bytes = rows_in(*op.src[0]) * op.src[0]->nb[1];
  if (threads <= 1 || units <= 1 || bytes <= kBytesAlone) {
    operation.compute(op, 0, units);
    return success;
  }
  const size_t shares = std::min(units, static_cast<size_t>(threads) * kSharesPerThread);
  share_out(threads, shares,
            [&](size_t i) { operation.compute(op, units * i / shares, units * (i + 1) / shares); });
  return success;
}

}  // namespace tw::ggml
