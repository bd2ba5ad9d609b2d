#include "integrations/onnxruntime/provider.h"

#include <utility>

#include "integrations/common/message.h"
#include "integrations/common/own_team.h"
#include "integrations/onnxruntime/measured.h"
#include "tilewright/tilewright.hpp"

namespace tw::onnxruntime {

namespace {

class OurProvider : public Provider {
 public:
  OurProvider(const Api& host, const Settings& its_settings);

  const Api& api;
  const Settings settings;
  MemoryPool memory;
  Measured measured;

  /// That slices are made for, and that pack weights.
  [[nodiscard]] size_t threads() const {
    return static_cast<size_t>(settings.threads != 0 ? settings.threads : available_cores());
  }
};

OurProvider& ours(Provider* provider) {
  return *static_cast<OurProvider*>(provider);
}

// ---- claims ----

bool is_ours(OurProvider& provider, const Node* node) {
  const std::string operation = operation_of(provider.api, node);
  if (!may_be_layer(operation)) return false;
  const bool logs = is_set("TILEWRIGHT_LOG", "1");
  try {
    const NodeFacts facts = read_node(provider.api, node);
    const Layer layer = describe(facts);
    require(!layer.window || provider.settings.convolutions || provider.settings.measure,
            "convolutions are not asked for");
    PackedWeights plan;
    plan_layer(layer, provider.threads(), plan);
    if (provider.settings.measure) {
      require(provider.measured.is_ours(provider.api, facts, layer), "the runtime is faster");
    }
    if (logs) message("{} {}: ours", operation, name_of(provider.api, node));
    return true;
  } catch (const Refused& refused) {
    if (logs) {
      message("{} {}: {}; left to the runtime", operation, name_of(provider.api, node),
              refused.what());
    }
    return false;
  }
}

Status* claim(Provider* provider, const Graph* graph, GraphSupport* support) {
  OurProvider& its = ours(provider);
  return guarded(its.api, [&] {
    constexpr FusionOptions kOptions = {interface_version, true};
    for (const Node* node : nodes_of(its.api, graph)) {
      if (!is_ours(its, node)) continue;
      check(its.api, its.api.provider_api()->add_nodes(support, &node, 1, &kOptions));
    }
  });
}

// ---- nodes ----

std::unique_ptr<Compute> compile_node(OurProvider& provider, const Graph* graph,
                                      const Node* fused) {
  const std::vector<const Node*> nodes = nodes_of(provider.api, graph);
  require(nodes.size() == 1, "a graph that is no node of ours");
  Layer layer = describe(read_node(provider.api, nodes[0]));
  auto weights = make_weights(layer, provider.threads());
  layer.own_floats = {};
  layer.own_codes = {};
  layer.source = tilewright::sized<tw_rhs_source>();  // its constants go
  return std::make_unique<Compute>(provider.api, std::move(layer), std::move(weights),
                                   input_names(provider.api, fused), provider.settings,
                                   provider.memory);
}

void release_computes(Provider*, NodeCompute** computes, size_t count) {
  for (size_t i = 0; i < count; ++i) delete static_cast<Compute*>(computes[i]);
}

Status* compile(Provider* provider, const Graph** graphs, const Node** fused, size_t count,
                NodeCompute** out, Node**) {
  OurProvider& its = ours(provider);
  return guarded(its.api, [&] {
    std::vector<std::unique_ptr<Compute>> made;
    for (size_t i = 0; i < count; ++i) made.push_back(compile_node(its, graphs[i], fused[i]));
    for (size_t i = 0; i < count; ++i) out[i] = made[i].release();
  });
}

const char* provider_name(const Provider*) {
  return kProviderName;
}

OurProvider::OurProvider(const Api& host, const Settings& its_settings)
    : Provider(), api(host), settings(its_settings) {
  version = interface_version;
  Provider::name = provider_name;
  Provider::claim = onnxruntime::claim;
  Provider::compile = onnxruntime::compile;
  Provider::release_computes = onnxruntime::release_computes;
}

}  // namespace

Provider* new_provider(const Api& api, const Settings& settings) {
  return new OurProvider(api, settings);
}

void delete_provider(Provider* provider) {
  delete static_cast<OurProvider*>(provider);
}

}  // namespace tw::onnxruntime
