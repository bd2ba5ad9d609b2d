#include <fmt/format.h>

#include "command/commands.h"
#include "command/job_matmuls.h"
#include "command/places.h"
#include "pipeline/shipped_tree.h"
#include "spec/workload_reader.h"
#include "tuner/record_file.h"
#include "tuner/winners.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

std::vector<tuner::Winner> winners_of(const ShipOptions& options) {
  std::vector<tuner::Record> records;
  for (const std::string& path : options.records) {
    tuner::RecordFile file = tuner::read_records(path);
    std::move(file.records.begin(), file.records.end(), std::back_inserter(records));
  }
  std::vector<tuner::Wanted> wanted;
  for (const tuner::JobMatmul& matmul : job_matmuls(read_workload(options.workload))) {
    wanted.push_back(matmul.wanted);
  }
  std::vector<tuner::Winner> winners = tuner::winners(records, wanted);
  if (!winners.empty()) return winners;
  throw std::runtime_error(fmt::format(
      "{}: no record of a matrix of {}; `tilewright tune --workload {} --records {}` makes some",
      fmt::join(options.records, ", "), options.workload, options.workload, options.records[0]));
}

/// What goes into the tree. The only place that decides it.
std::vector<ChosenKernel> chosen_kernels(const ShipOptions& options) {
  std::vector<ChosenKernel> chosen;
  for (const std::string& name : options.kernels) chosen.push_back({name, "asked for by name"});
  if (options.records.empty()) return chosen;
  for (const tuner::Winner& winner : winners_of(options)) {
    chosen.push_back({winner.kernel, winner.why});
  }
  return chosen;
}

void check(const ShipOptions& options) {
  if (options.out.empty()) throw UsageError("--out is empty: it names the folder to write");
  if (options.kernels.empty() && options.records.empty()) {
    throw UsageError("nothing to ship: name kernels with --kernel, or records and a workload");
  }
  if (options.records.empty() != options.workload.empty()) {
    throw UsageError("--records and --workload go together");
  }
}

/// What makes the same tree again, without anybody's paths.
std::string command_again(const ShipOptions& options) {
  std::string text = "tilewright ship";
  for (const std::string& spec : options.specs) {
    text += " --spec " + fs::path(spec).filename().string();
  }
  for (const std::string& kernel : options.kernels) text += " --kernel " + kernel;
  for (const std::string& file : options.records) {
    text += " --records " + fs::path(file).filename().string();
  }
  if (!options.workload.empty()) {
    text += " --workload " + fs::path(options.workload).filename().string();
  }
  return text + " --out DIR";
}

}  // namespace

int run_ship(const ShipOptions& options) {
  check(options);
  const Places places = find_places(options.templates);
  const ShippedTree tree =
      ship_tree(spec_inputs(options.specs, places),
                {places.templates, places.headers, places.sources, places.license},
                {TILEWRIGHT_VERSION, command_again(options)}, chosen_kernels(options));
  check_only_ours(options.out, tree.files);
  const TreeChanges changes = write_tree(options.out, tree.files);
  fmt::print("{}: {} kernels, {} packers; {} files written, {} unchanged{}\n", options.out,
             tree.kernels, tree.packers, changes.written, changes.unchanged,
             changes.removed > 0 ? fmt::format(", {} removed", changes.removed) : "");
  for (const std::string& remark : tree.remarks) fmt::print("{}\n", remark);
  return 0;
}

}  // namespace tw
