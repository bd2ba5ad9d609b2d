// A record with every member set, and lines made by hand.
#pragma once

#include <string>

#include "tuner/record.h"

namespace tw::tuner::test {

Record sample_record();

/// `members` is a line up to its checksum: "{...". What is right and what is not, but the checksum.
std::string signed_line(const std::string& members);
/// A line without its checksum.
std::string unsigned_part(const std::string& line);

}  // namespace tw::tuner::test
