#include "integrations/common/this_device.h"

#include "integrations/common/message.h"
#include "tilewright/tilewright.hpp"

namespace tw {

const tw_device& this_device() {
  static const tw_device device = [] {
    auto found = tilewright::sized<tw_device>();
    if (tw_device_detect(&found) != TW_OK) message("{}", tw_error_message());
    return found;
  }();
  return device;
}

size_t vector_bytes_of(const tw_layout& layout) {
  const tw_device& device = this_device();
  return layout.streaming != 0 ? device.streaming_vector_bytes : device.vector_bytes;
}

}  // namespace tw
