// What a GGUF file says of its model: metadata and the list of tensors, not their values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

namespace tw {

/// A file that is damaged, or none of its kind. what() is "FILE: byte OFFSET: what is wrong".
struct GgufError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct GgufTensor {
  std::string name;
  std::vector<uint64_t> sizes;  ///< 1 to 4, the contiguous one first: k, n, experts
  uint32_t type = 0;            ///< ggml's number
};

struct GgufModel {
  std::string architecture;   ///< "llama"; empty: not said
  std::string name;           ///< "Gemma 2B"; empty: not said
  uint64_t experts_used = 0;  ///< by a token; 0: not said
  std::vector<GgufTensor> tensors;
};

/// Versions 2 and 3, little endian. Memory and time are bounded by the file's own size, whatever
/// numbers stand in it. Throws GgufError.
GgufModel read_gguf(const std::filesystem::path& file);
/// The same of a stream's bytes; messages begin with `name`.
GgufModel read_gguf(std::istream& stream, const std::string& name);

}  // namespace tw
