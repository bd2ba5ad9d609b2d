// This machine, with what tests emulate.
#pragma once

#include "support/amx_emulator.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {

inline tw_device detected_device() {
  auto device = tilewright::sized<tw_device>();
  tw_device_detect(&device);
  if (tiles_here() == Tiles::emulated) {
    install_tiles();
    device.features |= TW_FEATURE_AMX_TILE | TW_FEATURE_AMX_INT8 | TW_FEATURE_AMX_BF16;
  }
  return device;
}

}  // namespace tw::test
