#include "integrations/common/slices.h"

#include <algorithm>
#include <atomic>

namespace tw {

namespace {

struct Slices {
  const std::function<void(size_t, size_t)>& body;
  size_t count;
  std::atomic<size_t> next{0}, threads{0};
};

void take_slices(void* data) {
  auto& shared = *static_cast<Slices*>(data);
  const size_t thread = shared.threads++;
  for (size_t i = shared.next++; i < shared.count; i = shared.next++) shared.body(i, thread);
}

}  // namespace

void for_slices(const Threads& threads, size_t slices,
                const std::function<void(size_t, size_t)>& body) {
  if (slices == 0) return;
  Slices shared{body, slices};
  const auto most = static_cast<size_t>(std::max(1, threads.count));
  const int count = static_cast<int>(std::min(slices, most));
  if (count == 1) {
    take_slices(&shared);
  } else {
    threads.run(count, take_slices, &shared);
  }
}

}  // namespace tw
