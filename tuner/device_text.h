// A machine's description as text: JSON that can be kept and planned with elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "tilewright/tilewright.h"
#include "tuner/record.h"

namespace tw::tuner {

/// Separated by blanks; "" for none.
std::string feature_names(tw_features features);

/// The numbers of a cluster's CPUs, "0-3,8"; "" if they are not known.
std::string cpu_list(const tw_cluster& cluster);

/// All but the limit to an ISA, which is no property of a machine; indented, with a newline at its
/// end.
std::string to_text(const tw_device& device);
/// Throws RecordError that names the member and what would be legal.
tw_device device_from_text(std::string_view text);

/// Index of the cluster that the CPU is of; 0 if the description does not say.
size_t cluster_of(const tw_device& device, int cpu);

/// What records of that cluster have as their core. `cluster` is one of the device's.
Core core_of(const tw_device& device, size_t cluster);

}  // namespace tw::tuner
