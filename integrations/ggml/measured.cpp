#include "integrations/ggml/measured.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

#include "integrations/common/message.h"
#include "integrations/common/other_weights.h"
#include "integrations/ggml/symbols.h"

namespace tw::ggml {

namespace {

struct Context;  // the host's

struct ContextParameters {
  size_t bytes;
  void* memory;
  bool has_no_data;
};

/// What the host computes one product with.
struct Functions {
  Context* (*make_context)(ContextParameters);
  void (*free_context)(Context*);
  Tensor* (*tensor)(Context*, int32_t type, int64_t values, int64_t rows);
  Tensor* (*product)(Context*, Tensor* weights, Tensor* input);
  Graph* (*graph)(Context*);
  void (*add)(Graph*, Tensor*);
  Buffer* (*allocate)(BufferType*, size_t);
  size_t (*bytes)(BufferType*, const Tensor*);
  void (*free_buffer)(Buffer*);
  void* (*base)(Buffer*);
  Status (*place)(Buffer*, Tensor*, void*);
  void (*set)(Tensor*, const void*, size_t offset, size_t size);
  Backend* (*make_backend)(Device*, const char* parameters);
  void (*free_backend)(Backend*);
  Status (*compute)(Backend*, Graph*);
  bool (*supports)(Device*, const Tensor*);
  Device* (*device_of_type)(int);
  Registration* (*registration)(Device*);
  void* (*function)(Registration*, const char*);
};

struct Missing : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Function>
void find_or_throw(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find_symbol(name));
  if (function == nullptr) throw Missing(fmt::format("it has no {}", name));
}

Functions find_functions() {
  Functions its = {};
  find_or_throw(its.make_context, "ggml_init");
  find_or_throw(its.free_context, "ggml_free");
  find_or_throw(its.tensor, "ggml_new_tensor_2d");
  find_or_throw(its.product, "ggml_mul_mat");
  find_or_throw(its.graph, "ggml_new_graph");
  find_or_throw(its.add, "ggml_build_forward_expand");
  find_or_throw(its.allocate, "ggml_backend_buft_alloc_buffer");
  find_or_throw(its.bytes, "ggml_backend_buft_get_alloc_size");
  find_or_throw(its.free_buffer, "ggml_backend_buffer_free");
  find_or_throw(its.base, "ggml_backend_buffer_get_base");
  find_or_throw(its.place, "ggml_backend_tensor_alloc");
  find_or_throw(its.set, "ggml_backend_tensor_set");
  find_or_throw(its.make_backend, "ggml_backend_dev_init");
  find_or_throw(its.free_backend, "ggml_backend_free");
  find_or_throw(its.compute, "ggml_backend_graph_compute");
  find_or_throw(its.supports, "ggml_backend_dev_supports_op");
  find_or_throw(its.device_of_type, "ggml_backend_dev_by_type");
  find_or_throw(its.registration, "ggml_backend_dev_backend_reg");
  find_or_throw(its.function, "ggml_backend_reg_get_proc_address");
  return its;
}

template <class T>
T* there(T* object) {
  if (object == nullptr) throw std::bad_alloc();
  return object;
}

/// One product of rows by weights that mean nothing, on one thread.
class Product {
 public:
  Product(const Functions& host, const Packing& packing, size_t rows)
      : host_(host), context_(there(host.make_context({kContextBytes, nullptr, true}))) {
    const auto k = static_cast<int64_t>(packing.k);
    weights_ = host.tensor(context_, packing.type->number, k, static_cast<int64_t>(packing.n));
    input_ = host.tensor(context_, type_f32, k, static_cast<int64_t>(rows));
    std::strcpy(weights_->name, kMeasuredWeights);
    output_ = host.product(context_, weights_, input_);
    graph_ = host.graph(context_);
    host.add(graph_, output_);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    if (backend_ != nullptr) host_.free_backend(backend_);
    for (Buffer* buffer : buffers_) host_.free_buffer(buffer);
    host_.free_context(context_);
  }

  /// Where the CPU's device keeps such weights, as llama.cpp chooses: repacked if it can be.
  BufferType* place_of_ggmls(Device* cpu, BufferType* otherwise) {
    const auto others = reinterpret_cast<BufferType** (*)(Device*)>(
        host_.function(host_.registration(cpu), "ggml_backend_dev_get_extra_bufts"));
    BufferType** other = others == nullptr ? nullptr : others(cpu);
    for (; other != nullptr && *other != nullptr; ++other) {
      Buffer* nowhere = there(host_.allocate(*other, 0));
      weights_->buffer = nowhere;
      const bool is_taken = host_.supports(cpu, output_);
      weights_->buffer = nullptr;
      host_.free_buffer(nowhere);
      if (is_taken) return *other;
    }
    return otherwise;
  }

