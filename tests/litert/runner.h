// Models run with our delegate: by a host that these tests play, or by Debian's TensorFlow Lite.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "litert/models/model.h"

namespace tw::litert {

struct RunOptions {
  int threads = 1;                             ///< the interpreter's
  std::map<std::string, std::string> options;  ///< the delegate's
  std::vector<int32_t> shape;                  ///< that the first input is given; empty: its own
  int clones = 1;  ///< interpreters of the model; the last one's outputs count
  std::map<std::string, std::string> environment;
  bool with_us = true;  ///< false: packages only
};

struct Outcome {
  int status = 0;
  std::string messages;  ///< of the host, and of ours
  std::vector<uint8_t> outputs;
  size_t replaced = 0;  ///< nodes, by the delegate's, as the host says
  size_t kib = 0;       ///< that the process has grown by; packages only
};

class LitertTest : public testing::Test {
 protected:
  /// Skips where there is no host; fails then where TILEWRIGHT_ALL_TOOLS is set.
  void SetUp() override;
  static Outcome run_model(const Model& model, const std::vector<uint8_t>& inputs,
                           const RunOptions& options = {});
};

}  // namespace tw::litert
