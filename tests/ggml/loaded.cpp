#include "ggml/loaded.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ggml/host.h"

namespace tw::ggml {

TypeCalls calls_of(BufferType* type) {
  const bool is_longest = fake_host.buffer_type_slots == 8;
  void* const* slots = reinterpret_cast<void* const*>(type);
  TypeCalls calls;
  std::memcpy(&calls.allocate, &slots[1], sizeof(void*));
  std::memcpy(&calls.tensor_bytes, &slots[is_longest ? 5 : 4], sizeof(void*));
  std::memcpy(&calls.is_host, &slots[is_longest ? 7 : 5], sizeof(void*));
  return calls;
}

Loaded::~Loaded() {
  buffer->functions.free(buffer);
  delete buffer;
}

std::unique_ptr<Loaded> load(Device* device, const OwnTensor& source) {
  BufferType* type = device->functions.buffer_type(device);
  const TypeCalls calls = calls_of(type);
  EXPECT_FALSE(calls.is_host(type));
  auto loaded = std::make_unique<Loaded>();
  loaded->tensor = source.tensor;
  loaded->buffer = calls.allocate(type, calls.tensor_bytes(type, &source.tensor));
  Tensor& tensor = loaded->tensor;
  const BufferFunctions& functions = loaded->buffer->functions;
  tensor.buffer = loaded->buffer;
  tensor.data = functions.base(loaded->buffer);
  EXPECT_EQ(functions.init_tensor(loaded->buffer, &tensor), success);
  functions.set_tensor(loaded->buffer, &tensor, source.bytes.data(), 0, source.bytes.size());
  return loaded;
}

Bytes bytes_of(const Loaded& loaded) {
  const Tensor& tensor = loaded.tensor;
  Bytes bytes(tensor.nb[3] * static_cast<size_t>(tensor.ne[3]));
  loaded.buffer->functions.get_tensor(loaded.buffer, &tensor, bytes.data(), 0, bytes.size());
  return bytes;
}

}  // namespace tw::ggml
