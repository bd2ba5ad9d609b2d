// The machine under a benchmark: one core, steady conditions, memory with huge pages, time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tw::measure {

/// What was asked of the operating system and what it gave, for the head of every report.
struct Conditions {
  int core = -1;           ///< the one core that measures, -1: could not be pinned
  bool realtime = false;   ///< SCHED_FIFO granted
  size_t cache_bytes = 0;  ///< last-level cache that this core sees
  std::string text;        ///< one line for people
};

/// Pins the calling thread to that core (-1: the last one it may use) and asks for real-time
/// priority.
Conditions settle(int cpu = -1);

/// Numbers of the cores that this thread may use, ascending.
std::vector<int> allowed_cores();

/// Anonymous memory, 2 MiB pages where the system grants them, every page touched.
/// Throws std::bad_alloc when there is not enough.
class Memory {
 public:
  explicit Memory(size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Memory that can still be allocated without swapping.
size_t available_memory();

/// Seconds since some fixed moment.
double now();

double best(const std::vector<double>& seconds);  ///< the least
double median(std::vector<double> values);

/// Throws std::runtime_error.
[[noreturn]] void fail(const std::string& message);

}  // namespace tw::measure
