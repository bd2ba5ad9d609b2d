// What plans of the runtime would do, and what its registry says of kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewright/tilewright.h"
#include "tuner/cost_model.h"
#include "tuner/wanted.h"

namespace tw::tuner {

struct DestroyPlan {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tw_plan, DestroyPlan>;

/// With weights in a layout (0: any), with one kernel (null: any). Null when that is refused.
Plan plan_of(const tw_device& device, const Wanted& wanted, uint64_t layout,
             const char* kernel = nullptr);

/// Of the whole tiles of m rows.
const tw_kernel* main_kernel(const tw_plan* plan, size_t m);

/// That the device runs for such weights, in the registry's order.
std::vector<const tw_kernel*> kernels_for(const tw_device& device, const Wanted& wanted);

/// nullopt: the registry has no kernel of that name, or the core no such vectors.
std::optional<KernelFacts> registry_facts(const std::string& kernel, const Core& core);

}  // namespace tw::tuner
