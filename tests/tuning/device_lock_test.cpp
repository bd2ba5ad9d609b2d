// Two tunings of one device.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/own_lock.h"
#include "tuner/program/device_lock.h"

namespace tw::tuner {
namespace {

/// Why the lock is refused; "": it is not.
std::string refusal() {
  try {
    const DeviceLock lock(0.5);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

/// A process that holds it and does nothing else.
class Holder {
 public:
  Holder() {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const DeviceLock lock;
      if (write(ends[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ends[1]);
    char ready = 0;
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
  }
  ~Holder() { end(); }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(DeviceLock, TheSecondLearnsWhoHoldsItAndWhatToDo) {
  const Holder holder;
  const std::string pid = std::to_string(holder.pid());
  for (int i = 0; i < 3; ++i) {  // asking does no harm
    const std::string why = refusal();
    EXPECT_EQ(why.find("process " + pid + " ("), 0U) << why;
    EXPECT_NE(why.find("tuning_test"), std::string::npos) << why;
    EXPECT_NE(why.find("wait until it ends, or `kill " + pid + "`"), std::string::npos) << why;
  }
}

TEST(DeviceLock, AKilledHolderHoldsItNoMore) {
  Holder holder;
  ASSERT_NE(refusal(), "");
  holder.end();
  EXPECT_EQ(refusal(), "");
}

TEST(DeviceLock, WaitsForAHolderThatIsEnding) {
  Holder holder;
  std::thread ending([&holder] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    holder.end();
  });
  EXPECT_NO_THROW(DeviceLock(60));
  ending.join();
}

TEST(DeviceLock, GivenBackAtItsEnd) {
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(refusal(), "");
}

TEST(DeviceLock, UnlikeNamesDoNotSeeEachOther) {
  const Holder holder;
  const std::string name = std::getenv("TILEWRIGHT_LOCK");
  setenv("TILEWRIGHT_LOCK", (name + " too").c_str(), 1);
  EXPECT_EQ(refusal(), "");
  setenv("TILEWRIGHT_LOCK", name.c_str(), 1);
  EXPECT_NE(refusal(), "");
}

}  // namespace
}  // namespace tw::tuner
