// The execution provider of one session: claims nodes, and packs their weights.
#pragma once

#include "integrations/onnxruntime/compute.h"

namespace tw::onnxruntime {

inline constexpr char kProviderName[] = "TilewrightExecutionProvider";

/// Of the session; throws Refused for those that do not exist or have no legal value.
Settings read_settings(const Api& api, const SessionOptions* options);

/// The host gets it as a Provider, and gives it to delete_provider().
Provider* new_provider(const Api& api, const Settings& settings);
void delete_provider(Provider* provider);

}  // namespace tw::onnxruntime
