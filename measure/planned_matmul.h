// One weight matrix with its plan and packed copies, driven through the public run-time API on one
// thread or by a team, and what proves that the named kernels ran and computed the product.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/operands.h"
#include "measure/team.h"
#include "tilewright/tilewright.h"

namespace tw::measure {

/// The weights in one layout, packed through the run-time API: as many copies as it takes to fill
/// more memory than the caches hold. Plans with that layout share it.
class PackedWeights {
 public:
  /// rotate_bytes 0: one copy, which stays in the caches.
  PackedWeights(const tw_plan* plan, const Weights& weights, size_t rotate_bytes, tw_type dst);
  [[nodiscard]] const std::byte* next() { return copies_.next(); }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] uint64_t layout() const { return layout_; }
  [[nodiscard]] const Memory& memory() const { return copies_.memory(); }

 private:
  uint64_t layout_;
  size_t bytes_;
  Copies copies_;
};

/// Rows of activations and the output, which plans may share that run one after the other.
struct Activations {
  Activations(size_t m, const Weights& weights);
  size_t m;
  std::vector<float> values;
  std::vector<int8_t> codes;  ///< of the same values
  size_t dst_bytes;
  Memory dst;
};

struct MatmulOptions {
  const char* family = nullptr;
  int accumulate = 0;                       ///< as in tw_matmul
  tw_type dst = TW_F32;                     ///< TW_S8: activations are codes, too
  const char* kernel = nullptr;             ///< only this kernel; null: the plan chooses
  std::optional<size_t> rhs_prefetch = {};  ///< bytes, 0: none; nothing: the plan chooses
  size_t rotate_bytes = 0;                  ///< packed copies fill at least that; 0: one copy, hot
  uint64_t rhs_layout = 0;                  ///< 0: the plan chooses
  std::vector<tw_setting> settings = {};
  std::shared_ptr<PackedWeights> packed = nullptr;  ///< of the plan's layout; null: its own
  Team* team = nullptr;                             ///< shares slices; null: the caller has all
  bool scratch = false;  ///< runs have scratch, in which plans may decode weights
};

class PlannedMatmul {
 public:
  PlannedMatmul(const tw_device& device, const Weights& weights, const MatmulOptions& options);

  /// Packs m rows of activations and reserves the output. Call before pack_lhs() and run().
  void prepare(size_t m) { prepare(std::make_shared<Activations>(m, weights_)); }
  void prepare(std::shared_ptr<Activations> activations);
  void pack_lhs();
  /// dst = lhs x the next copy of the weights.
  void run();
  /// Fills the output with NaNs, so that check() sees what the next run() leaves out; with zeros
  /// where that adds to it.
  void spoil_output();
  /// Fails unless sampled outputs of the last run() are the product, within what quantizing the
  /// activations to 8 bits costs; with floats, within what rounding does.
  void check() const;

  [[nodiscard]] std::vector<tw_segment> segments(size_t m) const;
  [[nodiscard]] double macs() const {
    return static_cast<double>(m_) * static_cast<double>(weights_.n) *
           static_cast<double>(weights_.k);
  }
  /// What decodes the weights of m rows first; null: nothing does.
  [[nodiscard]] const tw_kernel* decoder(size_t m) const;
  [[nodiscard]] double planned_cycles(size_t m) const { return tw_plan_cycles(plan_.get(), m); }
  [[nodiscard]] tw_tuning tuning(size_t m) const;
  [[nodiscard]] const std::shared_ptr<PackedWeights>& packed() const { return rhs_; }
  /// Where the packed copies lie.
  [[nodiscard]] const Memory& rhs_memory() const { return rhs_->memory(); }

 private:
  void each_slice(size_t slices, const std::function<void(size_t)>& work);
  /// What an output is worth, what the product is, and how far they may be from each other.
  [[nodiscard]] double output(size_t index) const;
  [[nodiscard]] double product(size_t row, size_t column) const;
  [[nodiscard]] double allowed_error(size_t row, size_t column) const;

  struct Destroy {
    void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
  };
  const Weights& weights_;
  std::unique_ptr<tw_plan, Destroy> plan_;
  Team* team_;
  bool scratch_, accumulates_;
  tw_type dst_;
  bool floats_ = false;  ///< weights and activations are multiplied as floats
  std::shared_ptr<PackedWeights> rhs_;
  size_t m_ = 0;
  std::shared_ptr<Activations> activations_;
  size_t lhs_bytes_ = 0;  ///< 0: read unpacked
  std::unique_ptr<Memory> lhs_;
};

/// Codes, and scales per block.
inline double bytes_per_weight(const tw_kernel& kernel) {
  const tw_layout& rhs = *kernel.rhs;
  const double codes = static_cast<double>(rhs.data_bits) / 8;
  if (rhs.block == 0) return codes;
  return codes + static_cast<double>(rhs.per_row_block_bytes) / static_cast<double>(rhs.block);
}

/// "avx512_vnni 8x32 assembly"; several joined by " + ".
std::string short_names(const std::vector<tw_segment>& segments);
std::string short_name(const tw_kernel& kernel);

/// Ends the program with what the call said when a run-time call failed.
void require(tw_status status, const std::string& what);

}  // namespace tw::measure
