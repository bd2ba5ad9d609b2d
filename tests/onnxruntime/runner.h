// Models of one node run on our kernels: by a host that these tests play, or in an ONNX Runtime.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "onnxruntime/models/cases.h"

namespace tw::onnxruntime {

struct RunOptions {
  int threads = 1;                             ///< the session's
  std::map<std::string, std::string> options;  ///< the provider's
  int callers = 1;                             ///< at the same time
  std::map<std::string, std::string> environment;
  // Of a runtime only:
  bool with_us = true, in_node = false;  ///< onnxruntime-node's library instead of Debian's
  std::string profile;                   ///< what its file begins with
};

struct Outcome {
  int status = 0;
  std::string messages;
  std::vector<std::vector<Tensor>> outputs;  ///< of each case
  size_t ours = 0;                           ///< nodes
  size_t kib = 0;  ///< that the process has grown by for the first case; of a runtime only
};

class OnnxTest : public testing::Test {
 protected:
  /// Skips where there is no runtime; fails then where TILEWRIGHT_ALL_TOOLS is set.
  void SetUp() override;
  static Outcome run(const std::vector<Case>& cases, const RunOptions& options = {});

  /// All are ours, and right.
  static void expect_right(const std::vector<Case>& cases, const RunOptions& options = {});
  /// Is left to the runtime, because of that.
  static void expect_refused(const Case& of, const std::string& because,
                             const RunOptions& options = {});
};

/// y is what is wanted.
void expect_outputs(const Case& of, const std::vector<Tensor>& outputs);

}  // namespace tw::onnxruntime
