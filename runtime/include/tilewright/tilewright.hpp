// C++17 convenience over tilewright.h: plans own themselves, failures are exceptions.
//
// Nothing may be thrown through C code, so that slices which a C thread pool's callback runs go
// through a FirstFailure:
//
//   tilewright::FirstFailure failure;             // shared by the callbacks
//   failure.note(tw_run(plan.get(), &args, slice));   // in each; throws nothing
//   failure.check();                              // afterwards, where exceptions are legal
#ifndef TILEWRIGHT_TILEWRIGHT_HPP
#define TILEWRIGHT_TILEWRIGHT_HPP

#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tilewright/tilewright.h"

namespace tilewright {

/// A call failed; what() names the argument and what would be legal.
struct Error : std::runtime_error {
  explicit Error(tw_status s, const char* message = tw_error_message())
      : std::runtime_error(message), status(s) {}
  tw_status status;
};

inline void check(tw_status status) {
  if (status != TW_OK) throw Error(status);
}

/// The first failure of several threads, and its message.
class FirstFailure {
 public:
  void note(tw_status status) noexcept {
    if (status == TW_OK || taken_.exchange(true)) return;
    std::snprintf(message_, sizeof message_, "%s", tw_error_message());
    status_.store(status, std::memory_order_release);
  }
  /// After all that note; throws what they noted.
  void check() const {
    const tw_status status = status_.load(std::memory_order_acquire);
    if (status != TW_OK) throw Error(status, message_);
  }

 private:
  std::atomic<bool> taken_{false};
  std::atomic<tw_status> status_{TW_OK};
  char message_[512] = {};
};

/// All zero but its size.
template <class Struct>
[[nodiscard]] Struct sized() noexcept {
  Struct made{};
  made.size = sizeof made;
  return made;
}

[[nodiscard]] inline tw_device detect() {
  auto device = sized<tw_device>();
  check(tw_device_detect(&device));
  return device;
}

[[nodiscard]] inline size_t rhs_slices(const tw_plan* plan) {
  size_t slices = 0;
  check(tw_rhs_slices(plan, &slices));
  return slices;
}
[[nodiscard]] inline size_t lhs_slices(const tw_plan* plan, size_t m) {
  size_t slices = 0;
  check(tw_lhs_slices(plan, m, &slices));
  return slices;
}
[[nodiscard]] inline size_t run_slices(const tw_plan* plan, size_t m) {
  size_t slices = 0;
  check(tw_run_slices(plan, m, &slices));
  return slices;
}

/// Movable, not copyable. Const functions may be called from many threads at once.
class Plan {
 public:
  Plan(const tw_device& device, const tw_matmul& matmul) {
    tw_plan* plan = nullptr;
    check(tw_plan_create(&device, &matmul, &plan));
    plan_.reset(plan);
  }
  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;

  [[nodiscard]] const tw_plan* get() const noexcept { return plan_.get(); }
  [[nodiscard]] size_t rhs_bytes() const noexcept { return tw_rhs_bytes(get()); }
  [[nodiscard]] size_t lhs_bytes(size_t m) const {
    size_t bytes = 0;
    check(tw_lhs_bytes(get(), m, &bytes));
    return bytes;
  }
  [[nodiscard]] size_t scratch_bytes(size_t m) const {
    size_t bytes = 0;
    check(tw_scratch_bytes(get(), m, &bytes));
    return bytes;
  }
  [[nodiscard]] std::vector<tw_segment> segments(size_t m) const {
    std::vector<tw_segment> segments(TW_MAX_SEGMENTS);
    size_t count = 0;
    check(tw_plan_segments(get(), m, segments.data(), &count));
    segments.resize(count);
    return segments;
  }

  [[nodiscard]] size_t rhs_slices() const { return tilewright::rhs_slices(get()); }
  [[nodiscard]] size_t lhs_slices(size_t m) const { return tilewright::lhs_slices(get(), m); }
  [[nodiscard]] size_t run_slices(size_t m) const { return tilewright::run_slices(get(), m); }

  /// One slice; any thread.
  void pack_rhs(const tw_rhs_source& source, void* packed, size_t bytes, size_t slice) const {
    check(tw_pack_rhs(get(), &source, packed, bytes, slice));
  }
  void unpack_rhs(const void* packed, size_t bytes, size_t column, size_t columns,
                  const tw_rhs_target& target) const {
    check(tw_unpack_rhs(get(), packed, bytes, column, columns, &target));
  }
  void pack_lhs(size_t m, const tw_lhs_source& source, void* packed, size_t bytes,
                size_t slice) const {
    check(tw_pack_lhs(get(), m, &source, packed, bytes, slice));
  }
  void run(const tw_run_args& args, size_t slice) const { check(tw_run(get(), &args, slice)); }

 private:
  struct Destroy {
    void operator()(tw_plan* plan) const noexcept { tw_plan_destroy(plan); }
  };
  std::unique_ptr<tw_plan, Destroy> plan_;
};

}  // namespace tilewright
#endif
