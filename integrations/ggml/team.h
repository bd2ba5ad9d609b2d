// Threads for what can be done in parts. Where ggml's CPU backend has OpenMP, those of its OpenMP
// team, so that the two never have twice as many threads as cores; else threads of our own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tw::ggml {

/// Before anything is computed: whether the host has OpenMP. False: it has not, or no library of
/// OpenMP's is loaded, and the threads are our own.
bool choose_team(bool host_has_openmp);

/// As many as are there to take.
int default_threads();
/// Calls `body` on so many threads at once, or on fewer: it takes its share of what is to be done,
/// however many others do, and must not wait for others but for what they have begun.
void run_team(int threads, void (*body)(void*), void* data);
/// Calls `body(i)` for each i below count, on no more than so many threads.
void share_out(int threads, size_t count, const std::function<void(size_t)>& body);
/// On as many as are worth it: `bytes` are touched in all.
void share_out(size_t count, size_t bytes, const std::function<void(size_t)>& body);

/// While it lives, calls of run_team on this thread have the same threads, which stay awake between
/// them. For the computing of a graph; where it ends, the cores are the host's again.
class Gathered {
 public:
  Gathered();
  ~Gathered();
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
};

/// How much is done of so many parts that threads have taken.
class Progress {
 public:
  void start(size_t parts) { left_ = static_cast<uint32_t>(parts); }
  void finish_one();
  void wait_for_all();

 private:
  std::atomic<uint32_t> left_{0};
};

}  // namespace tw::ggml
