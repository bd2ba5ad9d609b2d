#include "integrations/ggml/team.h"

#include <algorithm>

#include "integrations/common/own_team.h"
#include "integrations/common/waiting.h"
#include "integrations/ggml/symbols.h"

namespace tw::ggml {

namespace {

constexpr size_t kBytesPerThread = size_t{1} << 18;

/// The entry points that compilers call for `#pragma omp`: called by hand they work with every
/// compiler, and with the library of OpenMP that the host has, whichever that is.
struct OpenMp {
  void (*parallel)(void (*body)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
  int (*max_threads)() = nullptr;
};
OpenMp openmp;  // null: not used

struct Shared {
  const std::function<void(size_t)>& body;
  size_t count;
  std::atomic<size_t> next{0};
};

void take_shares(void* data) {
  auto& shared = *static_cast<Shared*>(data);
  for (size_t i = shared.next++; i < shared.count; i = shared.next++) shared.body(i);
}

}  // namespace

bool choose_team(bool host_has_openmp) {
  openmp = {};
  if (!host_has_openmp) return false;
  OpenMp found;
  found.parallel = reinterpret_cast<decltype(found.parallel)>(find_openmp_symbol("GOMP_parallel"));
  found.max_threads =
      reinterpret_cast<decltype(found.max_threads)>(find_openmp_symbol("omp_get_max_threads"));
  if (found.parallel == nullptr || found.max_threads == nullptr) return false;
  openmp = found;
  return true;
}

int default_threads() {
  return openmp.parallel != nullptr ? std::max(1, openmp.max_threads()) : available_cores();
}

void run_team(int threads, void (*body)(void*), void* data) {
  if (threads <= 1) {
    body(data);
  } else if (openmp.parallel != nullptr) {
    openmp.parallel(body, data, static_cast<unsigned>(threads), 0);
  } else {
    run_own_team(threads, body, data);
  }
}

void share_out(int threads, size_t count, const std::function<void(size_t)>& body) {
  if (count == 0) return;
  Shared shared{body, count};
  run_team(static_cast<int>(std::min<size_t>(count, threads)), take_shares, &shared);
}

void share_out(size_t count, size_t bytes, const std::function<void(size_t)>& body) {
  const size_t worth = bytes / kBytesPerThread + 1;
  share_out(static_cast<int>(std::min<size_t>(worth, default_threads())), count, body);
}

Gathered::Gathered() {
  if (openmp.parallel == nullptr) gather_own_team();
}

Gathered::~Gathered() {
  if (openmp.parallel == nullptr) dismiss_own_team();
}

void Progress::finish_one() {
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_all();
}

void Progress::wait_for_all() {
  for (uint32_t left = left_; left != 0; left = left_) wait_while(left_, left);
}

}  // namespace tw::ggml
