// A whole job: every weight matrix searched in processes of its own, the winners confirmed.
#pragma once

#include <functional>
#include <string>

#include "tuner/job.h"

namespace tw::tuner {

/// Lines as docs/tuning.md has them: records, and events of the device, of progress, of choices.
/// Throws std::runtime_error for a job that can not be done.
void tune(const Job& job, const std::function<void(const std::string&)>& emit);

/// What this program runs on, as the first event of a job says it.
std::string device_event();

}  // namespace tw::tuner
