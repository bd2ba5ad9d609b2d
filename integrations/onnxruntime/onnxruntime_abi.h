// What ONNX Runtime (interface 23, of 1.23 and later) and an execution provider tell each other:
// its structs, in our own words. Members that we do not use are there for their places.
// tests/abi.cpp compares them with its headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tw::onnxruntime {

constexpr uint32_t interface_version = 23;

/// The runtime's own, known by their addresses only. No status: all is well.
struct Status;
struct Value;
struct TypeInfo;
struct ShapeInfo;
struct KernelContext;
struct ComputeContext;
struct Attribute;
struct ValueInfo;
struct Node;
struct Graph;
struct GraphSupport;
struct HardwareDevice;
struct ProviderDevice;
struct KeyValuePairs;
struct Environment;
struct Session;
struct SessionOptions;
struct RunOptions;
struct Logger;
struct MemoryInfo;
struct Allocator;
struct DataTransfer;

enum : int32_t { status_failed = 1 };

enum : int32_t { logging_errors = 3 };

enum ElementType : int32_t {
  type_none = 0,
  type_f32 = 1,
  type_u8 = 2,
  type_i8 = 3,
  type_i32 = 6,
};

enum AttributeType : int32_t {
  attribute_int = 1,
  attribute_ints = 2,
  attribute_float = 3,
  attribute_string = 5,
};

enum DeviceKind : int32_t { device_cpu = 0 };

struct ProviderFactory;

struct FusionOptions {
  uint32_t version;
  bool drops_constants;  ///< they are no inputs of the node that is made, and may be freed
};

/// A node that was made of ours.
struct NodeCompute {
  uint32_t version;
  Status* (*create_state)(NodeCompute*, ComputeContext*, void** state);
  Status* (*compute)(NodeCompute*, void* state, KernelContext*);
  void (*release_state)(NodeCompute*, void* state);
};

struct ProviderApi {
  Status* (*create_device)(ProviderFactory*, const HardwareDevice*, const KeyValuePairs* metadata,
                           const KeyValuePairs* options, ProviderDevice** out);
  void* unused_1[1];
  Status* (*add_nodes)(GraphSupport*, const Node* const* nodes, size_t count, const FusionOptions*);
  // More follows.
};

