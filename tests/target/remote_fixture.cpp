#include "target/remote_fixture.h"

#include <cstdlib>

#include "target/private_network.h"

namespace tw::tuner {

void RemoteTest::TearDown() {
  TargetTest::TearDown();
  far_.reset();
}

bool RemoteTest::start(Far far) {
  std::string missing = far == Far::ssh ? missing_for_ssh() : missing_for_adb();
  if (!missing.empty()) missing += ": scripts/setup-arm-tools installs it";
  if (missing.empty()) missing = enter_private_network();
  if (!missing.empty()) {
    const bool must = std::getenv("TILEWRIGHT_ALL_TOOLS") != nullptr;
    [&] {
      if (must) FAIL() << missing;
      GTEST_SKIP() << missing;
    }();
    return false;
  }
  const std::filesystem::path folder = folder_ / "far_end";
  std::filesystem::create_directory(folder);
  set_environment("TILEWRIGHT_TARGET_FOLDER", scratch_);
  if (far == Far::ssh) {
    far_ = std::make_unique<SshFarEnd>(folder.string());
  } else {
    far_ = std::make_unique<AdbFarEnd>(folder.string());
  }
  return true;
}

}  // namespace tw::tuner
