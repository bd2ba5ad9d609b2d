// The plug-in: a delegate that takes nodes of a graph, and what the host calls for them.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "integrations/common/message.h"
#include "integrations/litert/claims.h"
#include "integrations/litert/partition.h"
#include "integrations/litert/plugin.h"
#include "integrations/litert/tensors.h"

namespace tw::litert {

namespace {

struct State {
  int threads = 0;      ///< 0: the interpreter's
  std::string refused;  ///< what is wrong with the options; "": nothing
  Claims claims;        ///< until the host makes nodes of them
};

// ---- nodes ----

State& state_of(Delegate& delegate) {
  return *static_cast<State*>(delegate.data);
}

/// Nothing may be thrown through the host's code.
template <class Action>
Status guarded(Context* context, Action action) noexcept {
  try {
    action();
    return ok;
  } catch (const std::exception& failure) {
    context->report_error(context, "tilewright: %s", failure.what());
    return error;
  }
}

void* init(Context* context, const char* buffer, size_t) {
  const auto& partition = *reinterpret_cast<const Partition*>(buffer);
  State& state = state_of(*partition.delegate);
  OurNodes* nodes = nullptr;
  guarded(context, [&] { nodes = new OurNodes(state.claims, partition, state.threads); });
  return nodes;
}

void free_nodes(Context*, void* nodes) {
  delete static_cast<OurNodes*>(nodes);
}

Status prepare_nodes(Context* context, Node* node) {
  if (node->user_data == nullptr) return error;
  return guarded(context,
                 [&] { static_cast<OurNodes*>(node->user_data)->prepare(*context, *node); });
}

Status run_nodes(Context* context, Node* node) {
  return guarded(context, [&] { static_cast<OurNodes*>(node->user_data)->run(*context); });
}

Registration registration() {
  Registration made = {};
  made.init = init;
  made.free = free_nodes;
  made.prepare = prepare_nodes;
  made.invoke = run_nodes;
  made.custom_name = "TilewrightDelegate";
  made.version = 1;
  return made;
}

// ---- delegate ----

Status replace_nodes(Context& context, Delegate& delegate) {
  const Claims& claims = state_of(delegate).claims;
  std::vector<int32_t> nodes = claims.dequantized;
  for (const auto& [node, operation] : claims.operations) nodes.push_back(node);
  if (is_set("TILEWRIGHT_LOG", "1")) message("{} nodes are ours", nodes.size());
  std::sort(nodes.begin(), nodes.end());
  const auto release = [](Ints* list) { std::free(list); };
  const std::unique_ptr<Ints, decltype(release)> list(make_ints(nodes), release);
  return context.replace_nodes(&context, registration(), list.get(), &delegate);
}

Status prepare_delegate(Context* context, Delegate* delegate) {
  State& state = state_of(*delegate);
  if (!state.refused.empty()) {
    context->report_error(context, "tilewright: %s", state.refused.c_str());
    return error;
  }
  Status status = error;
  const Status claimed = guarded(context, [&] {
    const int threads = state.threads != 0 ? state.threads : context->threads;
    state.claims = claim_nodes(*context, threads);
    status = replace_nodes(*context, *delegate);
  });
  state.claims = {};
  return claimed == ok ? status : error;
}

// ---- options ----

/// Throws Refused.
void take_option(std::string_view key, std::string_view value, State& state) {
  if (key != "threads") {
    throw Refused(fmt::format("no option \"{}\"; \"threads\" is legal", key));
  }
  state.threads = threads_option(value);
}

}  // namespace

}  // namespace tw::litert

void tflite_plugin_destroy_delegate(tw::litert::Delegate* delegate) {
  if (delegate == nullptr) return;
  delete static_cast<tw::litert::State*>(delegate->data);
  delete delegate;
}

// The host's wrapper of 2.14 goes on with a delegate that is null, and crashes: so one that is
// refused for its options is a delegate, and says so when it is applied.
tw::litert::Delegate* tflite_plugin_create_delegate(const char* const* keys,
                                                    const char* const* values, size_t count,
                                                    void (*report)(const char*)) {
  using namespace tw::litert;
  try {
    auto state = std::make_unique<State>();
    try {
      for (size_t i = 0; i < count; ++i) take_option(keys[i], values[i], *state);
    } catch (const tw::Refused& refused) {
      state->refused = refused.what();
      if (report != nullptr) report(state->refused.c_str());
    }
    auto delegate = std::make_unique<Delegate>();
    delegate->data = state.release();
    delegate->prepare = prepare_delegate;
    delegate->flags = flag_allows_dynamic_tensors;
    return delegate.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
