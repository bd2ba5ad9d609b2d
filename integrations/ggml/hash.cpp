#include "integrations/ggml/hash.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "integrations/ggml/team.h"

namespace tw::ggml {

/// Of the hashes of all pieces.
Hash hash_of(const void* data, size_t size) {
  constexpr size_t kPiece = size_t{1} << 20;
  std::vector<XXH128_hash_t> pieces((size + kPiece - 1) / kPiece);
  share_out(pieces.size(), size, [&](size_t i) {
    const size_t begin = i * kPiece;
    pieces[i] =
        XXH3_128bits(static_cast<const uint8_t*>(data) + begin, std::min(kPiece, size - begin));
  });
  const XXH128_hash_t all = XXH3_128bits(pieces.data(), pieces.size() * sizeof pieces[0]);
  return {all.low64, all.high64};
}

}  // namespace tw::ggml
