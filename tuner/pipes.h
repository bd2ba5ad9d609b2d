// Which cores multiply alike: what a choice for one says of another.
#pragma once

#include <string>

#include "tuner/record.h"

namespace tw::tuner {

/// Equal implementer and part, or equal family and model: clocks and caches may differ.
bool same_type(const Core& a, const Core& b);
/// Equal for cores whose vector units do as many multiplications a cycle; "": unknown.
std::string pipe_class(const Core& core);

}  // namespace tw::tuner