struct Api {
  Status* (*create_status)(int32_t code, const char* message);
  void* unused_1[1];
  const char* (*message_of_status)(const Status*);
  Status* (*create_environment)(int32_t logging, const char* name, Environment** out);
  void* unused_4[4];
  Status* (*create_session)(const Environment*, const void* model, size_t bytes,
                            const SessionOptions*, Session** out);
  Status* (*run)(Session*, const RunOptions*, const char* const* names, const Value* const* inputs,
                 size_t count, const char* const* out_names, size_t out_count, Value** outputs);
  Status* (*create_options)(SessionOptions** out);
  void* unused_11[13];
  Status* (*set_threads)(SessionOptions*, int count);
  void* unused_25[23];
  Status* (*create_tensor)(Allocator*, const int64_t* extents, size_t count, int32_t type,
                           Value** out);
  void* unused_49[2];
  Status* (*mutable_data)(Value*, void** out);
  void* unused_52[3];
  Status* (*tensor_info)(const TypeInfo*, const ShapeInfo** out);  ///< null: no tensor
  void* unused_56[4];
  Status* (*element_type)(const ShapeInfo*, int32_t* out);
  Status* (*rank)(const ShapeInfo*, size_t* out);
  Status* (*extents)(const ShapeInfo*, int64_t* out, size_t count);
  void* unused_63[2];
  Status* (*shape_of)(const Value*, ShapeInfo** out);
  void* unused_66[12];
  Status* (*default_allocator)(Allocator** out);  ///< the runtime's, which nobody releases
  void* unused_79[11];
  Status* (*input)(const KernelContext*, size_t index, const Value** out);
  Status* (*output)(KernelContext*, size_t index, const int64_t* extents, size_t count,
                    Value** out);
  void (*release_environment)(Environment*);
  void (*release_status)(Status*);
  void* unused_94[1];
  void (*release_session)(Session*);
  void (*release_value)(Value*);
  void* unused_97[2];
  void (*release_shape)(ShapeInfo*);
  void (*release_options)(SessionOptions*);
  void* unused_101[171];
  Status* (*read_attribute)(const Attribute*, int32_t type, void* data, size_t bytes, size_t* out);
  void* unused_273[1];
  Status* (*parallel_for)(const KernelContext*, void (*body)(void*, size_t), size_t count,
                          size_t batches, void* data);
  void* unused_275[14];
  Status* (*name_of_value)(const ValueInfo*, const char** out);
  Status* (*type_of_value)(const ValueInfo*, const TypeInfo** out);
  void* unused_291[7];
  void (*all_pairs)(const KeyValuePairs*, const char* const** keys, const char* const** values,
                    size_t* count);
  void* unused_299[1];
  void (*release_pairs)(KeyValuePairs*);
  void* unused_301[6];
  int32_t (*device_kind)(const HardwareDevice*);
  void* unused_308[9];
  const ProviderApi* (*provider_api)();
  void* unused_318[8];
  Status* (*initializer)(const ValueInfo*, const Value** out);
  void* unused_327[4];
  Status* (*is_constant)(const ValueInfo*, bool* out);
  void* unused_332[12];
  Status* (*node_count)(const Graph*, size_t* out);
  Status* (*nodes)(const Graph*, const Node** out, size_t count);
  void* unused_346[3];
  Status* (*name_of_node)(const Node*, const char** out);
  Status* (*operator_of_node)(const Node*, const char** out);
  Status* (*domain_of_node)(const Node*, const char** out);
  void* unused_352[1];
  Status* (*input_count)(const Node*, size_t* out);
  Status* (*inputs)(const Node*, const ValueInfo** out, size_t count);  ///< null: omitted
  Status* (*output_count)(const Node*, size_t* out);
  Status* (*outputs)(const Node*, const ValueInfo** out, size_t count);
  void* unused_357[4];
  Status* (*attribute)(const Node*, const char* name,
                       const Attribute** out);  ///< null, and a status or none: there is none
  void* unused_362[16];
  Status* (*data)(const Value*, const void** out);
  Status* (*entries)(const SessionOptions*, KeyValuePairs** out);
  // More follows.
};

struct ApiBase {
  const Api* (*api)(uint32_t version);  ///< null: this runtime is too old
  const char* (*version)();
};

/// For one session. Null: the runtime does as it likes.
struct Provider {
  uint32_t version;
  const char* (*name)(const Provider*);
  Status* (*claim)(Provider*, const Graph*, GraphSupport*);
  Status* (*compile)(Provider*, const Graph** graphs, const Node** fused, size_t count,
                     NodeCompute** out, Node** contexts);
  void (*release_computes)(Provider*, NodeCompute** computes, size_t count);
  void* unused_5[8];
};

struct ProviderFactory {
  uint32_t version;
  const char* (*name)(const ProviderFactory*);
  const char* (*vendor)(const ProviderFactory*);
  Status* (*devices)(ProviderFactory*, const HardwareDevice* const* known, size_t count,
                     ProviderDevice** out, size_t most, size_t* out_count);
  Status* (*create)(ProviderFactory*, const HardwareDevice* const* devices,
                    const KeyValuePairs* const* metadata, size_t count, const SessionOptions*,
                    const Logger*, Provider** out);
  void (*release)(ProviderFactory*, Provider*);
  uint32_t (*vendor_id)(const ProviderFactory*);
  const char* (*library_version)(const ProviderFactory*);
  void* unused_8[1];
  Status* (*create_allocator)(ProviderFactory*, const MemoryInfo*, const KeyValuePairs* options,
                              Allocator** out);
  void (*release_allocator)(ProviderFactory*, Allocator*);
  Status* (*create_transfer)(ProviderFactory*, DataTransfer** out);
  bool (*knows_streams)(const ProviderFactory*);
  void* unused_13[1];
};

}  // namespace tw::onnxruntime