  void place(const Side& side, BufferType* activations) {
    place(weights_, side.weights);
    place(input_, activations);
    place(output_, activations);
    fill<uint8_t>(weights_, 0);  // also a legal scale of every type
    fill<float>(input_, 1);
    backend_ = there(host_.make_backend(side.device, nullptr));
    const auto set_threads = reinterpret_cast<void (*)(Backend*, int)>(
        host_.function(host_.registration(side.device), "ggml_backend_set_n_threads"));
    if (set_threads == nullptr) throw Missing("it has no ggml_backend_set_n_threads");
    set_threads(backend_, 1);
  }

  double seconds() {
    const auto start = std::chrono::steady_clock::now();
    if (host_.compute(backend_, graph_) != success) throw std::runtime_error("a product failed");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  static constexpr size_t kContextBytes = size_t{1} << 20;

  void place(Tensor* tensor, BufferType* type) {
    Buffer* buffer = there(host_.allocate(type, host_.bytes(type, tensor)));
    buffers_.push_back(buffer);
    if (host_.place(buffer, tensor, host_.base(buffer)) != success) throw std::bad_alloc();
  }

  template <class T>
  void fill(Tensor* tensor, T value) {
    const std::vector<T> values(tensor->nb[1] * static_cast<size_t>(tensor->ne[1]) / sizeof(T),
                                value);
    host_.set(tensor, values.data(), 0, values.size() * sizeof(T));
  }

  const Functions& host_;
  Context* context_;
  Tensor *weights_, *input_, *output_;
  Graph* graph_;
  std::vector<Buffer*> buffers_;
  Backend* backend_ = nullptr;
};

struct Seconds {
  double ours = HUGE_VAL, ggmls = HUGE_VAL;
};

/// The best of some rounds, in which both take turns.
Seconds measure(const Functions& functions, const Host& host, const Side& ours,
                const Packing& packing, size_t rows) {
  constexpr int kRounds = 4;
  BufferType* activations = host.cpu_buffer_type();
  Product our(functions, packing, rows), their(functions, packing, rows);
  our.place(ours, activations);
  Device* cpu = there(functions.device_of_type(device_cpu));
  their.place({cpu, their.place_of_ggmls(cpu, activations)}, activations);
  our.seconds();
  their.seconds();
  OtherWeights others;
  Seconds best;
  for (int round = 0; round < kRounds; ++round) {
    // The weights of many rows are in the caches for all but the first.
    if (rows == 1) others.read();
    best.ours = std::min(best.ours, our.seconds());
    if (rows == 1) others.read();
    best.ggmls = std::min(best.ggmls, their.seconds());
  }
  return best;
}

bool is_faster(const Host& host, const Side& ours, const Packing& packing) {
  constexpr size_t kPrompt = 128, kTokens = 128, kRows = 64;
  constexpr double kNoise = 1.03, kMicroseconds = 1e6;
  static const Functions functions = find_functions();
  const Seconds one = measure(functions, host, ours, packing, 1);
  const Seconds many = measure(functions, host, ours, packing, kRows);
  const auto all = [](double of_one, double of_many) {
    return kTokens * of_one + kPrompt / kRows * of_many;
  };
  const bool faster = all(one.ours, many.ours) <= all(one.ggmls, many.ggmls) * kNoise;
  if (is_set("TILEWRIGHT_LOG", "1")) {
    message(
        "{} of {} x {}: measured 1 row {:.1f} us, ggml {:.1f} us; {} rows {:.1f} us, ggml {:.1f} "
        "us; {}",
        packing.type->name, packing.n, packing.k, one.ours * kMicroseconds,
        one.ggmls * kMicroseconds, kRows, many.ours * kMicroseconds, many.ggmls * kMicroseconds,
        faster ? "ours" : "left to ggml");
  }
  return faster;
}

/// As many rows of a large matrix as show how fast it is.
size_t measured_rows(const Packing& packing) {
  constexpr size_t kWeights = size_t{4} << 20, kFewest = 64;
  return std::min(packing.n, std::max(kFewest, kWeights / packing.k / kFewest * kFewest));
}

}  // namespace

bool is_measured_faster(const Host& host, const Side& ours, const Packing& packing) {
  static std::mutex mutex;
  static std::map<const Packing*, bool> known;
  const Packing* part = find_packing(*packing.type, measured_rows(packing), packing.k);
  if (part == nullptr) return true;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(part); found != known.end()) return found->second;
  try {
    return known[part] = is_faster(host, ours, *part);
  } catch (const std::exception& error) {
    message("this ggml cannot be measured: {}", error.what());
    return known[part] = true;
  }
}

}  // namespace tw::ggml
