// Tests over a real sshd and a real adbd: skipped where they cannot run.
#pragma once

#include <memory>

#include "target/far_end.h"
#include "target/target_fixture.h"

namespace tw::tuner {

enum class Far { ssh, adb };

class RemoteTest : public TargetTest {
 protected:
  void TearDown() override;
  /// False: skipped, or failed where all tools must be there.
  bool start(Far far);

  std::unique_ptr<FarEnd> far_;
};

}  // namespace tw::tuner
