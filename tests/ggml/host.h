// The host that these tests play: functions by ggml's names, which the plug-in finds.
#pragma once

#include <cstddef>

#include "integrations/ggml/ggml_abi.h"

namespace tw::ggml {

enum class Features { untold, with_openmp, without_openmp };

struct FakeHost {
  int version = 3;
  bool has_others = true;  ///< backends that were loaded before
  bool has_cpu = true;     ///< among them the CPU's
  bool has_attention = true;
  Features features = Features::untold;  ///< of the CPU's backend
  size_t tensor_bytes = sizeof(Tensor) + kListEntryBytes;
  /// Of the tables in its own objects, after which there is nothing to read.
  size_t device_slots = 15, backend_slots = 16, buffer_slots = 11, buffer_type_slots = 8;
};
extern FakeHost fake_host;

/// Numbers of operations.
inline constexpr int32_t kMulMat = 5, kMulMatId = 6, kGetRows = 7, kView = 11, kFlashAttn = 74;
inline constexpr int32_t kAddNumber = 20, kMulNumber = 21, kScaleNumber = 22, kRmsNormNumber = 23,
                         kRopeNumber = 24, kSetRowsNumber = 25, kCpyNumber = 26, kContNumber = 27,
                         kGluNumber = 100;
inline constexpr int32_t kSwigluNumber = 2;  ///< among GLU's

}  // namespace tw::ggml

extern "C" tw::ggml::BufferType* ggml_backend_cpu_buffer_type();
