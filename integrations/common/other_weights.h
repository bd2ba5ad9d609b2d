// Reads what is larger than caches, as a model's other weights are read between two uses of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tw {

class OtherWeights {
 public:
  void read() {
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < bytes_.size(); i += kLine) sum = static_cast<uint8_t>(sum + bytes_[i]);
  }

 private:
  static constexpr size_t kLine = 64, kBytes = size_t{64} << 20;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kBytes, 1);
};

}  // namespace tw
