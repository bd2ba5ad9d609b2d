#include <fmt/format.h>

#include <filesystem>

#include "command/commands.h"
#include "emit/write_tree.h"
#include "spec/gguf_reader.h"
#include "spec/gguf_types.h"
#include "spec/gguf_workload.h"
#include "spec/workload_writer.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

constexpr const char* first_line = "# Made by tilewright workload";

}  // namespace

int run_workload(const WorkloadOptions& options) {
  const fs::path file = options.model;
  const GgufModel model = read_gguf(file);
  ModelWorkload made = workload_of(model);
  if (model.name.empty()) made.workload.name = file.stem().string();
  if (made.workload.matmuls.empty()) {
    throw std::runtime_error(fmt::format("{}: no matrix of a type that is served ({}){}{}",
                                         options.model, fmt::join(served_types(), ", "),
                                         made.remarks.empty() ? "" : "; it has:\n  ",
                                         fmt::join(made.remarks, "\n  ")));
  }
  made.remarks.insert(made.remarks.begin(),
                      {fmt::format("of {}", file.filename().string()),
                       "tokens are decoded one at a time, 128 after a prompt of 128"});
  const std::string text =
      fmt::format("{}\n{}", first_line, workload_text(made.workload, made.remarks));
  if (options.out.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  // A model given in the place of a workload would be gone.
  check_replaceable(options.out, first_line, "a workload");
  write_file(options.out, text);
  fmt::print("{}: {} shapes of {} matrices\n", options.out, made.workload.matmuls.size(),
             made.matrices);
  return 0;
}

}  // namespace tw
