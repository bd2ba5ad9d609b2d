// C++17 convenience over tilewright.h: plans own themselves, failures are exceptions.
#ifndef TILEWRIGHT_TILEWRIGHT_HPP
#define TILEWRIGHT_TILEWRIGHT_HPP

#include <memory>
#include <stdexcept>
#include <vector>

#include "tilewright/tilewright.h"

namespace tilewright {

/// A call failed; what() names the argument and what would be legal.
struct Error : std::runtime_error {
  explicit Error(tw_status s) : std::runtime_error(tw_error_message()), status(s) {}
  tw_status status;
};

inline void check(tw_status status) {
  if (status != TW_OK) throw Error(status);
}

inline tw_device detect() {
  tw_device device;
  check(tw_device_detect(&device));
  return device;
}

/// Movable, not copyable. Const functions may be called from many threads at once.
class Plan {
 public:
  Plan(const tw_device& device, const tw_matmul& matmul) {
    tw_plan* plan = nullptr;
    check(tw_plan_create(&device, &matmul, &plan));
    plan_.reset(plan);
  }

  [[nodiscard]] const tw_plan* get() const { return plan_.get(); }
  [[nodiscard]] size_t rhs_bytes() const { return tw_rhs_bytes(get()); }
  [[nodiscard]] size_t lhs_bytes(size_t m) const {
    size_t bytes = 0;
    check(tw_lhs_bytes(get(), m, &bytes));
    return bytes;
  }
  [[nodiscard]] std::vector<tw_segment> segments(size_t m) const {
    std::vector<tw_segment> segments(TW_MAX_SEGMENTS);
    size_t count = 0;
    check(tw_plan_segments(get(), m, segments.data(), &count));
    segments.resize(count);
    return segments;
  }

  [[nodiscard]] size_t rhs_slices() const { return tw_rhs_slices(get()); }
  [[nodiscard]] size_t lhs_slices(size_t m) const { return tw_lhs_slices(get(), m); }
  [[nodiscard]] size_t run_slices(size_t m) const { return tw_run_slices(get(), m); }

  /// One slice; any thread.
  void pack_rhs(const tw_rhs_source& source, void* packed, size_t bytes, size_t slice) const {
    check(tw_pack_rhs(get(), &source, packed, bytes, slice));
  }
  void pack_lhs(size_t m, const tw_lhs_source& source, void* packed, size_t bytes,
                size_t slice) const {
    check(tw_pack_lhs(get(), m, &source, packed, bytes, slice));
  }
  void run(const tw_run_args& args, size_t slice) const { check(tw_run(get(), &args, slice)); }

 private:
  struct Destroy {
    void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
  };
  std::unique_ptr<tw_plan, Destroy> plan_;
};

}  // namespace tilewright
#endif
