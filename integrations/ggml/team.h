// Threads: the OpenMP team of the process, which ggml's own CPU backend uses too, so that the two
// never have twice as many threads as cores.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace tw::ggml {

/// As many as OpenMP would take.
int default_threads();
/// Calls `body` on each of so many threads at once; it may call team_barrier, on all of them.
void run_team(int threads, void (*body)(void*), void* data);
void team_barrier();
/// Calls `body(i)` for each i below count, on no more than so many threads.
void share_out(int threads, size_t count, const std::function<void(size_t)>& body);
/// On as many as are worth it: `bytes` are touched in all.
void share_out(size_t count, size_t bytes, const std::function<void(size_t)>& body);

}  // namespace tw::ggml
