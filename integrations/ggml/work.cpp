#include "integrations/ggml/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "integrations/ggml/buffer.h"
#include "integrations/ggml/rows.h"

namespace tw::ggml {

namespace {

/// Rows of the input that go to one expert, and where its output goes.
struct Route {
  size_t token, slot;
};

/// The same for all nodes that have these ids (gate and up).
struct Routing {
  const Tensor* ids;
  std::vector<std::vector<Route>> experts;
  std::vector<Place> inputs;  ///< of experts with several rows: gathered
};

struct Planner {
  Work work;
  std::vector<Routing> routings;
};

Place reserve(Work& work, size_t bytes) {
  const Place place = {nullptr, work.scratch_bytes};
  work.scratch_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return place;
}

Place place_in(const Tensor& tensor, size_t i1, size_t i2, size_t i3) {
  return {tensor.data, i1 * tensor.nb[1] + i2 * tensor.nb[2] + i3 * tensor.nb[3]};
}

Place further(Place place, size_t bytes) {
  return {place.base, place.offset + bytes};
}

void copy_input(Work& work, const Tensor& input, Place from, Place to) {
  work.gather.push_back({from, to, input.nb[0], extent(input, 0)});
}

/// Those that read the same rows in the same layout share one packed copy.
void add_product(Work& work, Product product) {
  if (product.rows == 0) return;
  const tw_plan* plan = product.plan;
  if (tw_lhs_bytes(plan, product.rows, &product.lhs_bytes) != TW_OK ||
      tw_scratch_bytes(plan, product.rows, &product.scratch_bytes) != TW_OK) {
    throw std::bad_alloc();
  }
  if (product.lhs_bytes != 0) {
    if (tw_lhs_id(plan, product.rows, &product.lhs_id) != TW_OK) throw std::bad_alloc();
    const auto same =
        std::find_if(work.products.begin(), work.products.end(), [&](const Product& other) {
          return other.lhs_bytes != 0 && other.lhs_id == product.lhs_id &&
                 other.input == product.input && other.input_stride == product.input_stride &&
                 other.rows == product.rows;
        });
    product.packs_lhs = same == work.products.end();
    product.lhs = product.packs_lhs ? reserve(work, product.lhs_bytes) : same->lhs;
  }
  work.products.push_back(product);
}

/// Their first matrix.
Place packed_weights(Work& work, const Tensor& weights, const Packing& packing) {
  if (weights.extra != nullptr) return {weights.data, 0};
  const Place packed = reserve(work, packing.bytes * matrices_of(weights));
  work.loose.push_back({&weights, &packing, packed});
  return packed;
}

const Packing& packing_for(const Tensor& weights) {
  if (weights.extra != nullptr) return *static_cast<const Packing*>(weights.extra);
  return *packing_of(weights);
}

/// Whether activations may be.
bool rounds_to_bf16(const Tensor& output) {
  const int32_t asked = output.op_params[kInputPrecision];
  return asked == precision_any || asked >= precision_bf16;
}

/// Batches lie one behind the other as if they were rows.
bool is_one_batch(const Tensor& tensor) {
  return tensor.nb[2] == tensor.nb[1] * extent(tensor, 1) &&
         tensor.nb[3] == tensor.nb[2] * extent(tensor, 2);
}

/// Sets input and input_stride of `rows` rows, which are copied where kernels could not read them.
void set_input(Work& work, const Tensor& input, Place first, Product& product) {
  const size_t row = extent(input, 0) * sizeof(float);
  product.input = first;
  product.input_stride = product.rows == 1 ? row : input.nb[1];
  if (input.nb[0] == sizeof(float) && product.input_stride >= row) return;
  product.input = reserve(work, product.rows * row);
  product.input_stride = row;
  for (size_t i = 0; i < product.rows; ++i) {
    copy_input(work, input, further(first, i * input.nb[1]), further(product.input, i * row));
  }
}

void plan_mul_mat(Work& work, const Node& node) {
  const Tensor &weights = *node.weights, &input = *node.input, &output = *node.output;
  const Packing& packing = packing_for(weights);
  const Place packed = packed_weights(work, weights, packing);
  const bool merge = matrices_of(weights) == 1 && is_one_batch(input);
  const size_t repeat2 = extent(input, 2) / extent(weights, 2);
  const size_t repeat3 = extent(input, 3) / extent(weights, 3);
  for (size_t i3 = 0; i3 < (merge ? 1 : extent(input, 3)); ++i3) {
    for (size_t i2 = 0; i2 < (merge ? 1 : extent(input, 2)); ++i2) {
      const size_t matrix = i3 / repeat3 * extent(weights, 2) + i2 / repeat2;
      Product product = {};
      product.packing = &packing;
      product.weights = further(packed, matrix * packing.bytes);
      product.rows = extent(input, 1) * (merge ? extent(input, 2) * extent(input, 3) : 1);
      product.plan = plan_for(packing, product.rows, rounds_to_bf16(output));
      product.output = place_in(output, 0, i2, i3);
      product.output_stride = output.nb[1];
      set_input(work, input, place_in(input, 0, i2, i3), product);
      add_product(work, product);
    }
  }
}

std::vector<std::vector<Route>> routes_of(const Tensor& ids, size_t experts) {
  std::vector<std::vector<Route>> routes(experts);
  for (size_t token = 0; token < extent(ids, 1); ++token) {
    for (size_t slot = 0; slot < extent(ids, 0); ++slot) {
      int32_t expert;
      std::memcpy(&expert,
                  static_cast<const char*>(ids.data) + token * ids.nb[1] + slot * ids.nb[0],
                  sizeof expert);
      if (expert < 0 || static_cast<size_t>(expert) >= experts) {
        throw std::out_of_range(fmt::format("{}: token {} goes to expert {}; 0 to {} are legal",
                                            ids.name, token, expert, experts - 1));
      }
      routes[static_cast<size_t>(expert)].push_back({token, slot});
    }
  }
  return routes;
}

Place input_of(const Tensor& input, const Route& route) {
  return place_in(input, route.slot % extent(input, 1), route.token, 0);
}

bool is_gathered(const Tensor& input, const std::vector<Route>& routes) {
  return routes.size() > 1 || input.nb[0] != sizeof(float);
}

const Routing& find_routing(Planner& planner, const Node& node) {
  for (const Routing& known : planner.routings) {
    if (known.ids == node.ids) return known;
  }
  const Tensor& input = *node.input;
  const size_t row = extent(input, 0) * sizeof(float);
  Routing routing = {node.ids, routes_of(*node.ids, extent(*node.weights, 2)), {}};
  for (const std::vector<Route>& routes : routing.experts) {
    const bool gathered = !routes.empty() && is_gathered(input, routes);
    Place at = gathered ? reserve(planner.work, routes.size() * row) : Place{};
    routing.inputs.push_back(at);
    for (size_t i = 0; gathered && i < routes.size(); ++i) {
      copy_input(planner.work, input, input_of(input, routes[i]), further(at, i * row));
    }
  }
  planner.routings.push_back(std::move(routing));
  return planner.routings.back();
}

void plan_mul_mat_id(Planner& planner, const Node& node) {
  Work& work = planner.work;
  const Tensor &input = *node.input, &output = *node.output;
  const Packing& packing = packing_for(*node.weights);
  const Place packed = packed_weights(work, *node.weights, packing);
  const Routing& routing = find_routing(planner, node);
  const size_t row = packing.n * sizeof(float);
  for (size_t expert = 0; expert < routing.experts.size(); ++expert) {
    const std::vector<Route>& routes = routing.experts[expert];
    if (routes.empty()) continue;
    Product product = {};
    product.packing = &packing;
    product.weights = further(packed, expert * packing.bytes);
    product.rows = routes.size();
    product.plan = plan_for(packing, product.rows, rounds_to_bf16(output));
    product.input_stride = extent(input, 0) * sizeof(float);
    product.input =
        is_gathered(input, routes) ? routing.inputs[expert] : input_of(input, routes[0]);
    product.output_stride = row;
    const auto target = [&](const Route& route) {
      return place_in(output, route.slot, route.token, 0);
    };
    product.output = routes.size() == 1 ? target(routes[0]) : reserve(work, routes.size() * row);
    add_product(work, product);
    for (size_t i = 0; routes.size() > 1 && i < routes.size(); ++i) {
      work.scatter.push_back(
          {further(product.output, i * row), target(routes[i]), sizeof(float), packing.n});
    }
  }
}

}  // namespace

Work plan_work(const std::vector<Node>& nodes) {
  Planner planner;
  for (const Node& node : nodes) {
    if (node.ids != nullptr) {
      plan_mul_mat_id(planner, node);
    } else {
      plan_mul_mat(planner.work, node);
    }
  }
  return std::move(planner.work);
}

}  // namespace tw::ggml
