#pragma once
#include <string>
#include "tuner/record.h"
namespace tw::tuner {
std::string to_text(const tw_device& device);
Core core_of(const tw_device& device, size_t cluster);
size_t cluster_of(const tw_device& device, int cpu);
}  // namespace tw::tuner
