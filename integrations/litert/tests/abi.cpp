// Compiles where litert_abi.h agrees with TensorFlow Lite's own headers.
#include "integrations/litert/litert_abi.h"

#include "tensorflow/lite/builtin_ops.h"
#include "tensorflow/lite/c/builtin_op_data.h"
#include "tensorflow/lite/c/common.h"

namespace tw::litert {

#define SAME_PLACE(ours, our_member, theirs, their_member)                      \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                sizeof(ours::our_member) == sizeof(theirs::their_member))

SAME_PLACE(Ints, size, TfLiteIntArray, size);
static_assert(offsetof(Ints, data) == offsetof(TfLiteIntArray, data));
static_assert(offsetof(Floats, data) == offsetof(TfLiteFloatArray, data));
SAME_PLACE(AffineQuantization, scale, TfLiteAffineQuantization, scale);
SAME_PLACE(AffineQuantization, zero_point, TfLiteAffineQuantization, zero_point);
SAME_PLACE(AffineQuantization, dimension, TfLiteAffineQuantization, quantized_dimension);

static_assert(sizeof(Tensor) == sizeof(TfLiteTensor));
SAME_PLACE(Tensor, type, TfLiteTensor, type);
SAME_PLACE(Tensor, data, TfLiteTensor, data);
SAME_PLACE(Tensor, dims, TfLiteTensor, dims);
SAME_PLACE(Tensor, params, TfLiteTensor, params);
SAME_PLACE(Tensor, allocation, TfLiteTensor, allocation_type);
SAME_PLACE(Tensor, bytes, TfLiteTensor, bytes);
SAME_PLACE(Tensor, quantization, TfLiteTensor, quantization);
SAME_PLACE(Tensor, sparsity, TfLiteTensor, sparsity);

static_assert(sizeof(Node) == sizeof(TfLiteNode));
SAME_PLACE(Node, inputs, TfLiteNode, inputs);
SAME_PLACE(Node, outputs, TfLiteNode, outputs);
SAME_PLACE(Node, user_data, TfLiteNode, user_data);
SAME_PLACE(Node, builtin, TfLiteNode, builtin_data);

static_assert(sizeof(Registration) == sizeof(TfLiteRegistration));
SAME_PLACE(Registration, init, TfLiteRegistration, init);
SAME_PLACE(Registration, free, TfLiteRegistration, free);
SAME_PLACE(Registration, prepare, TfLiteRegistration, prepare);
SAME_PLACE(Registration, invoke, TfLiteRegistration, invoke);
SAME_PLACE(Registration, builtin, TfLiteRegistration, builtin_code);
SAME_PLACE(Registration, custom_name, TfLiteRegistration, custom_name);
SAME_PLACE(Registration, version, TfLiteRegistration, version);

SAME_PLACE(Context, execution_plan, TfLiteContext, GetExecutionPlan);
SAME_PLACE(Context, tensors, TfLiteContext, tensors);
SAME_PLACE(Context, resize_tensor, TfLiteContext, ResizeTensor);
SAME_PLACE(Context, report_error, TfLiteContext, ReportError);
SAME_PLACE(Context, node_and_registration, TfLiteContext, GetNodeAndRegistration);
SAME_PLACE(Context, replace_nodes, TfLiteContext, ReplaceNodeSubsetsWithDelegateKernels);
SAME_PLACE(Context, threads, TfLiteContext, recommended_num_threads);
SAME_PLACE(Context, preview, TfLiteContext, PreviewDelegatePartitioning);

static_assert(sizeof(Delegate) == sizeof(TfLiteDelegate));
SAME_PLACE(Delegate, data, TfLiteDelegate, data_);
SAME_PLACE(Delegate, prepare, TfLiteDelegate, Prepare);
SAME_PLACE(Delegate, flags, TfLiteDelegate, flags);

static_assert(sizeof(Partition) == sizeof(TfLiteDelegateParams));
SAME_PLACE(Partition, delegate, TfLiteDelegateParams, delegate);
SAME_PLACE(Partition, nodes, TfLiteDelegateParams, nodes_to_replace);
SAME_PLACE(Partition, inputs, TfLiteDelegateParams, input_tensors);
SAME_PLACE(Partition, outputs, TfLiteDelegateParams, output_tensors);

static_assert(sizeof(FullyConnectedOptions) == sizeof(TfLiteFullyConnectedParams));
SAME_PLACE(FullyConnectedOptions, activation, TfLiteFullyConnectedParams, activation);
SAME_PLACE(FullyConnectedOptions, weights_format, TfLiteFullyConnectedParams, weights_format);
SAME_PLACE(FullyConnectedOptions, keeps_dimensions, TfLiteFullyConnectedParams, keep_num_dims);
SAME_PLACE(FullyConnectedOptions, asymmetric_inputs, TfLiteFullyConnectedParams,
           asymmetric_quantize_inputs);

static_assert(sizeof(ConvolutionOptions) == sizeof(TfLiteConvParams));
SAME_PLACE(ConvolutionOptions, padding, TfLiteConvParams, padding);
SAME_PLACE(ConvolutionOptions, stride_width, TfLiteConvParams, stride_width);
SAME_PLACE(ConvolutionOptions, stride_height, TfLiteConvParams, stride_height);
SAME_PLACE(ConvolutionOptions, activation, TfLiteConvParams, activation);
SAME_PLACE(ConvolutionOptions, dilation_width, TfLiteConvParams, dilation_width_factor);
SAME_PLACE(ConvolutionOptions, dilation_height, TfLiteConvParams, dilation_height_factor);

static_assert(sizeof(BatchMatMulOptions) == sizeof(TfLiteBatchMatMulParams));
SAME_PLACE(DepthwiseOptions, padding, TfLiteDepthwiseConvParams, padding);
SAME_PLACE(DepthwiseOptions, stride_width, TfLiteDepthwiseConvParams, stride_width);
SAME_PLACE(DepthwiseOptions, stride_height, TfLiteDepthwiseConvParams, stride_height);
SAME_PLACE(DepthwiseOptions, multiplier, TfLiteDepthwiseConvParams, depth_multiplier);
SAME_PLACE(DepthwiseOptions, activation, TfLiteDepthwiseConvParams, activation);
SAME_PLACE(DepthwiseOptions, dilation_width, TfLiteDepthwiseConvParams, dilation_width_factor);
SAME_PLACE(DepthwiseOptions, dilation_height, TfLiteDepthwiseConvParams, dilation_height_factor);

SAME_PLACE(TransposedOptions, padding, TfLiteTransposeConvParams, padding);
SAME_PLACE(TransposedOptions, stride_width, TfLiteTransposeConvParams, stride_width);
SAME_PLACE(TransposedOptions, stride_height, TfLiteTransposeConvParams, stride_height);
SAME_PLACE(TransposedOptions, activation, TfLiteTransposeConvParams, activation);

SAME_PLACE(BatchMatMulOptions, transposes_left, TfLiteBatchMatMulParams, adj_x);
SAME_PLACE(BatchMatMulOptions, transposes_right, TfLiteBatchMatMulParams, adj_y);

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int64_t>(ours) == static_cast<int64_t>(theirs);
}
static_assert(same(ok, kTfLiteOk) && same(error, kTfLiteError));
static_assert(same(type_f32, kTfLiteFloat32) && same(type_i32, kTfLiteInt32) &&
              same(type_i8, kTfLiteInt8) && same(type_f16, kTfLiteFloat16) &&
              same(type_i4, kTfLiteInt4));
static_assert(same(allocation_read_only, kTfLiteMmapRo));
static_assert(same(quantization_affine, kTfLiteAffineQuantization));
static_assert(same(activation_none, kTfLiteActNone) && same(activation_relu, kTfLiteActRelu) &&
              same(activation_relu_n1_to_1, kTfLiteActReluN1To1) &&
              same(activation_relu6, kTfLiteActRelu6));
static_assert(same(padding_same, kTfLitePaddingSame) && same(padding_valid, kTfLitePaddingValid));
static_assert(same(builtin_conv_2d, kTfLiteBuiltinConv2d) &&
              same(builtin_depthwise_conv_2d, kTfLiteBuiltinDepthwiseConv2d) &&
              same(builtin_dequantize, kTfLiteBuiltinDequantize) &&
              same(builtin_fully_connected, kTfLiteBuiltinFullyConnected) &&
              same(builtin_transpose_conv, kTfLiteBuiltinTransposeConv) &&
              same(builtin_batch_matmul, kTfLiteBuiltinBatchMatmul));
static_assert(same(flag_allows_dynamic_tensors, kTfLiteDelegateFlagsAllowDynamicTensors));
static_assert(same(no_tensor, kTfLiteOptionalTensor));

}  // namespace tw::litert
