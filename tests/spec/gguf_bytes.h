// Small GGUF files, made here from their parts.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tw {

class GgufBytes {
 public:
  /// A number that says how much follows, and where it stands.
  struct Claim {
    size_t offset;
    size_t bytes;
  };

  explicit GgufBytes(uint32_t version = 3) {
    bytes_ = "GGUF";
    number(version, 4);
  }
  GgufBytes& counts(uint64_t tensors, uint64_t pairs) { return claim(tensors, 8).claim(pairs, 8); }
  GgufBytes& text_pair(const std::string& key, const std::string& value) {
    return text(key).number(8, 4).text(value);
  }
  GgufBytes& number_pair(const std::string& key, uint64_t value) {
    return text(key).number(4, 4).number(value, 4);
  }
  GgufBytes& float_pair(const std::string& key, float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return text(key).number(6, 4).number(bits, 4);
  }
  GgufBytes& numbers_pair(const std::string& key, const std::vector<uint64_t>& values) {
    text(key).number(9, 4).number(5, 4).claim(values.size(), 8);
    for (const uint64_t value : values) number(value, 4);
    return *this;
  }
  /// `size` bytes in `count` elements of `type`.
  GgufBytes& array_pair(const std::string& key, uint32_t type, uint64_t count, size_t size) {
    text(key).number(9, 4).number(type, 4).claim(count, 8);
    bytes_.append(size, '\0');
    return *this;
  }
  GgufBytes& texts_pair(const std::string& key, const std::vector<std::string>& values) {
    text(key).number(9, 4).number(8, 4).claim(values.size(), 8);
    for (const std::string& value : values) text(value);
    return *this;
  }
  GgufBytes& tensor(const std::string& name, const std::vector<uint64_t>& sizes, uint32_t type,
                    uint64_t offset = 0) {
    text(name).claim(sizes.size(), 4);
    for (const uint64_t size : sizes) claim(size, 8);
    return number(type, 4).number(offset, 8);
  }
  GgufBytes& values(size_t bytes) {
    bytes_.resize((bytes_.size() + 31) / 32 * 32 + bytes);
    return *this;
  }

  GgufBytes& text(const std::string& value) {
    claim(value.size(), 8);
    bytes_ += value;
    return *this;
  }
  GgufBytes& number(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> 8 * i & 255);
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<Claim>& claims() const { return claims_; }

 private:
  GgufBytes& claim(uint64_t value, size_t bytes) {
    claims_.push_back({bytes_.size(), bytes});
    return number(value, bytes);
  }
  std::string bytes_;
  std::vector<Claim> claims_;
};

/// A model of two layers with everything that the reader tells apart: 96 bytes of values.
inline GgufBytes small_gguf() {
  GgufBytes file;
  file.counts(5, 6)
      .text_pair("general.architecture", "llama")
      .text_pair("general.name", "Small one")
      .number_pair("llama.expert_used_count", 2)
      .array_pair("tokenizer.ggml.scores", 6, 3, 12)
      .texts_pair("tokenizer.ggml.tokens", {"a", "", "ccc"})
      .number_pair("general.alignment", 32)
      .tensor("blk.0.attn_norm.weight", {32}, 0)
      .tensor("blk.0.attn_q.weight", {32, 2}, 2)
      .tensor("blk.1.attn_k.weight", {32, 2}, 2, 36)
      .tensor("blk.1.ffn_up_exps.weight", {1, 2, 3}, 0, 72)
      .tensor("output.weight", {4, 3}, 1, 72)
      .values(96 + 32);
  return file;
}

}  // namespace tw
