// The plug-in: a registration with one device, and its backends, which multiply and attend, and do
// what stands between.
//
// llama.cpp asks the registered device where weights may lie (our buffer type), and the device of a
// backend where its outputs may lie. Those two answers differ, so there are two tables: outputs lie
// in the CPU's own memory, where ggml's other operations work on them without copies.
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "integrations/common/message.h"
#include "integrations/ggml/attention.h"
#include "integrations/ggml/buffer.h"
#include "integrations/ggml/get_rows.h"
#include "integrations/ggml/measured.h"
#include "integrations/ggml/multiply.h"
#include "integrations/ggml/row_operations.h"
#include "integrations/ggml/team.h"

namespace tw::ggml {

namespace {

/// What the functions of the tables have in common.
struct Plugin {
  const Host* host = nullptr;
  BufferType* buffer_type = nullptr;
  bool is_test = false;  ///< TILEWRIGHT_GGML_TEST=1: takes loose weights, and what is not worth it
  Registration registration = {};
  Device registered = {}, of_backends = {};
};
Plugin plugin;

struct State {
  int threads = default_threads();
  Scratch scratch;
  std::vector<Node> nodes;  ///< of one input
};

/// A context of llama.cpp that chooses for itself (`-fa auto`, its default) asks for the attention
/// of one token first, and does without flash attention if it is not the device of its layers, the
/// CPU, that takes it. So we take none on this thread from when a backend is made to when attention
/// of another number of queries is asked for (the context's largest batch comes next) or something
/// is computed.
constexpr int64_t kNoProbe = -1, kProbeComes = 0;
thread_local int64_t probe = kNoProbe;  ///< or the number of queries

bool is_probe(int64_t queries) {
  if (probe == kProbeComes) probe = queries;
  if (probe != queries) probe = kNoProbe;
  return probe != kNoProbe;
}

bool is_multiplication(int32_t op) {
  return op == plugin.host->mul_mat || op == plugin.host->mul_mat_id;
}

Node node_of(const Tensor& op) {
  const bool has_ids = op.op == plugin.host->mul_mat_id;
  return {op.src[0], op.src[1], has_ids ? op.src[2] : nullptr, &op};
}

// ---- backend ----

const char* backend_name(Backend*) {
  return "tilewright";
}

void free_backend(Backend* backend) {
  delete static_cast<State*>(backend->context);
  delete backend;
}

Status compute_nodes(State& state) {
  if (state.nodes.empty()) return success;
  const Status status = multiply(state.nodes, state.threads, state.scratch);
  state.nodes.clear();
  return status;
}

bool looks_up_weights(const Tensor& op);

Status compute_alone(State& state, const Tensor& op) {
  if (op.op == plugin.host->flash_attn) return attend(op, state.threads, state.scratch);
  if (looks_up_weights(op)) return get_rows(op, state.threads);
  const RowOperation* operation = covering_row_operation(op);
  if (operation != nullptr) return compute_rows(*operation, op, state.threads);
  message("{}: an operation that is not ours, or not as it was when we took it", op.name);
  return failed;
}

bool computes_nothing(int32_t op) {
  const auto& views = plugin.host->views;
  return std::find(std::begin(views), std::end(views), op) != std::end(views);
}

/// Graphs hold operations that nobody needs this time, whose inputs are not set; those that are
/// needed are marked, by hosts that mark any.
std::vector<const Tensor*> needed_operations(Graph* graph) {
  std::vector<const Tensor*> all, marked;
  const int count = plugin.host->node_count(graph);
  for (int i = 0; i < count; ++i) {
    const Tensor* op = plugin.host->node(graph, i);
    if (computes_nothing(op->op)) continue;
    all.push_back(op);
    if ((op->flags & flag_compute) != 0) marked.push_back(op);
  }
  return marked.empty() ? all : marked;
}

/// Neighbours with one input (q, k and v; gate and up) are computed together: it is packed once.
Status compute_graph(State& state, Graph* graph) {
  state.nodes.clear();
  for (const Tensor* op : needed_operations(graph)) {
    const bool is_alone = !is_multiplication(op->op);
    const bool goes_on =
        !is_alone && !state.nodes.empty() && state.nodes.back().input == op->src[1];
    Status status = goes_on ? success : compute_nodes(state);
    if (is_alone && status == success) status = compute_alone(state, *op);
    if (status != success) return status;
    if (!is_alone) state.nodes.push_back(node_of(*op));
  }
  return compute_nodes(state);
}

Status compute(Backend* backend, Graph* graph) {
  probe = kNoProbe;
  const Gathered threads;
  try {
    return compute_graph(*static_cast<State*>(backend->context), graph);
  } catch (const std::bad_alloc&) {
    message("no memory for activations");
    return allocation_failed;
  } catch (const std::exception& error) {
    message("{}", error.what());
    return failed;
  }
}

void set_threads(Backend* backend, int threads) {
  static_cast<State*>(backend->context)->threads = std::max(1, threads);
}

// ---- device ----

const char* device_name(Device*) {
  return "tilewright";
}
const char* description(Device*) {
  return "tilewright matrix multiplication and attention on the CPU";
}
DeviceType device_type(Device*) {
  return device_accelerator;
}

/// The CPU's device says it.
void memory(Device*, size_t* free, size_t* total) {
  *free = *total = 0;
}

void properties(Device*, DeviceProperties* out) {
  *out = {};
  out->name = device_name(nullptr);
  out->description = description(nullptr);
  out->type = device_accelerator;
}

Backend* make_backend(Device*, const char*) {
  static constexpr uint8_t kGuid[16] = {0x74, 0x69, 0x6c, 0x65, 0x77, 0x72, 0x69, 0x67,
                                        0x68, 0x74, 0x2d, 0x67, 0x67, 0x6d, 0x6c, 0x31};
  BackendFunctions functions = {};
  functions.name = backend_name;
  functions.free = free_backend;
  functions.compute = compute;
  probe = kProbeComes;
  return new Backend{kGuid, functions, &plugin.of_backends, new State};
}

BufferType* packed_buffer_type(Device*) {
  return plugin.buffer_type;
}
BufferType* cpu_buffer_type(Device*) {
  return plugin.host->cpu_buffer_type();
}

bool is_ours(const Tensor& weights) {
  return weights.buffer != nullptr && weights.buffer->type == plugin.buffer_type;
}

/// A small matrix that the host makes for each graph, such as the one by which it turns heads
/// before they are rounded to a cache's blocks. It is packed for every call, which costs less than
/// handing the graph to another backend and back.
bool is_small_input(const Tensor& matrix) {
  constexpr int64_t kMost = 256;  // values of a head
  return matrix.type == type_f32 && (matrix.flags & flag_input) != 0 && matrix.ne[0] <= kMost &&
         matrix.ne[1] <= kMost && matrices_of(matrix) == 1;
}

/// Weights in our buffers are served whatever they are. Before they are anywhere, llama.cpp
/// asks with a buffer of no size: what ggml does as well is left to it.
bool takes_weights(const Tensor& weights) {
  if (weights.view_src != nullptr) return false;
  if (is_ours(weights) && weights.extra != nullptr) return true;
  if (!is_ours(weights) && !is_small_input(weights) && !plugin.is_test) return false;
  const Packing* packing = packing_of(weights);
  if (packing == nullptr || plugin.is_test) return packing != nullptr;
  if (!is_worth_it(*packing)) return false;
  const bool measures = is_ours(weights) && is_set("TILEWRIGHT_MEASURE", "1");
  return !measures ||
         is_measured_faster(*plugin.host, {&plugin.of_backends, plugin.buffer_type}, *packing);
}

/// Tables that are looked up only stay in the file that llama.cpp has mapped: of some models they
/// are larger than all the rest, and few of their rows are ever read. That of tokens may be the
/// output's weights too, which llama.cpp tells nobody before it is there.
bool takes_table(const Tensor& weights) {
  const bool is_tokens = std::strcmp(weights.name, "token_embd.weight") == 0;
  return (is_tokens || plugin.is_test || weights.extra != nullptr) && takes_weights(weights);
}

bool takes_attention(const Tensor& op) {
  if (!can_attend(op)) return false;
  return plugin.is_test || (is_worth_attending(op) && !is_probe(op.src[0]->ne[1]));
}

bool looks_up_weights(const Tensor& op) {
  return op.op == plugin.host->get_rows && can_get_rows(op) && takes_table(*op.src[0]);
}

/// What stands between products and attention, of tensors that are not packed.
bool takes_rows(const Tensor& op) {
  const auto is_packed = [](const Tensor* source) { return source != nullptr && is_ours(*source); };
  return std::none_of(std::begin(op.src), std::end(op.src), is_packed) &&
         covering_row_operation(op) != nullptr;
}

bool supports_op(Device*, const Tensor* op) {
  if (computes_nothing(op->op)) return true;
  if (op->op == plugin.host->flash_attn) return takes_attention(*op);
  if (is_multiplication(op->op)) return can_multiply(node_of(*op)) && takes_weights(*op->src[0]);
  return looks_up_weights(*op) || takes_rows(*op);
}

bool supports_buffer_type(Device*, BufferType* type) {
  return type == plugin.buffer_type || plugin.host->is_host(type);
}

Device make_device(BufferType* (*buffer_type)(Device*)) {
  DeviceFunctions functions = {};
  functions.name = device_name;
  functions.description = description;
  functions.memory = memory;
  functions.type = device_type;
  functions.properties = properties;
  functions.make_backend = make_backend;
  functions.buffer_type = buffer_type;
  functions.supports_op = supports_op;
  functions.supports_buffer_type = supports_buffer_type;
  return {functions, &plugin.registration, nullptr};
}

// ---- registration ----

const char* registration_name(Registration*) {
  return "tilewright";
}
size_t device_count(Registration*) {
  return 1;
}
Device* device(Registration*, size_t) {
  return &plugin.registered;
}

void* function(Registration*, const char* name) {
  const bool found = std::strcmp(name, "ggml_backend_set_n_threads") == 0;
  return found ? reinterpret_cast<void*>(&set_threads) : nullptr;
}

void choose_threads() {
  const bool are_openmps =
      choose_team(plugin.host->has_openmp && !is_set("TILEWRIGHT_GGML_THREADS", "own"));
  if (is_set("TILEWRIGHT_LOG", "1")) message("threads: {}", are_openmps ? "OpenMP's" : "our own");
}

Registration* make_registration() {
  plugin.host = find_host();
  if (plugin.host == nullptr) return nullptr;
  plugin.is_test = is_set("TILEWRIGHT_GGML_TEST", "1");
  choose_threads();
  plugin.registered = make_device(packed_buffer_type);
  plugin.of_backends = make_device(cpu_buffer_type);
  plugin.buffer_type = make_buffer_type(*plugin.host, &plugin.registered);
  plugin.registration = {
      plugin.host->interface.version, registration_name, device_count, device, function, nullptr};
  return &plugin.registration;
}

}  // namespace

}  // namespace tw::ggml

#define TILEWRIGHT_EXPORT extern "C" __attribute__((visibility("default")))

TILEWRIGHT_EXPORT tw::ggml::Registration* ggml_backend_init() {
  if (tw::is_set("TILEWRIGHT_GGML", "0")) return nullptr;
  return tw::ggml::make_registration();
}

TILEWRIGHT_EXPORT int ggml_backend_score() {
  return tw::is_set("TILEWRIGHT_GGML", "0") ? 0 : 100;
}
