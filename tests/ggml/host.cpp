#include "ggml/host.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ggml/tensors.h"
#include "reference/rows_reference.h"
#include "support/guarded_buffer.h"

namespace tw::ggml {

FakeHost fake_host;

namespace {

Registration others = {};
char cpu_type;  // stands for the CPU's buffer type

/// An object that ends with a table of so many slots, then `member` and one word more; whoever
/// reads behind it ends the program.
template <class Object>
Object* make_object(const std::string& name, size_t words_before_member, const void* member) {
  static std::map<std::string, test::GuardedBuffer> objects;
  objects.erase(name);
  const size_t bytes = (words_before_member + 2) * sizeof member;
  auto& made = objects.try_emplace(name, name, bytes, test::Flush::end).first->second;
  made.fill(0xa5);
  std::memcpy(made.data() + words_before_member * sizeof member, &member, sizeof member);
  return reinterpret_cast<Object*>(made.data());
}

Device* cpu_device() {
  return make_object<Device>("device", fake_host.device_slots, &others);
}

BufferType** extra_types(Device* cpu) {
  static BufferType* types[2] = {};
  types[0] = make_object<BufferType>("buffer type", fake_host.buffer_type_slots, cpu);
  return types;
}

const Feature* features(Registration*) {
  static const Feature with[] = {{"AVX", "1"}, {"OPENMP", "1"}, {nullptr, nullptr}};
  static const Feature without[] = {{"AVX", "1"}, {"REPACK", "1"}, {nullptr, nullptr}};
  return fake_host.features == Features::with_openmp ? with : without;
}

/// A member that make_object() has set.
template <class Member, class Object>
Member* member_of(Object* object, size_t words_before_member) {
  Member* member;
  std::memcpy(&member, reinterpret_cast<Member**>(object) + words_before_member, sizeof member);
  return member;
}

}  // namespace
}  // namespace tw::ggml

using namespace tw::ggml;

// NOLINTBEGIN(misc-definitions-in-headers)
#define HOST extern "C" __attribute__((visibility("default"), used))
HOST size_t ggml_backend_reg_count() {
  return fake_host.has_others ? 1 : 0;
}
HOST Registration* ggml_backend_reg_get(size_t) {
  others.api_version = fake_host.version;
  return &others;
}
HOST void* ggml_backend_reg_get_proc_address(Registration*, const char* name) {
  const std::string wanted = name;
  if (wanted == "ggml_backend_dev_get_extra_bufts") return reinterpret_cast<void*>(&extra_types);
  const bool has_features = fake_host.features != Features::untold;
  if (wanted != "ggml_backend_get_features" || !has_features) return nullptr;
  return reinterpret_cast<void*>(&features);
}
HOST Device* ggml_backend_dev_by_type(int type) {
  return fake_host.has_cpu && type == device_cpu ? cpu_device() : nullptr;
}
HOST Registration* ggml_backend_dev_backend_reg(Device* device) {
  return member_of<Registration>(device, fake_host.device_slots);
}
HOST Backend* ggml_backend_dev_init(Device* device, const char*) {
  return make_object<Backend>("backend", 1 + fake_host.backend_slots, device);
}
HOST Device* ggml_backend_get_device(Backend* backend) {
  return member_of<Device>(backend, 1 + fake_host.backend_slots);
}
HOST void ggml_backend_free(Backend*) {}
HOST Device* ggml_backend_buft_get_device(BufferType* type) {
  return member_of<Device>(type, fake_host.buffer_type_slots);
}
HOST Buffer* ggml_backend_buft_alloc_buffer(BufferType* type, size_t) {
  return make_object<Buffer>("buffer", fake_host.buffer_slots, type);
}
HOST BufferType* ggml_backend_buffer_get_type(Buffer* buffer) {
  return member_of<BufferType>(buffer, fake_host.buffer_slots);
}
HOST void ggml_backend_buffer_free(Buffer*) {}
HOST size_t ggml_tensor_overhead() {
  return fake_host.tensor_bytes;
}
HOST const char* ggml_op_name(int32_t op) {
  if (op == kMulMat) return "MUL_MAT";
  if (op == kMulMatId) return "MUL_MAT_ID";
  if (op == kGetRows) return "GET_ROWS";
  if (op == kFlashAttn && fake_host.has_attention) return "FLASH_ATTN_EXT";
  if (op == kGluNumber) return "GLU";
  const char* const rows[] = {"ADD", "MUL", "SCALE", "RMS_NORM", "ROPE", "SET_ROWS", "CPY", "CONT"};
  if (op >= kAddNumber && op <= kContNumber) return rows[op - kAddNumber];
  const char* const views[] = {"RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"};
  return op >= 10 && op < 14 ? views[op - 10] : "OTHER";
}
HOST Buffer* ggml_backend_buffer_init(BufferType* type, BufferFunctions functions, void* context,
                                      size_t size) {
  return new Buffer{functions, type, context, size};
}
HOST BufferType* ggml_backend_cpu_buffer_type() {
  return reinterpret_cast<BufferType*>(&cpu_type);
}
HOST bool ggml_backend_buft_is_host(BufferType* type) {
  return type == ggml_backend_cpu_buffer_type();
}
HOST int ggml_graph_n_nodes(Graph* graph) {
  return static_cast<int>(reinterpret_cast<std::vector<Tensor*>*>(graph)->size());
}
HOST Tensor* ggml_graph_node(Graph* graph, int i) {
  return reinterpret_cast<std::vector<Tensor*>*>(graph)->at(static_cast<size_t>(i));
}
HOST const char* ggml_glu_op_name(int32_t op) {
  return op == kSwigluNumber ? "SWIGLU" : "GEGLU";
}
HOST void ggml_fp32_to_fp16_row(const float* values, uint16_t* halves, int64_t count) {
  std::transform(values, values + count, halves, tw::test::half_bits);
}
HOST void ggml_fp32_to_bf16_row(const float* values, uint16_t* floats, int64_t count) {
  std::transform(values, values + count, floats, [](float value) {
    return static_cast<uint16_t>(tw::test::float_bits("bf16", tw::test::rounded_to("bf16", value)));
  });
}
namespace {
void put_blocks(const char* type, const float* values, void* blocks, int64_t count) {
  std::vector<float> rounded(values, values + count);
  tw::test::round_rows(type, rounded);
  tw::test::put_row(type, rounded.data(), rounded.size(), static_cast<uint8_t*>(blocks));
}
}  // namespace
HOST void quantize_row_q8_0(const float* values, void* blocks, int64_t count) {
  put_blocks("q8_0", values, blocks, count);
}
HOST void quantize_row_q4_0(const float* values, void* blocks, int64_t count) {
  put_blocks("q4_0", values, blocks, count);
}
// NOLINTEND(misc-definitions-in-headers)
