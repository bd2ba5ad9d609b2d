#include "mca.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "spec/yaml_reader.h"
#include "support/run_command.h"

namespace tw::test {
namespace {

/// What stands before an assembler comment.
std::string without_comment(const std::string& line) {
  return line.substr(0, line.find("//"));
}

/// The text that llvm-mca sees of a loop.
std::string shown(const McaCore& core, const std::string& text) {
  std::string shown = text;
  for (const McaException& it : core.exceptions) {
    shown = std::regex_replace(shown, it.instruction, it.shown);
  }
  return shown;
}

/// Loops as llvm-mca wants them, a region each.
std::string regions(const McaCore& core, const std::vector<std::string>& loops) {
  std::string text = core.triple == "x86_64" ? ".intel_syntax noprefix\n" : "";
  for (size_t i = 0; i < loops.size(); ++i) {
    text += fmt::format("# LLVM-MCA-BEGIN loop{0}\n{1}# LLVM-MCA-END loop{0}\n", i, loops[i]);
  }
  return text;
}

std::vector<double> total_cycles(const std::string& command, int iterations) {
  const Ran ran = run_command(fmt::format("{} -iterations={}", command, iterations));
  if (ran.status != 0) throw std::runtime_error(command + ":\n" + ran.output.substr(0, 2000));
  std::vector<double> cycles;
  const nlohmann::json printed = nlohmann::json::parse(ran.output);
  for (const auto& region : printed.at("CodeRegions")) {
    cycles.push_back(region.at("SummaryView").at("TotalCycles").get<double>());
  }
  return cycles;
}

}  // namespace

std::vector<McaCore> read_mca_cores(const std::filesystem::path& file) {
  const YamlNode root = read_yaml(file);
  std::vector<McaCore> cores;
  for (const YamlNode& node : root.at("cores").items()) {
    node.expect_keys({"core", "mca", "triple", "features"});
    cores.push_back({node.at("core").text(),
                     node.at("mca").text(),
                     node.at("triple").text(),
                     node.at("features").texts(),
                     {},
                     {}});
  }
  for (const YamlNode& node : root.at("exceptions").items(true)) {
    node.expect_keys({"core", "instruction", "shown", "because"});
    for (McaCore& core : cores) {
      if (core.core != node.at("core").text()) continue;
      core.exceptions.push_back(
          {std::regex(node.at("instruction").text()), node.at("shown").text()});
    }
  }
  for (const YamlNode& node : root.at("differences").items(true)) {
    node.expect_keys({"core", "kernels", "percent", "because"});
    for (McaCore& core : cores) {
      if (core.core != node.at("core").text()) continue;
      const auto percent = static_cast<double>(node.at("percent").positive());
      core.differences.push_back({std::regex(node.at("kernels").text()), percent / 100});
    }
  }
  return cores;
}

std::string loop_text(const std::string& assembly, const std::string& label) {
  std::istringstream lines(assembly);
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    line = without_comment(line);
    if (line.find(label + ":") == 0) {
      inside = true;
    } else if (inside) {
      text += line + "\n";
      const size_t last = line.find_last_not_of(' ') + 1;
      if (last >= label.size() && line.substr(last - label.size(), label.size()) == label) {
        return text;
      }
    }
  }
  throw std::runtime_error("no loop " + label);
}

void run_mca(const std::string& llvm_mca, const McaCore& core, std::vector<McaLoop>& loops) {
  if (loops.empty()) return;
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     fmt::format("explain_mca_{}_{}.s", core.core, getpid());
  // Kernels that differ in their outputs alone have one loop, so it is looked at once.
  std::map<std::string, size_t> known;
  std::vector<std::string> texts;
  std::vector<size_t> which;
  for (McaLoop& loop : loops) {
    const auto [it, is_new] = known.try_emplace(loop.text, texts.size());
    if (is_new) texts.push_back(shown(core, loop.text));
    which.push_back(it->second);
    loop.excepted = texts[it->second] != loop.text;
  }
  std::ofstream(file) << regions(core, texts);
  const std::string command =
      fmt::format("{} -mtriple={} -mcpu={} -json -instruction-info=0 -resource-pressure=0 {}",
                  llvm_mca, core.triple, core.mca, file.string());
  // What the first iterations take longer does not count.
  constexpr int few = 25;
  constexpr int many = 75;
  const std::vector<double> before = total_cycles(command, few);
  const std::vector<double> after = total_cycles(command, many);
  std::filesystem::remove(file);
  if (after.size() != texts.size()) throw std::runtime_error(command + ": regions are missing");
  for (size_t i = 0; i < loops.size(); ++i) {
    loops[i].cycles = (after[which[i]] - before[which[i]]) / (many - few);
  }
}

}  // namespace tw::test
