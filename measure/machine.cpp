#include "measure/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <new>
#include <stdexcept>

namespace tw::measure {
namespace {

constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t assumed_cache = size_t{32} << 20;  // when the system does not say

/// To `wanted`; -1: to the last core that is allowed.
int pin(int wanted) {
  const std::vector<int> allowed = allowed_cores();
  if (allowed.empty()) return -1;
  const int cpu = wanted >= 0 ? wanted : allowed.back();
  if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) return -1;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0 ? cpu : -1;
}

size_t last_level_cache(int core) {
  size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream in(
        fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/size", std::max(core, 0), index));
    size_t value = 0;
    char unit = 'K';
    if (!(in >> value)) continue;
    in >> unit;
    largest = std::max(largest, value << (unit == 'M' ? 20 : 10));
  }
  return largest;
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cores.push_back(cpu);
  }
  return cores;
}

Conditions settle(int cpu) {
  Conditions c;
  c.core = pin(cpu);
  sched_param priority{};
  priority.sched_priority = 1;
  c.realtime = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
  c.cache_bytes = last_level_cache(c.core);
  const bool cache_known = c.cache_bytes != 0;
  if (!cache_known) c.cache_bytes = assumed_cache;
  c.text = fmt::format("{}; {}; last-level cache {} MiB{}",
                       c.core >= 0 ? fmt::format("one thread, pinned to core {}", c.core)
                                   : "one thread, NOT pinned (not permitted)",
                       c.realtime ? "real-time priority (SCHED_FIFO)"
                                  : "ordinary priority (SCHED_FIFO is not permitted)",
                       c.cache_bytes >> 20, cache_known ? "" : " (assumed)");
  return c;
}

Memory::Memory(size_t bytes) : bytes_((bytes + huge_page - 1) / huge_page * huge_page) {
  // Over-allocate by a page so that the start can be aligned to one, and give the rest back.
  const size_t mapped = bytes_ + huge_page;
  void* p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  auto* raw = static_cast<std::byte*>(p);
  const size_t head = (huge_page - reinterpret_cast<size_t>(p) % huge_page) % huge_page;
  data_ = raw + head;
  if (head != 0) munmap(raw, head);
  if (head != huge_page) munmap(data_ + bytes_, huge_page - head);
  madvise(data_, bytes_, MADV_HUGEPAGE);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < bytes_; i += page) data_[i] = std::byte{1};
}

Memory::~Memory() {
  munmap(data_, bytes_);
}

size_t available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  size_t value = 0;
  while (in >> key >> value >> unit) {
    if (key == "MemAvailable:") return value << 10;
  }
  return size_t{1} << 30;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double best(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void fail(const std::string& message) {
  throw std::runtime_error(message);
}

}  // namespace tw::measure
