#include "spec/gguf_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "spec/gguf_types.h"

namespace tw {
namespace {

constexpr size_t most_matmuls = 1000;
constexpr size_t most_names = 6;  // that are written of one group

/// A tensor's name without its layer and ".weight": "blk.7.attn_q.weight" is attn_q. An expert that
/// has a tensor of its own, "blk.7.ffn_up.3.weight", is ffn_up of expert 3.
struct Role {
  std::string name;
  std::optional<uint64_t> expert;
};

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Role> role_of(std::string_view name) {
  constexpr std::string_view suffix = ".weight";
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  Role role;
  if (const size_t dot = name.rfind('.'); dot != std::string_view::npos) {
    role.expert = parse_number(name.substr(dot + 1));
    if (role.expert) name = name.substr(0, dot);
  }
  role.name = name.substr(name.rfind('.') + 1);
  return role;
}

bool is_multiplied(const std::string& role, bool tied) {
  if (role == "attn_rel_b") return false;  // added to the scores
  return role.starts_with("attn_") || role.starts_with("cross_attn_") || role.starts_with("ffn_") ||
         role == "output" || (tied && role == "token_embd");
}

bool is_matrix(const GgufTensor& tensor) {
  const std::vector<uint64_t>& sizes = tensor.sizes;
  return sizes.size() >= 2 && sizes[1] > 1 && (sizes.size() < 4 || sizes[3] == 1);
}

/// How often a token is multiplied with a matrix of the tensor.
uint64_t count_of(const GgufTensor& tensor, const Role& role, uint64_t experts_used) {
  const uint64_t matrices = tensor.sizes.size() > 2 ? tensor.sizes[2] : 1;
  if (role.expert) return experts_used == 0 || *role.expert < experts_used ? matrices : 0;
  if (role.name.ends_with("_exps") && experts_used != 0) return std::min(matrices, experts_used);
  return matrices;
}

/// Matrices of one shape and type.
struct Group {
  uint64_t count = 0;
  std::vector<std::string> names;
};
using Key = std::tuple<std::string, uint64_t, uint64_t>;  // type, n, k

void add(std::map<Key, Group>& groups, const GgufTensor& tensor, const std::string& name,
         uint64_t count) {
  Group& group = groups[{gguf_type_name(tensor.type), tensor.sizes[1], tensor.sizes[0]}];
  group.count += count;
  if (std::find(group.names.begin(), group.names.end(), name) != group.names.end()) return;
  if (group.names.size() <= most_names) group.names.push_back(name);
}

std::string names_text(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), most_names);
  return fmt::format("{}{}",
                     fmt::join(names.begin(), names.begin() + static_cast<long>(shown), " "),
                     shown < names.size() ? " ..." : "");
}

std::string description(const Key& key, const Group& group) {
  const auto& [type, n, k] = key;
  return fmt::format("{}: {} x {} x {} ({})", type, group.count, n, k, names_text(group.names));
}

/// Of two groups of like names the later one says its shape and type.
std::string unique_name(const Workload& workload, const Key& key, const Group& group) {
  const auto& [type, n, k] = key;
  std::string name = names_text(group.names);
  const auto taken = [&](const Matmul& other) { return other.name == name; };
  if (std::any_of(workload.matmuls.begin(), workload.matmuls.end(), taken)) {
    name += fmt::format(" {} x {} {}", n, k, type);
  }
  return name;
}

Matmul matmul_of(const GgufType& type, const Key& key, const Group& group,
                 const std::string& name) {
  Matmul matmul;
  matmul.name = name;
  matmul.family = type.family;
  matmul.n = static_cast<int64_t>(std::get<1>(key));
  matmul.k = static_cast<int64_t>(std::get<2>(key));
  matmul.count = static_cast<int64_t>(group.count);
  matmul.block = type.scales.empty() ? 0 : static_cast<int>(type.block);
  matmul.scales = type.scales;
  return matmul;
}

}  // namespace

ModelWorkload workload_of(const GgufModel& model) {
  const bool tied = std::none_of(model.tensors.begin(), model.tensors.end(),
                                 [](const GgufTensor& t) { return t.name == "output.weight"; });
  std::map<Key, Group> groups;
  std::map<Key, Group> others;
  for (const GgufTensor& tensor : model.tensors) {
    const std::optional<Role> role = role_of(tensor.name);
    if (!role || !is_matrix(tensor)) continue;
    if (!is_multiplied(role->name, tied)) {
      add(others, tensor, role->name, 1);
    } else if (const uint64_t count = count_of(tensor, *role, model.experts_used); count > 0) {
      add(groups, tensor, role->name, count);
    }
    if (groups.size() + others.size() > most_matmuls) {
      throw std::runtime_error(
          fmt::format("the model has matrices of more than {} shapes", most_matmuls));
    }
  }
  ModelWorkload result;
  result.workload.name = model.name.empty() ? "model" : model.name;
  result.workload.about = "The matrices that a token is multiplied with";
  if (!model.architecture.empty()) {
    result.workload.about += fmt::format(", architecture {}", model.architecture);
  }
  for (const auto& [key, group] : groups) {
    const GgufType* type = find_gguf_type(std::get<0>(key));
    if (type != nullptr && !type->family.empty()) {
      result.matrices += static_cast<int64_t>(group.count);
      result.workload.matmuls.push_back(
          matmul_of(*type, key, group, unique_name(result.workload, key, group)));
    } else {
      result.remarks.push_back("not served, " + description(key, group));
    }
  }
  for (const auto& [key, group] : others) {
    result.remarks.push_back("not multiplied, " + description(key, group));
  }
  result.workload.rows = {{1, 128}, {128, 1}};
  return result;
}

}  // namespace tw
