#include "measure/team.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "measure/machine.h"

namespace tw::measure {
namespace {

/// Until it is no longer `old`: at first without sleeping, since the next slices come soon.
unsigned changed(const std::atomic<unsigned>& value, unsigned old) {
  constexpr int patience = 1 << 15;
  for (int i = 0; i < patience; ++i) {
    if (value != old) return value;
  }
  value.wait(old);
  return value;
}

}  // namespace

Team::Team(const std::vector<int>& helpers) {
  busy_ = static_cast<unsigned>(helpers.size());
  for (const int core : helpers) threads_.emplace_back([this, core] { serve(core); });
  for (unsigned left = busy_; left != 0;) left = changed(busy_, left);  // they are where they stay
}

Team::~Team() {
  ending_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::take_all() {
  for (size_t i = next_++; i < count_; i = next_++) {
    try {
      (*work_)(i);
    } catch (...) {
      const std::lock_guard lock(failing_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }
}

void Team::serve(int core) {
  const Conditions conditions = settle(core);
  if (conditions.core != core) {
    const std::lock_guard lock(failing_);
    failure_ = std::make_exception_ptr(
        std::runtime_error(fmt::format("core {} may not be used by this process", core)));
  }
  unsigned round = 0;
  for (;;) {
    if (--busy_ == 0) busy_.notify_all();
    round = changed(round_, round);
    if (ending_) return;
    take_all();
  }
}

void Team::share(size_t count, const std::function<void(size_t)>& work) {
  count_ = count;
  work_ = &work;
  next_ = 0;
  busy_ = static_cast<unsigned>(threads_.size());
  ++round_;
  round_.notify_all();
  take_all();
  for (unsigned left = busy_; left != 0;) left = changed(busy_, left);
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace tw::measure
