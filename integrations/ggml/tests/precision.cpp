// precision: prints for which precisions of activations (ggml_prec_set_src) our device takes
// products of Q4_0 weights.
#include <ggml-backend.h>
#include <ggml.h>

#include <cstdio>

namespace {

constexpr ggml_prec kPrecisions[] = {GGML_PREC_UNDEFINED, GGML_PREC_F32, GGML_PREC_BF16,
                                     GGML_PREC_F16,       GGML_PREC_Q8,  GGML_PREC_Q4};

void ask(ggml_backend_dev_t device, ggml_tensor* product) {
  std::printf("%s:", ggml_op_name(product->op));
  for (const ggml_prec precision : kPrecisions) {
    if (!ggml_prec_set_src(product, precision, 1)) std::printf(" (not set)");
    std::printf(" %d %s", precision,
                ggml_backend_dev_supports_op(device, product) ? "taken" : "refused");
  }
  std::printf("\n");
}

}  // namespace

int main() {
  ggml_backend_load_all();
  ggml_backend_dev_t device = ggml_backend_dev_by_name("tilewright");
  if (device == nullptr) return 1;
  ggml_context* context = ggml_init({size_t{1} << 16, nullptr, true});
  ggml_tensor* weights = ggml_new_tensor_3d(context, GGML_TYPE_Q4_0, 64, 64, 4);
  ggml_tensor* input = ggml_new_tensor_3d(context, GGML_TYPE_F32, 64, 2, 8);
  ggml_tensor* ids = ggml_new_tensor_2d(context, GGML_TYPE_I32, 2, 8);
  // As llama.cpp asks before it loads weights.
  weights->buffer = ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(device), 0);
  ask(device, ggml_mul_mat(context, weights, input));
  ask(device, ggml_mul_mat_id(context, weights, input, ids));
  ggml_backend_buffer_free(weights->buffer);
  ggml_free(context);
  return 0;
}
