// What TensorFlow Lite 2.14 and a delegate tell each other: its structs, in our own words. Members
// that we do not use are there for their places. tests/abi_test.cpp compares them with its headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw::litert {

enum Status : int32_t { ok = 0, error = 1 };

enum Type : int32_t {
  type_f32 = 1,
  type_i32 = 2,
  type_i8 = 9,
  type_f16 = 10,
  type_i4 = 18,  ///< two to a byte, the first in the low nibble; rows need not begin with a byte
};

enum Allocation : int32_t { allocation_read_only = 1 };  ///< constants of the model

enum QuantizationType : int32_t { quantization_affine = 1 };

enum Activation : int32_t {
  activation_none = 0,
  activation_relu,
  activation_relu_n1_to_1,
  activation_relu6,
};

enum PaddingType : int32_t { padding_same = 1, padding_valid = 2 };

enum Builtin : int32_t {
  builtin_conv_2d = 3,
  builtin_depthwise_conv_2d = 4,
  builtin_dequantize = 6,
  builtin_fully_connected = 9,
  builtin_transpose_conv = 67,
  builtin_batch_matmul = 126,
};

enum : int64_t { flag_allows_dynamic_tensors = 1 };
enum : int32_t { no_tensor = -1 };

/// As many values follow as `size` says; malloc's.
struct Ints {
  int32_t size;
  int32_t data[1];
};
struct Floats {
  int32_t size;
  float data[1];
};

struct AffineQuantization {
  Floats* scale;
  Ints* zero_point;
  int32_t dimension;
};

struct Tensor {
  Type type;
  void* data;
  Ints* dims;
  struct {
    float scale;
    int32_t zero_point;
  } params;
  Allocation allocation;
  size_t bytes;
  const void* allocated;
  const char* name;
  struct Delegate* delegate;
  int32_t handle;
  bool is_stale, is_variable;
  struct {
    QuantizationType type;
    void* params;  ///< AffineQuantization
  } quantization;
  void* sparsity;
  const Ints* signature;
};

struct Node {
  Ints *inputs, *outputs, *intermediates, *temporaries;
  void* user_data;
  void* builtin;  ///< FullyConnectedOptions ...
  const void* custom;
  int32_t custom_bytes;
  struct Delegate* delegate;
  bool has_side_effect;
};

struct Context;

struct Registration {
  void* (*init)(Context*, const char* buffer, size_t bytes);
  void (*free)(Context*, void* user_data);
  Status (*prepare)(Context*, Node*);
  Status (*invoke)(Context*, Node*);
  const char* (*profiling_text)(const Context*, const Node*);
  int32_t builtin;
  const char* custom_name;
  int32_t version;
  void* external;
  void* async_kernel;
  uint64_t in_place;
};

struct Context {
  size_t tensor_count;
  Status (*execution_plan)(Context*, Ints** plan);
  Tensor* tensors;
  void* implementation;
  Status (*resize_tensor)(Context*, Tensor*, Ints* dims);  ///< which it frees
  void (*report_error)(Context*, const char* format, ...);
  void* add_tensors;
  Status (*node_and_registration)(Context*, int32_t index, Node**, Registration**);
  Status (*replace_nodes)(Context*, Registration, const Ints* nodes, struct Delegate*);
  int32_t threads;  ///< -1: not set
  void *external, *set_external;
  bool allows_halves;
  void* profiler;
  void* memory[4];
  void* resize_explicit;
  /// The parts that these nodes would become; the host's until the next call.
  Status (*preview)(Context*, const Ints* nodes, struct Partition** parts, int32_t* count);
  // More follows.
};

struct Delegate {
  void* data;
  Status (*prepare)(Context*, Delegate*);
  void* copy_from_buffer;
  void* copy_to_buffer;
  void* free_buffer;
  int64_t flags;
  void* builder;
};

/// What `init` is told.
struct Partition {
  Delegate* delegate;
  Ints *nodes, *inputs, *outputs;
};

struct FullyConnectedOptions {
  Activation activation;
  int32_t weights_format;  ///< 0: rows
  bool keeps_dimensions;
  bool asymmetric_inputs;
};

struct ConvolutionOptions {
  PaddingType padding;
  int32_t stride_width, stride_height;
  Activation activation;
  int32_t dilation_width, dilation_height;
};

struct DepthwiseOptions {
  PaddingType padding;
  int32_t stride_width, stride_height;
  int32_t multiplier;  ///< outputs of each channel
  Activation activation;
  int32_t dilation_width, dilation_height;
};

struct TransposedOptions {
  PaddingType padding;
  int32_t stride_width, stride_height;
  Activation activation;
};

struct BatchMatMulOptions {
  bool transposes_left, transposes_right;
  bool asymmetric_inputs;
};

}  // namespace tw::litert
