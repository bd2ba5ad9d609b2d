#include "integrations/common/own_team.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <thread>

#include "integrations/common/waiting.h"

namespace tw {

namespace {

enum WorkerState : uint32_t { idle, offered, taken, leaves };

struct Job {
  void (*body)(void*);
  void* data;
};

class Team;

/// A thread of pthread's: one of std::thread would hold memory that nobody frees after a fork.
struct Worker {
  explicit Worker(Team& its_team) : team(its_team) {}

  alignas(64) std::atomic<uint32_t> state{idle};
  Team& team;
  pthread_t thread = {};
};

/// Signals are the host's business.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // What a thread's own instructions raise is that thread's: blocked, it ends the process unseen.
    for (const int own : {SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGTRAP}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// One caller at a time.
class Team {
 public:
  Team() = default;
  ~Team() {
    for (Worker& worker : workers_) {
      worker.state = leaves;
      worker.state.notify_one();
      pthread_join(worker.thread, nullptr);
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// The body must not throw: others have its data.
  void run(int threads, Job job) noexcept {
    const auto others = static_cast<size_t>(threads - 1);
    while (workers_.size() < others && add_worker()) {
    }
    const size_t asked = std::min(workers_.size(), others);
    job_ = job;
    is_running_ = true;
    for (size_t i = 0; i < asked; ++i) offer(workers_[i]);
    job.body(job.data);
    for (size_t i = 0; i < asked; ++i) withdraw(workers_[i]);
    is_running_ = false;
  }

  [[nodiscard]] bool is_running() const { return is_running_; }
  void keep_awake(bool awake) { keeps_awake_.store(awake, std::memory_order_relaxed); }
  /// A process that was forked has only the thread that forked it.
  [[nodiscard]] bool is_of_this_process() const { return process_ == getpid(); }
  Team* next_left_behind = nullptr;  ///< from before a fork

 private:
  bool add_worker() {
    const SignalsBlocked blocked;
    Worker& worker = workers_.emplace_back(*this);
    const auto start = [](void* data) -> void* {
      auto& self = *static_cast<Worker*>(data);
      self.team.serve(self);
      return nullptr;
    };
    if (pthread_create(&worker.thread, nullptr, start, &worker) == 0) return true;
    workers_.pop_back();  // then with fewer
    return false;
  }

  static void offer(Worker& worker) {
    worker.state.store(offered, std::memory_order_release);
    worker.state.notify_one();
  }

  static void withdraw(Worker& worker) {
    uint32_t state = offered;
    if (worker.state.compare_exchange_strong(state, idle, std::memory_order_acquire)) return;
    while (worker.state.load(std::memory_order_acquire) == taken) wait_while(worker.state, taken);
  }

  void serve(Worker& worker) {
    for (;;) {
      uint32_t state = offered;
      if (worker.state.compare_exchange_strong(state, taken, std::memory_order_acquire)) {
        job_.body(job_.data);
        worker.state.store(idle, std::memory_order_release);
        worker.state.notify_one();
      } else if (state == leaves) {
        return;
      } else if (!changes_soon(worker.state, idle,
                               [this] { return keeps_awake_.load(std::memory_order_relaxed); })) {
        worker.state.wait(idle, std::memory_order_acquire);
      }
    }
  }

  const pid_t process_ = getpid();
  std::deque<Worker> workers_;  // which stay where they are
  Job job_ = {};
  bool is_running_ = false;
  std::atomic<bool> keeps_awake_{false};
};

/// Teams that nobody has just now. No lock, as a fork could copy it locked.
class Idle {
 public:
  Idle() = default;
  /// At the end of the process, or when the plug-in is unloaded.
  ~Idle() {
    for (std::atomic<Team*>& place : places_) {
      Team* team = place;
      if (team == nullptr || !team->is_of_this_process()) continue;
      place = nullptr;
      delete team;
    }
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

  /// Null for want of memory. Teams from before a fork are kept, and no more: their threads are not
  /// in this process, and cannot be joined.
  Team* take() {
    for (std::atomic<Team*>& place : places_) {
      Team* team = place.exchange(nullptr);
      if (team == nullptr) continue;
      if (team->is_of_this_process()) return team;
      team->next_left_behind = left_behind_.exchange(team);
    }
    return new (std::nothrow) Team;
  }

  void put_back(Team* team) {
    for (std::atomic<Team*>& place : places_) {
      Team* none = nullptr;
      if (place.compare_exchange_strong(none, team)) return;
    }
    delete team;
  }

 private:
  std::array<std::atomic<Team*>, 16> places_ = {};
  std::atomic<Team*> left_behind_{nullptr};
};
Idle idle_teams;

thread_local Team* gathered = nullptr;

}  // namespace

int available_cores() {
  static const int cores = [] {
    cpu_set_t set;
    const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    return known ? CPU_COUNT(&set) : static_cast<int>(std::thread::hardware_concurrency());
  }();
  return std::max(1, cores);
}

void run_own_team(int threads, void (*body)(void*), void* data) {
  threads = std::min(threads, available_cores());
  const bool has_gathered = gathered != nullptr && gathered->is_of_this_process();
  Team* team = nullptr;
  if (threads > 1) team = has_gathered ? gathered : idle_teams.take();
  if (team == nullptr || team->is_running()) {
    body(data);
    return;
  }
  team->run(threads, {body, data});
  if (!has_gathered) idle_teams.put_back(team);
}

void gather_own_team() {
  gathered = idle_teams.take();
  if (gathered != nullptr) gathered->keep_awake(true);
}

void dismiss_own_team() {
  if (gathered == nullptr) return;
  gathered->keep_awake(false);
  idle_teams.put_back(gathered);
  gathered = nullptr;
}

}  // namespace tw
