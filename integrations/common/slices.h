// Work in slices, on the threads that the host allows.
#pragma once

#include <cstddef>
#include <functional>

#include "integrations/common/own_team.h"

namespace tw {

struct Threads {
  int count = 1;
  /// Calls `body(data)` on no more than so many threads, our own where the host has none for us,
  /// and returns when all of them are done.
  std::function<void(int count, void (*body)(void*), void* data)> run = run_own_team;
};

/// Calls `body(slice, thread)` once for each slice, threads numbered from 0.
void for_slices(const Threads& threads, size_t slices,
                const std::function<void(size_t, size_t)>& body);

}  // namespace tw
