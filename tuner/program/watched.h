// A child process that measures, and the parent that outlives it whatever the child's kernels do.
#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace tw::tuner {

/// Shared between the two: what the child is doing.
struct Watch {
  std::atomic<unsigned> entrant;  ///< number of the configuration whose code runs; 0: none
  std::atomic<unsigned> beats;    ///< grows with every call
};

enum class Ending { done, crash, timeout };

struct Ended {
  Ending ending = Ending::done;
  unsigned entrant = 0;  ///< that ran when it ended
  std::string detail;    ///< "SIGILL", "no answer for 20 s", "exit status 1"
};

/// Runs `child` in a process of its own; each line that it passes to its argument goes to
/// `on_line` of this process. A child whose beats stand still for `patience` seconds is killed.
/// Throws std::system_error when no process can be made.
Ended run_watched(const std::function<void(Watch&, const std::function<void(std::string)>&)>& child,
                  const std::function<void(const std::string&)>& on_line, double patience);

}  // namespace tw::tuner
