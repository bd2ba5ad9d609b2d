// What is known from measuring: the records in the file that TILEWRIGHT_RECORDS names.
#pragma once

#include "tilewright/tilewright.h"
#include "tuner/choose.h"

namespace tw::ggml {

struct Settings {
  tuner::Choice choice;  ///< has the texts that rows point to
  std::vector<tw_setting> rows;
};
/// Empty without records. One thread at a time.
Settings find_settings(const tw_device& device, const tw_matmul& matmul);

}  // namespace tw::ggml
