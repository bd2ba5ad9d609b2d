// Threads that share the slices of multiplications, each on a core of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tw::measure {

class Team {
 public:
  /// A thread on each of these cores, and whoever calls share(). That one pins itself later:
  /// threads may use no other cores than their maker.
  explicit Team(const std::vector<int>& helpers);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls work(i) once for each i below `count`, each on the thread that is free first. Returns
  /// when all have returned. Throws what one of them threw, or std::runtime_error when a core may
  /// not be used.
  void share(size_t count, const std::function<void(size_t)>& work);

  /// With the caller's.
  [[nodiscard]] size_t threads() const { return threads_.size() + 1; }

 private:
  void serve(int core);
  void take_all();

  std::atomic<unsigned> round_{0};  ///< a new one: there is work
  std::atomic<unsigned> busy_{0};   ///< helpers that have not finished the round
  std::atomic<size_t> next_{0};
  size_t count_ = 0;
  const std::function<void(size_t)>* work_ = nullptr;
  bool ending_ = false;
  std::mutex failing_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace tw::measure
