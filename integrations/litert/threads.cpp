#include "integrations/litert/threads.h"

#include <algorithm>
#include <atomic>

#include "integrations/common/own_team.h"

namespace tw::litert {

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

void for_slices(int threads, size_t slices, const std::function<void(size_t, size_t)>& body) {
  if (slices == 0) return;
  Slices shared{body, slices};
  run_own_team(static_cast<int>(std::min<size_t>(slices, std::max(1, threads))), take_slices,
               &shared);
}

}  // namespace tw::litert
