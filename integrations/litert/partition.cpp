#include "integrations/litert/partition.h"

#include <algorithm>
#include <set>

#include "integrations/common/own_team.h"
#include "integrations/litert/tensors.h"

namespace tw::litert {

namespace {

constexpr size_t kStep = 64;

size_t bytes_between(const Tensor& tensor) {
  const size_t bytes = value_count(tensor) * (tensor.type == type_i8 ? 1 : sizeof(float));
  return (bytes + kStep - 1) / kStep * kStep;
}

bool has(const Ints& list, int32_t value) {
  return std::find(list.data, list.data + list.size, value) != list.data + list.size;
}

/// The last operation that reads each tensor.
std::map<int32_t, size_t> last_readers(const std::vector<Operation>& operations) {
  std::map<int32_t, size_t> last;
  for (size_t i = 0; i < operations.size(); ++i) {
    last[operations[i].input] = i;
    last[operations[i].bias] = i;
  }
  return last;
}

/// The threads stay awake between operations.
class Awake {
 public:
  explicit Awake(int threads) : several_(threads > 1) {
    if (several_) gather_own_team();
  }
  ~Awake() {
    if (several_) dismiss_own_team();
  }
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;

 private:
  bool several_;
};

void resize(Context& context, int32_t tensor, const std::vector<int32_t>& shape) {
  Tensor& resized = context.tensors[tensor];
  const bool is_same = rank(resized) == static_cast<int32_t>(shape.size()) &&
                       std::equal(shape.begin(), shape.end(), resized.dims->data);
  if (is_same) return;
  if (context.resize_tensor(&context, &resized, make_ints(shape)) != ok)
    throw Refused("an output that the runtime does not resize");
}

}  // namespace

void Between::place(const Context& context, const std::vector<Operation>& operations,
                    const Ints& outputs) {
  const std::map<int32_t, size_t> last = last_readers(operations);
  struct Slot {
    size_t bytes = 0, free_from = 0;  ///< the first operation that may write to it
  };
  std::vector<Slot> slots;
  std::map<int32_t, size_t> slot_of;
  for (size_t i = 0; i < operations.size(); ++i) {
    const int32_t output = operations[i].output;
    if (has(outputs, output)) continue;
    auto slot = std::find_if(slots.begin(), slots.end(),
                             [i](const Slot& free) { return free.free_from <= i; });
    if (slot == slots.end()) slot = slots.insert(slots.end(), Slot{});
    slot->bytes = std::max(slot->bytes, bytes_between(context.tensors[output]));
    slot->free_from = (last.contains(output) ? last.at(output) : i) + 1;
    slot_of[output] = static_cast<size_t>(slot - slots.begin());
  }
  std::vector<size_t> begins(slots.size());
  size_t end = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    begins[i] = end;
    end += slots[i].bytes;
  }
  memory_.resize(end);
  offsets_.clear();
  for (const auto& [tensor, slot] : slot_of) offsets_[tensor] = begins[slot];
}

void* Between::find(int32_t tensor) {
  const auto found = offsets_.find(tensor);
  return found == offsets_.end() ? nullptr : memory_.data() + found->second;
}

OurNodes::OurNodes(Claims& claims, const Partition& partition, int threads) : threads_(threads) {
  for (int32_t i = 0; i < partition.nodes->size; ++i) {
    const auto found = claims.operations.find(partition.nodes->data[i]);
    if (found == claims.operations.end()) continue;
    operations_.push_back(std::move(found->second));
    claims.operations.erase(found);
  }
  std::set<int32_t> written;
  for (const Operation& operation : operations_) written.insert(operation.output);
  for (int32_t i = 0; i < partition.outputs->size; ++i) {
    const int32_t output = partition.outputs->data[i];
    if (!written.contains(output)) unread_.push_back(output);
  }
}

void OurNodes::prepare(Context& context, const Node& node) {
  for (const int32_t tensor : unread_) resize(context, tensor, {0});
  for (const Operation& operation : operations_) {
    resize(context, operation.output, output_shape(operation, context.tensors[operation.input]));
  }
  between_.place(context, operations_, *node.outputs);
}

void OurNodes::run(Context& context) {
  const int threads = threads_ != 0 ? threads_ : std::max(1, context.threads);
  const Awake awake(threads);
  const auto address = [&](int32_t tensor) {
    void* ours = between_.find(tensor);
    return ours != nullptr ? ours : context.tensors[tensor].data;
  };
  for (const Operation& operation : operations_) {
    Addresses at{address(operation.input), address(operation.output), nullptr};
    if (operation.bias != no_tensor) at.bias = static_cast<const float*>(address(operation.bias));
    litert::run(operation, context.tensors[operation.input], context.tensors[operation.output], at,
                threads, scratch_);
  }
}

}  // namespace tw::litert
