// What ONNX Runtime does with an execution provider, as far as these tests need it: models of one
// node, options, constants that are dropped when the provider asks for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnxruntime/models/cases.h"

namespace tw::onnxruntime {

struct PlayedOptions {
  std::vector<std::pair<std::string, std::string>> entries;  ///< of the session
  int threads = 1;                                           ///< of the session
  int callers = 1;                                           ///< at the same time
};

struct PlayedRun {
  std::string failed;            ///< what a call of the provider's says; "": all is well
  bool is_ours = false;          ///< the node
  bool keeps_constants = false;  ///< although all that the node needs is packed
  std::vector<Tensor> outputs;   ///< of each caller
};

/// From loading the library to releasing it.
PlayedRun play(const Case& of, const PlayedOptions& options);

/// What the library says to a runtime that is older than its interface; "": nothing.
std::string play_old_runtime();

}  // namespace tw::onnxruntime
