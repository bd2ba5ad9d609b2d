#include "spec/workload_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/yaml_reader.h"

namespace tw {
namespace {

Matmul read_matmul(const YamlNode& node) {
  node.expect_keys({"name", "n", "k", "count"});
  Matmul matmul;
  matmul.name = node.at("name").text();
  matmul.n = node.at("n").positive();
  matmul.k = node.at("k").positive();
  if (const YamlNode* count = node.find("count")) matmul.count = count->positive();
  return matmul;
}

}  // namespace

Workload read_workload(const std::filesystem::path& file) {
  const YamlNode root = read_yaml(file);
  root.expect_keys({"workload", "about", "matmuls", "m"});
  Workload workload;
  workload.name = root.at("workload").text();
  if (const YamlNode* about = root.find("about")) workload.about = about->text();
  for (const YamlNode& item : root.at("matmuls").items()) {
    Matmul matmul = read_matmul(item);
    const bool twice = std::any_of(workload.matmuls.begin(), workload.matmuls.end(),
                                   [&](const Matmul& other) { return other.name == matmul.name; });
    if (twice) item.fail(fmt::format("matmul '{}' twice", matmul.name));
    workload.matmuls.push_back(std::move(matmul));
  }
  for (const YamlNode* m : root.at("m").one_or_more()) workload.m.push_back(m->positive());
  return workload;
}

}  // namespace tw
