// Files of records as the commands read them: the user's, and those that ship.
#pragma once

#include <string>
#include <vector>

#include "tuner/record.h"

namespace tw {

/// Of all files; damaged lines are counted on stderr and left out.
std::vector<tuner::Record> read_all_records(const std::vector<std::string>& files);

/// The lower layer: of the folder `records` that ships, or of the one that the environment variable
/// TILEWRIGHT_SHIPPED_RECORDS names ("": none). A folder that is not there has none.
std::vector<tuner::Record> shipped_records();

}  // namespace tw
