// What can be tried for a weight matrix on this device.
#pragma once

#include <memory>
#include <vector>

#include "tuner/choose.h"

namespace tw::tuner {

/// A kernel and everything else that a plan lets one choose, as in effect.
struct Candidate {
  const tw_kernel* kernel = nullptr;
  tw_tuning tuning = {};
};
Configuration configuration_of(const Candidate& candidate);

/// What the plan would do for m rows; throws std::runtime_error when it is refused.
Candidate planned_candidate(const tw_device& device, const Wanted& wanted, size_t m);

/// All kernels that run here by packed weights, with what the plan sets for them, the cost model's
/// first choice first. Those predicted to take `hopeless` times as long as the best are left out.
std::vector<Candidate> kernel_candidates(const tw_device& device, const Wanted& wanted, size_t m,
                                         double hopeless);

/// Other prefetch distances than the candidate's.
std::vector<Candidate> prefetch_neighbors(const Candidate& candidate, const Wanted& wanted);
/// With weights that are decoded first, with what the plan sets for that; none where they are,
/// where the plan has no decoder, or where the cost model expects twice the time.
std::vector<Candidate> decode_neighbors(const tw_device& device, const Candidate& candidate,
                                        const Wanted& wanted, size_t m);
/// Other blocks and orders.
std::vector<Candidate> block_neighbors(const Candidate& candidate, const Wanted& wanted, size_t m);

}  // namespace tw::tuner
