// Debian's TensorFlow Lite with our delegate, on models of one node or few.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model.h"

namespace tw::litert {

struct RunOptions {
  bool with_us = true;
  std::string more = "";         ///< of run_model's options
  std::string environment = "";  ///< "NAME=VALUE ..."
  const char* plugin = nullptr;  ///< another library
};

struct Outcome {
  int status = 0;
  std::string messages;  ///< of the runtime, of ours and of run_model
  std::vector<uint8_t> outputs;
  /// As the runtime says: nodes that it has replaced by the delegate's.
  size_t replaced = 0;
  size_t partitions = 0;
  double microseconds = 0;
  size_t kib = 0;  ///< that the process has grown by
};

class LitertTest : public testing::Test {
 protected:
  /// Skips where the packages are not set up; fails then where TILEWRIGHT_ALL_TOOLS is set.
  void SetUp() override;
  static Outcome run_model(const Model& model, const std::vector<uint8_t>& inputs,
                           const RunOptions& options = {});
};

}  // namespace tw::litert
