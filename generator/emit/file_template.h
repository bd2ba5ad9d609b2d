// Text files with @NAMES@ to fill in.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tw {

/// The file's text with every @NAME@ replaced; values may hold names themselves. Throws
/// std::runtime_error for a file that cannot be read and for a name without a value.
std::string fill_template(const std::filesystem::path& file,
                          const std::map<std::string, std::string>& values);

}  // namespace tw
