// The other side of a target, real: sshd, or a phone's daemon, in a private network.
#pragma once

#include <sys/types.h>

#include <string>

#include "tuner/target.h"

namespace tw::tuner {

class FarEnd {
 public:
  virtual ~FarEnd() = default;
  [[nodiscard]] virtual Target target() const = 0;
  /// The connections that there are end at once.
  virtual void cut() = 0;
  /// Connections are taken (again).
  virtual void serve() = 0;
};

/// `folder` gets keys, settings, logs. Sets TILEWRIGHT_SSH.
class SshFarEnd : public FarEnd {
 public:
  explicit SshFarEnd(const std::string& folder);
  ~SshFarEnd() override;
  [[nodiscard]] Target target() const override { return {Target::Kind::ssh, "board"}; }
  void cut() override;
  void serve() override;

 private:
  std::string folder_;
  pid_t sshd_ = -1;
};

class AdbFarEnd : public FarEnd {
 public:
  explicit AdbFarEnd(const std::string& folder);
  ~AdbFarEnd() override;
  [[nodiscard]] Target target() const override { return {Target::Kind::adb, "127.0.0.1:5555"}; }
  void cut() override;
  void serve() override;

 private:
  std::string folder_;
  pid_t adbd_ = -1;
};

/// What is not installed for it; "": all is.
std::string missing_for_ssh();
std::string missing_for_adb();

}  // namespace tw::tuner
