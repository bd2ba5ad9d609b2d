#include "emit/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tw {

void for_each_in_parallel(size_t count, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next = 0;
  std::atomic<size_t> failed = count;  // the first that did
  std::exception_ptr error;            // its exception
  std::mutex guards_error;
  // All before the first failure were taken before it, and are finished.
  const auto work = [&] {
    for (size_t i = next++; i < failed; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(guards_error);
        if (i >= failed) continue;
        failed = i;
        error = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> others;
  const size_t threads = std::min<size_t>(count, std::thread::hardware_concurrency());
  for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  others.clear();  // waits for them
  if (error) std::rethrow_exception(error);
}

}  // namespace tw
