#include "pipeline/project.h"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

#include "emit/c_text.h"
#include "emit/file_template.h"
#include "model/format.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

/// Where weights of a format come from in the project, "q4_k", and the file that makes them.
struct ExampleWeights {
  std::string_view format;
  std::string_view name;
  std::string_view file;
  bool as_in_models = false;  ///< for blocks that model files have only
};

constexpr ExampleWeights example_weights[] = {
    {"qsi4c32", "q4_0", "ggml_blocks", true},
    {"qsi8c32", "q8_0", "ggml_blocks", true},
    {"f32", "f32", "floats"},
    {"f16", "f16", "floats"},
    {"bf16", "bf16", "floats"},
    {"f8e4m3cx", "e4m3", "byte_floats"},
    {"f8e5m2cx", "e5m2", "byte_floats"},
    {"f8e4m3c128", "e4m3", "byte_floats"},
    {"qsi2cx", "int2_zero", "codes"},
    {"qsi4cx", "int4", "codes"},
    {"qsi8cx", "int8", "codes"},
    {"qsi2c32", "int2", "codes"},
    {"qsi4c32", "int4", "codes"},
    {"qsi8c32", "int8", "codes"},
    {"qai2c32", "int2_zero", "codes"},
    {"qai4c32", "int4_zero", "codes"},
    {"qai8c32", "int8_zero", "codes"},
    {"qmi4c32", "q4_1", "ggml_blocks"},
    {"qsi5c32", "q5_0", "ggml_blocks"},
    {"qmi5c32", "q5_1", "ggml_blocks"},
    {"qmi2k16", "q2_k", "ggml_k"},
    {"qsi3k16", "q3_k", "ggml_k"},
    {"qmi4k32", "q4_k", "ggml_k"},
    {"qmi5k32", "q5_k", "ggml_k"},
    {"qsi6k16", "q6_k", "ggml_k"},
    {"qnl4c32", "iq4_nl", "ggml_tables"},
    {"qnl4k32", "iq4_xs", "ggml_tables"},
    {"qsi1c128", "q1_0", "ggml_blocks"},
    {"qi3s4k32", "iq3_s_flat", "ggml_tables"},
    {"qi3x4k32", "iq3_xxs_flat", "ggml_tables"},
    {"qi2x3k16", "iq2_flat", "ggml_k"},
    {"qi1x3k16", "iq1_flat", "ggml_k"},
    {"qmx4c32", "mxfp4", "ggml_tables"},
    {"qnv4k16", "nvfp4", "ggml_tables"},
};

/// By the last word of the family's name, which says that they are packed.
const ExampleWeights& weights_of(const Matmul& matmul) {
  std::string format = matmul.family.substr(matmul.family.rfind('_') + 1);
  if (format.ends_with('p')) format.pop_back();
  const bool as_in_models = matmul.block == 32 && matmul.scales == "f16";
  for (const ExampleWeights& known : example_weights) {
    if (known.format == format && (as_in_models || !known.as_in_models)) return known;
  }
  throw std::runtime_error(
      fmt::format("matmul '{}': there are no example weights for {}", matmul.name, matmul.family));
}

/// What is no plain letter or sign is a number, so that nothing in it is a trigraph, or a name
/// that a template would fill in.
std::string c_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte < 128 && (std::isalnum(byte) != 0 ||
                       std::string(" _-.,:;/+*=()[]{}<>").find(c) != std::string::npos);
    quoted += plain ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return quoted + "\"";
}

/// Members of blocks, where there are some.
std::string block_members(const Matmul& matmul) {
  if (matmul.block == 0) return "";
  return fmt::format(".block = {}, .scales = TW_SCALES_{}, ", matmul.block, upper(matmul.scales));
}

std::string layer_lines(const Workload& workload) {
  std::vector<std::string> lines;
  for (const Matmul& matmul : workload.matmuls) {
    lines.push_back(
        fmt::format("    {{.name = {},\n     .family = {},\n"
                    "     .n = {}, .k = {}, {}.as = &{}}},",
                    c_string(matmul.name), c_string(matmul.family), matmul.n, matmul.k,
                    block_members(matmul), weights_of(matmul).name));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string rows_text(const Workload& workload) {
  std::vector<std::string> rows;
  for (const Rows& r : workload.rows) rows.push_back(fmt::format("{{{}, {}}}", r.m, r.calls));
  return fmt::format("{}", fmt::join(rows, ", "));
}

}  // namespace

std::vector<TreeFile> project_files(const Workload& workload, const std::string& version,
                                    const fs::path& templates) {
  std::set<std::string> formats;
  std::set<std::string> sources;
  for (const Matmul& matmul : workload.matmuls) {
    const ExampleWeights& weights = weights_of(matmul);
    formats.insert(std::string(weights.name));
    sources.insert(std::string(weights.file) + ".c");
  }
  const std::map<std::string, std::map<std::string, std::string>> values = {
      {"CMakeLists.txt",
       {{"SOURCES", fmt::format("{}", fmt::join(sources, " "))}, {"VERSION", version}}},
      {"README.md", {}},
      {"layers.h",
       {{"WORKLOAD", c_string(workload.name)},
        {"LAYERS", layer_lines(workload)},
        {"ROWS", rows_text(workload)}}},
      {"weights.h",
       {{"FORMATS", fmt::format("extern const format {};", fmt::join(formats, ", "))}}},
      {"weights.c", {}},
      {"main.c", {}},
      {"pool.h", {}},
      {"pool.c", {}},
  };
  std::vector<TreeFile> files;
  for (const auto& [file, its] : values) {
    files.push_back({file, fill_template(templates / "project" / file, its)});
  }
  for (const std::string& file : sources) {
    files.push_back({file, fill_template(templates / "project" / file, {})});
  }
  return files;
}

void check_nothing_there(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  if (!fs::is_directory(folder, error)) {
    throw TreeError(fmt::format("{} is not a folder: give an empty one, or one that does not exist",
                                folder.string()));
  }
  const fs::directory_iterator files(folder, error);
  if (error) throw TreeError(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  if (files == fs::directory_iterator()) return;
  throw TreeError(fmt::format("{} is not empty: give an empty folder, or one that does not exist",
                              folder.string()));
}

}  // namespace tw
