// What a host asks of a plug-in and cannot have: it keeps that node, or ends with the message.
#pragma once

#include <stdexcept>
#include <string_view>

namespace tw {

/// What a node or an option cannot be done with; what() says it.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The option "threads" that a host gives as text. Throws Refused unless it is 1 to 1024.
int threads_option(std::string_view value);

}  // namespace tw
