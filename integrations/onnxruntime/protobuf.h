// Fields of messages as protobuf writes them: a number and a wire type, then the value
// (protobuf.dev).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace tw::onnxruntime::protobuf {

enum Wire : uint64_t { wire_number = 0, wire_bytes = 2, wire_float = 5 };

inline std::string varint(uint64_t value) {
  std::string made;
  for (; value > 127; value /= 128) made += static_cast<char>(value % 128 + 128);
  return made + static_cast<char>(value);
}

inline std::string number(uint64_t field, int64_t value) {
  return varint(field * 8 + wire_number) + varint(static_cast<uint64_t>(value));
}

/// Text, or a message.
inline std::string bytes(uint64_t field, const std::string& value) {
  return varint(field * 8 + wire_bytes) + varint(value.size()) + value;
}

inline std::string single(uint64_t field, float value) {
  std::string raw(sizeof value, '\0');
  std::memcpy(raw.data(), &value, sizeof value);
  return varint(field * 8 + wire_float) + raw;
}

}  // namespace tw::onnxruntime::protobuf
