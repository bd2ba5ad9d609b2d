// The entry points of libgomp that compilers call for `#pragma omp`: called by hand they work with
// every compiler, of which some have another OpenMP library, whose threads would be others than
// ggml's.
#include "integrations/ggml/team.h"

#include <algorithm>

extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
int omp_get_max_threads();
}

namespace tw::ggml {

namespace {

constexpr size_t kBytesPerThread = size_t{1} << 18;

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

int default_threads() {
  return std::max(1, omp_get_max_threads());
}

void run_team(int threads, void (*body)(void*), void* data) {
  GOMP_parallel(body, data, static_cast<unsigned>(std::max(1, threads)), 0);
}

void team_barrier() {
  GOMP_barrier();
}

void share_out(int threads, size_t count, const std::function<void(size_t)>& body) {
  Shared shared{body, count};
  run_team(static_cast<int>(std::min<size_t>(count, threads)), take_shares, &shared);
}

void share_out(size_t count, size_t bytes, const std::function<void(size_t)>& body) {
  const size_t worth = bytes / kBytesPerThread + 1;
  share_out(static_cast<int>(std::min<size_t>(worth, default_threads())), count, body);
}

}  // namespace tw::ggml
