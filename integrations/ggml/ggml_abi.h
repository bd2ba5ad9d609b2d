// The binary interface between ggml and its plug-ins, as far as we meet it: in versions 2 and 3 of
// the plug-in interface, and in one between them. ggml does not install a header for it. Slots that
// we leave empty, all of them optional, are declared as `Unused`; what belongs to the host is only
// ever pointed to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw::ggml {

using Unused = void*;

template <class Table>
inline constexpr size_t kSlots = sizeof(Table) / sizeof(Unused);

struct Graph;       // the host's
struct BufferType;  // ours is a BufferTypeOf<...>
struct Device;
struct Registration;

enum Status { allocation_failed = -2, failed = -1, success = 0 };

/// Numbers of types stand in model files, so that they never change.
enum TensorType {
  type_f32 = 0,
  type_f16 = 1,
  type_q4_0 = 2,
  type_q4_1 = 3,
  type_q5_0 = 6,
  type_q5_1 = 7,
  type_q8_0 = 8,
  type_q2_k = 10,
  type_q3_k = 11,
  type_q4_k = 12,
  type_q5_k = 13,
  type_q6_k = 14,
  type_iq2_xxs = 16,
  type_iq2_xs = 17,
  type_iq3_xxs = 18,
  type_iq1_s = 19,
  type_iq4_nl = 20,
  type_iq3_s = 21,
  type_iq2_s = 22,
  type_iq4_xs = 23,
  type_i32 = 26,
  type_i64 = 27,
  type_iq1_m = 29,
  type_bf16 = 30,
  type_tq1_0 = 34,
  type_tq2_0 = 35,
  type_mxfp4 = 39,
  type_nvfp4 = 40,
  type_q1_0 = 41,
  type_q2_0 = 42
};

/// Of a tensor's flags.
inline constexpr int32_t flag_input = 1;
inline constexpr int32_t flag_compute = 16;

struct Buffer;

/// Extents `ne` and strides in bytes `nb`, the innermost first.
struct Tensor {
  int32_t type = 0;
  Buffer* buffer = nullptr;
  int64_t ne[4] = {};
  size_t nb[4] = {};
  int32_t op = 0;  ///< numbers differ from version to version, names do not
  int32_t op_params[16] = {};
  int32_t flags = 0;
  Tensor* src[10] = {};
  Tensor* view_src = nullptr;
  size_t view_offs = 0;
  void* data = nullptr;
  char name[64] = {};
  void* extra = nullptr;  ///< the backend's
  char padding[8] = {};
};
/// What the host says that a tensor takes (ggml_tensor_overhead) counts its list entry too.
inline constexpr size_t kListEntryBytes = 32;
static_assert(sizeof(void*) != 8 || sizeof(Tensor) == 336);

/// To how few bits an operation may round what it multiplies (ggml_prec_set_src); hosts before ggml
/// 0.24 never ask. Smaller numbers are more bits.
enum Precision { precision_any = 0, precision_bf16 = 15, precision_q8 = 30 };
/// Of the input, src[1], in op_params of MUL_MAT and MUL_MAT_ID.
inline constexpr size_t kInputPrecision = 3;

struct BufferFunctions {
  void (*free)(Buffer*);
  void* (*base)(Buffer*);
  Status (*init_tensor)(Buffer*, Tensor*);
  void (*memset_tensor)(Buffer*, Tensor*, uint8_t value, size_t offset, size_t size);
  void (*set_tensor)(Buffer*, Tensor*, const void* data, size_t offset, size_t size);
  void (*get_tensor)(Buffer*, const Tensor*, void* data, size_t offset, size_t size);
  Unused set_tensor_2d, get_tensor_2d;
  Unused copy_tensor;
  void (*clear)(Buffer*, uint8_t value);
  Unused reset;
};

/// Its head; the host makes and frees buffers.
struct Buffer {
  BufferFunctions functions;
  BufferType* type;
  void* context;
  size_t size;
};

struct BufferTypeFunctions2 {
  const char* (*name)(BufferType*);
  Buffer* (*allocate)(BufferType*, size_t size);
  size_t (*alignment)(BufferType*);
  Unused max_size;
  size_t (*tensor_bytes)(BufferType*, const Tensor*);
  bool (*is_host)(BufferType*);
};

/// Of a version between the two that was never released.
struct BufferTypeFunctions2Longer {
  BufferTypeFunctions2 as_in_version_2;
  Unused allocation_interface;
};

struct BufferTypeFunctions3 {
  const char* (*name)(BufferType*);
  Buffer* (*allocate)(BufferType*, size_t size);
  Unused allocate_many;
  size_t (*alignment)(BufferType*);
  Unused max_size;
  size_t (*tensor_bytes)(BufferType*, const Tensor*);
  Unused tensor_bytes_many;
  bool (*is_host)(BufferType*);
};

template <class Functions>
struct BufferTypeOf {
  Functions functions;
  Device* device;
  void* context;
};

struct BackendFunctions;
struct Backend;

enum DeviceType {
  device_cpu = 0,
  device_gpu = 1,
  device_integrated_gpu = 2,
  device_accelerator = 3
};

struct DeviceProperties {
  const char* name;
  const char* description;
  size_t memory_free, memory_total;
  int32_t type;
  const char* id;
  bool async, host_buffer, buffer_from_host_pointer, events, memory_map;
};

struct DeviceFunctions {
  const char* (*name)(Device*);
  const char* (*description)(Device*);
  void (*memory)(Device*, size_t* free, size_t* total);
  DeviceType (*type)(Device*);
  void (*properties)(Device*, DeviceProperties*);
  Backend* (*make_backend)(Device*, const char* parameters);
  BufferType* (*buffer_type)(Device*);
  Unused host_buffer_type;
  Unused buffer_from_host_pointer;
  bool (*supports_op)(Device*, const Tensor*);
  bool (*supports_buffer_type)(Device*, BufferType*);
  Unused offload_op;
  Unused event_new, event_free, event_synchronize;
};

struct Device {
  DeviceFunctions functions;
  Registration* registration;
  void* context;
};

struct BackendFunctions {
  const char* (*name)(Backend*);
  void (*free)(Backend*);
  Unused unused_2_to_11[10];
  Status (*compute)(Backend*, Graph*);
  Unused unused_13_to_15[3];
};

struct Backend {
  const uint8_t* guid;  ///< 16 bytes
  BackendFunctions functions;
  Device* device;
  void* context;
};

struct Registration {
  int api_version;
  const char* (*name)(Registration*);
  size_t (*device_count)(Registration*);
  Device* (*device)(Registration*, size_t index);
  void* (*function)(Registration*, const char* name);
  void* context;
};

/// Of a list that ends with one without a name.
struct Feature {
  const char *name, *value;
};

}  // namespace tw::ggml
