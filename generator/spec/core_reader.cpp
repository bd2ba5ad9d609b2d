#include "spec/core_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "spec/isa_reader.h"
#include "spec/number.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

/// "v0 v1": a cycle of either; "2 * v0 v1": two cycles of one of them.
PortUse read_use(const YamlNode& node, const CoreModel& core) {
  std::istringstream words(node.text());
  PortUse use;
  std::string word;
  while (words >> word) {
    const auto port = std::find(core.ports.begin(), core.ports.end(), word);
    int64_t count = 0;
    if (port != core.ports.end()) {
      use.ports.push_back(static_cast<int>(port - core.ports.begin()));
    } else if (std::string times; use.ports.empty() && parse_integer(word, count) && count > 0 &&
                                  count <= 256 && words >> times && times == "*") {
      use.cycles = static_cast<int>(count);
    } else {
      node.fail(unknown_text("port", word, core.ports));
    }
  }
  if (use.ports.empty()) node.fail("a use names the ports that can take it: \"v0 v1\"");
  return use;
}

int read_latency(const YamlNode& node) {
  if (node.integer() < 0 || node.integer() > 100) {
    node.fail(fmt::format("'{}' must be from 0 to 100 cycles", node.key()));
  }
  return static_cast<int>(node.integer());
}

int read_small(const YamlNode& node) {
  return static_cast<int>(node.count_up_to(64));
}

IssueClass read_class(const YamlNode& node, const CoreModel& core) {
  node.expect_keys({"latency", "accumulate", "first_result", "micro_ops", "first", "late", "uses"});
  IssueClass result;
  result.latency = read_latency(node.at("latency"));
  if (const YamlNode* own = node.find("accumulate")) result.accumulate = read_latency(*own);
  if (const YamlNode* own = node.find("first_result")) result.first_result = read_latency(*own);
  if (const YamlNode* own = node.find("micro_ops")) result.micro_ops = read_small(*own);
  if (const YamlNode* own = node.find("first")) result.first = own->boolean();
  if (const YamlNode* own = node.find("late")) result.late = own->boolean();
  for (const YamlNode& use : node.at("uses").items(true)) {
    result.uses.push_back(read_use(use, core));
  }
  return result;
}

Cpus read_cpus(const YamlNode& node) {
  node.expect_keys({"maker", "family", "features"});
  Cpus cpus;
  node.at("maker").choice("maker", {"AMD", "Intel"});
  cpus.maker = node.at("maker").text();
  cpus.family = static_cast<int>(node.at("family").count_up_to(255));
  if (const YamlNode* features = node.find("features")) cpus.features = features->texts();
  return cpus;
}

/// What scheduling does not need: which processors they are (not inherited), and memory.
void read_machines(const YamlNode& root, CoreModel& core) {
  core.cpus = {};
  if (const YamlNode* cpus = root.find("cpus")) core.cpus = read_cpus(*cpus);
  if (const YamlNode* panels = root.find("row_panels")) core.row_panels = read_small(*panels);
  if (const YamlNode* bytes = root.find("l2_bytes")) core.l2_bytes = bytes->positive();
  if (const YamlNode* bytes = root.find("stream_prefetch")) {
    core.stream_prefetch = bytes->integer();
    if (core.stream_prefetch < 0 || core.stream_prefetch > 1 << 20) {
      bytes->fail("'stream_prefetch' must be from 0 to 1048576 bytes");
    }
  }
}

SlowClock read_slow_clock(const YamlNode& node, double ghz) {
  node.expect_keys({"ghz", "vector_bytes", "multiplies", "loads", "classes"});
  SlowClock clock;
  clock.ghz = node.at("ghz").number();
  if (clock.ghz <= 0 || clock.ghz >= ghz) {
    node.at("ghz").fail("a slow clock's 'ghz' is above 0 and below the core's");
  }
  clock.vector_bytes = read_small(node.at("vector_bytes"));
  const auto positive = [&](const char* key) {
    const YamlNode& value = node.at(key);
    if (value.number() <= 0) value.fail(fmt::format("'{}' must be above 0", key));
    return value.number();
  };
  clock.multiplies = positive("multiplies");
  clock.loads = positive("loads");
  if (const YamlNode* classes = node.find("classes")) clock.classes = classes->texts();
  return clock;
}

CoreModel read_model(const std::filesystem::path& folder, const std::string& name,
                     std::vector<std::string> extended_by) {
  const YamlNode root = read_yaml(folder / (name + ".yaml"));
  root.expect_keys({"core", "extends", "width", "in_order", "vector_bytes", "ports", "window",
                    "queue", "ghz", "slow_clock", "classes", "cpus", "l2_bytes", "stream_prefetch",
                    "row_panels"});
  const YamlNode& core_node = root.at("core");
  if (core_node.text() != name) {
    core_node.fail(fmt::format("the file is called {}.yaml, so 'core' must be {}", name, name));
  }
  extended_by.push_back(name);
  CoreModel core;
  if (const YamlNode* extends = root.find("extends")) {
    if (const YamlNode* ports = root.find("ports")) {
      ports->fail("a core that extends another one has that one's ports");
    }
    check_extends(*extends, "core", folder, extended_by);
    core = read_model(folder, extends->text(), extended_by);
    if (const YamlNode* width = root.find("width")) core.width = read_small(*width);
  } else {
    core.ports = root.at("ports").texts();
    core.width = read_small(root.at("width"));
  }
  core.name = name;
  read_machines(root, core);
  if (const YamlNode* in_order = root.find("in_order")) core.in_order = in_order->boolean();
  if (const YamlNode* bytes = root.find("vector_bytes")) core.vector_bytes = read_small(*bytes);
  if (const YamlNode* window = root.find("window")) {
    core.window = static_cast<int>(window->count_up_to(4096));
    core.queue = read_use(root.at("queue"), core);
  }
  if (const YamlNode* ghz = root.find("ghz")) core.ghz = ghz->number();
  if (const YamlNode* slow = root.find("slow_clock")) {
    core.slow_clock = read_slow_clock(*slow, core.ghz);
  }
  if (const YamlNode* classes = root.find("classes")) {
    for (const YamlNode::Entry& entry : classes->entries()) {
      core.classes[entry.key] = read_class(entry.value, core);
    }
  }
  return core;
}

}  // namespace

CoreModel read_core(const std::filesystem::path& templates_dir, const std::string& name) {
  return read_model(templates_dir / "core", name, {});
}

std::vector<CoreModel> read_known_cores(const std::filesystem::path& templates_dir) {
  std::vector<CoreModel> cores;
  for (const std::string& name : yaml_names(templates_dir / "core")) {
    cores.push_back(read_core(templates_dir, name));
    if (cores.back().cpus.maker.empty()) cores.pop_back();
  }
  return cores;
}

}  // namespace tw
