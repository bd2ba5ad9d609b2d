// Descriptions of machines that nobody here owns: tests/tuner/devices.
#pragma once

#include <string>
#include <vector>

#include "tilewright/tilewright.h"

namespace tw::tuner::test {

std::vector<std::string> device_names();
std::string saved_text(const std::string& name);
tw_device saved_device(const std::string& name);

}  // namespace tw::tuner::test
