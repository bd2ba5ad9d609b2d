#include "integrations/common/hash.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

namespace tw {

/// Of the hashes of all pieces.
Hash hash_of(const void* data, size_t size, Threads threads) {
  constexpr size_t kPiece = size_t{1} << 20, kWorthAThread = size_t{1} << 18;
  std::vector<XXH128_hash_t> pieces((size + kPiece - 1) / kPiece);
  const auto most = static_cast<size_t>(std::max(1, threads.count));
  threads.count = static_cast<int>(std::min(size / kWorthAThread + 1, most));
  for_slices(threads, pieces.size(), [&](size_t i, size_t) {
    const size_t begin = i * kPiece;
    pieces[i] =
        XXH3_128bits(static_cast<const uint8_t*>(data) + begin, std::min(kPiece, size - begin));
  });
  const XXH128_hash_t all = XXH3_128bits(pieces.data(), pieces.size() * sizeof pieces[0]);
  return {all.low64, all.high64};
}

}  // namespace tw
