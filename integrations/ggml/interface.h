// Which of the plug-in interfaces that we know the host has. Tables are embedded in the objects
// that they belong to, so that one of another length is a crash and no missing feature: what the
// host calls its version is believed only as far as its own objects agree.
#pragma once

#include <cstddef>

namespace tw::ggml {

struct Interface {
  int version = 0;               ///< the host's own number
  size_t buffer_type_slots = 0;  ///< 6 as in version 2, 8 as in version 3, or 7: 2's and one more
};

/// False, with a message on stderr, for one that we do not know.
bool find_interface(Interface& found);

}  // namespace tw::ggml
