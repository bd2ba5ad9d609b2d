// Compiles where onnxruntime_abi.h agrees with ONNX Runtime's own headers.
#include "integrations/onnxruntime/onnxruntime_abi.h"

#include "onnxruntime_c_api.h"

namespace tw::onnxruntime {

#define SAME_PLACE(ours, our_member, theirs, their_member)                      \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                sizeof(ours::our_member) == sizeof(theirs::their_member))

static_assert(interface_version == ORT_API_VERSION);

SAME_PLACE(Api, create_status, OrtApi, CreateStatus);
SAME_PLACE(Api, message_of_status, OrtApi, GetErrorMessage);
SAME_PLACE(Api, create_environment, OrtApi, CreateEnv);
SAME_PLACE(Api, create_session, OrtApi, CreateSessionFromArray);
SAME_PLACE(Api, run, OrtApi, Run);
SAME_PLACE(Api, create_options, OrtApi, CreateSessionOptions);
SAME_PLACE(Api, set_threads, OrtApi, SetIntraOpNumThreads);
SAME_PLACE(Api, create_tensor, OrtApi, CreateTensorAsOrtValue);
SAME_PLACE(Api, mutable_data, OrtApi, GetTensorMutableData);
SAME_PLACE(Api, tensor_info, OrtApi, CastTypeInfoToTensorInfo);
SAME_PLACE(Api, element_type, OrtApi, GetTensorElementType);
SAME_PLACE(Api, rank, OrtApi, GetDimensionsCount);
SAME_PLACE(Api, extents, OrtApi, GetDimensions);
SAME_PLACE(Api, shape_of, OrtApi, GetTensorTypeAndShape);
SAME_PLACE(Api, default_allocator, OrtApi, GetAllocatorWithDefaultOptions);
SAME_PLACE(Api, input, OrtApi, KernelContext_GetInput);
SAME_PLACE(Api, output, OrtApi, KernelContext_GetOutput);
SAME_PLACE(Api, release_environment, OrtApi, ReleaseEnv);
SAME_PLACE(Api, release_status, OrtApi, ReleaseStatus);
SAME_PLACE(Api, release_session, OrtApi, ReleaseSession);
SAME_PLACE(Api, release_value, OrtApi, ReleaseValue);
SAME_PLACE(Api, release_shape, OrtApi, ReleaseTensorTypeAndShapeInfo);
SAME_PLACE(Api, release_options, OrtApi, ReleaseSessionOptions);
SAME_PLACE(Api, read_attribute, OrtApi, ReadOpAttr);
SAME_PLACE(Api, parallel_for, OrtApi, KernelContext_ParallelFor);
SAME_PLACE(Api, name_of_value, OrtApi, GetValueInfoName);
SAME_PLACE(Api, type_of_value, OrtApi, GetValueInfoTypeInfo);
SAME_PLACE(Api, all_pairs, OrtApi, GetKeyValuePairs);
SAME_PLACE(Api, release_pairs, OrtApi, ReleaseKeyValuePairs);
SAME_PLACE(Api, device_kind, OrtApi, HardwareDevice_Type);
SAME_PLACE(Api, provider_api, OrtApi, GetEpApi);
SAME_PLACE(Api, initializer, OrtApi, ValueInfo_GetInitializerValue);
SAME_PLACE(Api, is_constant, OrtApi, ValueInfo_IsConstantInitializer);
SAME_PLACE(Api, node_count, OrtApi, Graph_GetNumNodes);
SAME_PLACE(Api, nodes, OrtApi, Graph_GetNodes);
SAME_PLACE(Api, name_of_node, OrtApi, Node_GetName);
SAME_PLACE(Api, operator_of_node, OrtApi, Node_GetOperatorType);
SAME_PLACE(Api, domain_of_node, OrtApi, Node_GetDomain);
SAME_PLACE(Api, input_count, OrtApi, Node_GetNumInputs);
SAME_PLACE(Api, inputs, OrtApi, Node_GetInputs);
SAME_PLACE(Api, output_count, OrtApi, Node_GetNumOutputs);
SAME_PLACE(Api, outputs, OrtApi, Node_GetOutputs);
SAME_PLACE(Api, attribute, OrtApi, Node_GetAttributeByName);
SAME_PLACE(Api, data, OrtApi, GetTensorData);
SAME_PLACE(Api, entries, OrtApi, GetSessionOptionsConfigEntries);

SAME_PLACE(ApiBase, api, OrtApiBase, GetApi);
SAME_PLACE(ApiBase, version, OrtApiBase, GetVersionString);

SAME_PLACE(ProviderApi, create_device, OrtEpApi, CreateEpDevice);
SAME_PLACE(ProviderApi, add_nodes, OrtEpApi, EpGraphSupportInfo_AddNodesToFuse);

static_assert(sizeof(FusionOptions) == sizeof(OrtNodeFusionOptions));
SAME_PLACE(FusionOptions, version, OrtNodeFusionOptions, ort_version_supported);
SAME_PLACE(FusionOptions, drops_constants, OrtNodeFusionOptions, drop_constant_initializers);

static_assert(sizeof(NodeCompute) == sizeof(OrtNodeComputeInfo));
SAME_PLACE(NodeCompute, version, OrtNodeComputeInfo, ort_version_supported);
SAME_PLACE(NodeCompute, create_state, OrtNodeComputeInfo, CreateState);
SAME_PLACE(NodeCompute, compute, OrtNodeComputeInfo, Compute);
SAME_PLACE(NodeCompute, release_state, OrtNodeComputeInfo, ReleaseState);

static_assert(sizeof(Provider) == sizeof(OrtEp));
SAME_PLACE(Provider, version, OrtEp, ort_version_supported);
SAME_PLACE(Provider, name, OrtEp, GetName);
SAME_PLACE(Provider, claim, OrtEp, GetCapability);
SAME_PLACE(Provider, compile, OrtEp, Compile);
SAME_PLACE(Provider, release_computes, OrtEp, ReleaseNodeComputeInfos);

static_assert(sizeof(ProviderFactory) == sizeof(OrtEpFactory));
SAME_PLACE(ProviderFactory, version, OrtEpFactory, ort_version_supported);
SAME_PLACE(ProviderFactory, name, OrtEpFactory, GetName);
SAME_PLACE(ProviderFactory, vendor, OrtEpFactory, GetVendor);
SAME_PLACE(ProviderFactory, devices, OrtEpFactory, GetSupportedDevices);
SAME_PLACE(ProviderFactory, create, OrtEpFactory, CreateEp);
SAME_PLACE(ProviderFactory, release, OrtEpFactory, ReleaseEp);
SAME_PLACE(ProviderFactory, vendor_id, OrtEpFactory, GetVendorId);
SAME_PLACE(ProviderFactory, library_version, OrtEpFactory, GetVersion);
SAME_PLACE(ProviderFactory, create_allocator, OrtEpFactory, CreateAllocator);
SAME_PLACE(ProviderFactory, release_allocator, OrtEpFactory, ReleaseAllocator);
SAME_PLACE(ProviderFactory, create_transfer, OrtEpFactory, CreateDataTransfer);
SAME_PLACE(ProviderFactory, knows_streams, OrtEpFactory, IsStreamAware);

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int64_t>(ours) == static_cast<int64_t>(theirs);
}
static_assert(same(status_failed, ORT_FAIL));
static_assert(same(logging_errors, ORT_LOGGING_LEVEL_ERROR));
static_assert(same(type_none, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) &&
              same(type_f32, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) &&
              same(type_u8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8) &&
              same(type_i8, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8) &&
              same(type_i32, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32));
static_assert(same(attribute_int, ORT_OP_ATTR_INT) && same(attribute_ints, ORT_OP_ATTR_INTS) &&
              same(attribute_float, ORT_OP_ATTR_FLOAT) &&
              same(attribute_string, ORT_OP_ATTR_STRING));
static_assert(same(device_cpu, OrtHardwareDeviceType_CPU));

}  // namespace tw::onnxruntime
