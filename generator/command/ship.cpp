#include <fmt/format.h>

#include <algorithm>

#include "command/choices_file.h"
#include "command/commands.h"
#include "command/job_matmuls.h"
#include "command/places.h"
#include "command/record_layers.h"
#include "pipeline/shipped_tree.h"
#include "spec/workload_reader.h"
#include "tuner/layers.h"
#include "tuner/report_text.h"
#include "tuner/winners.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

/// Those of kernels that the specs make in just that form; `left_out` counts the others.
std::vector<tuner::Record> of_these_kernels(const std::vector<tuner::Record>& records,
                                            const std::vector<SpecInput>& specs,
                                            const Places& places, size_t& left_out) {
  TreeOptions tree{places.templates, {}, {}, {}};
  for (const tuner::Record& r : records) tree.only.insert(r.ran.kernel);
  if (tree.only.empty()) return {};
  const auto hashes = generate_tree(specs, tree).hashes;
  std::vector<tuner::Record> kept;
  for (const tuner::Record& r : records) {
    const auto found = hashes.find(r.ran.kernel);
    if (found != hashes.end() && found->second == r.ran.hash) kept.push_back(r);
  }
  left_out = records.size() - kept.size();
  return kept;
}

/// The user's and, below them, what ships of the same kinds of cores; without any, all that ships.
std::vector<tuner::Record> all_records(const ShipOptions& options) {
  const std::vector<tuner::Record> shipped = shipped_records();
  if (options.records.empty()) return shipped;
  const std::vector<tuner::Record> own = read_all_records(options.records);
  return tuner::layered(own, tuner::of_same_cores(own, shipped));
}

bool is_of_one(const tuner::Record& record, const std::vector<tuner::Wanted>& workload) {
  return std::any_of(workload.begin(), workload.end(), [&](tuner::Wanted wanted) {
    wanted.threads = record.threads;
    return tuner::is_of_matrix(record, wanted);
  });
}

[[noreturn]] void fail_without_records(const ShipOptions& options, const std::string& remark) {
  const bool own = !options.records.empty();
  throw std::runtime_error(fmt::format(
      "{}: no record of a matrix of {}{}; `tilewright tune --workload {} --records {}` makes some",
      own ? fmt::format("{}", fmt::join(options.records, ", ")) : "the records that ship",
      options.workload, remark.empty() ? "" : " (" + remark + ")", options.workload,
      own ? options.records[0] : "FILE"));
}

std::vector<tuner::Winner> winners_of(const ShipOptions& options, const Places& places) {
  std::vector<tuner::Wanted> wanted;
  for (const tuner::JobMatmul& matmul : job_matmuls(read_workload(options.workload))) {
    wanted.push_back(matmul.wanted);
  }
  std::vector<tuner::Record> records;
  for (const tuner::Record& r : all_records(options)) {
    if (is_of_one(r, wanted)) records.push_back(r);
  }
  size_t left_out = 0;
  records = of_these_kernels(records, spec_inputs(options.specs, places), places, left_out);
  const std::string remark =
      left_out == 0 ? ""
                    : fmt::format("{} of kernels that have changed or that no spec makes left out",
                                  tuner::counted_text(left_out, "record"));
  std::vector<tuner::Winner> winners = tuner::winners(records, wanted);
  if (winners.empty()) fail_without_records(options, remark);
  if (!remark.empty()) fmt::print(stderr, "{}\n", remark);
  return winners;
}

/// What goes into the tree. The only place that decides it.
std::vector<ChosenKernel> chosen_kernels(const ShipOptions& options,
                                         const std::vector<tuner::Winner>& winners) {
  std::vector<ChosenKernel> chosen;
  for (const std::string& name : options.kernels)
    chosen.push_back({name, "asked for by name", false});
  for (const tuner::Winner& winner : winners) {
    for (const tuner::RowsChoice& rows : winner.choice.rows) {
      chosen.push_back(
          {rows.run.kernel,
           fmt::format("fastest on {} for {} of {}x{}, among others", winner.core.name,
                       tuner::counted_text(rows.m, "row"), winner.wanted.n, winner.wanted.k),
           rows.run.decodes == "yes"});
    }
  }
  return chosen;
}

void check(const ShipOptions& options) {
  if (options.out.empty()) throw UsageError("--out is empty: it names the folder to write");
  if (options.kernels.empty() && options.workload.empty()) {
    throw UsageError("nothing to ship: name kernels with --kernel, or a workload");
  }
  if (!options.records.empty() && options.workload.empty()) {
    throw UsageError("--records needs --workload: what the records are wanted for");
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
  const std::vector<tuner::Winner> winners =
      options.workload.empty() ? std::vector<tuner::Winner>() : winners_of(options, places);
  const ShippedTree tree =
      ship_tree(spec_inputs(options.specs, places),
                {places.templates, places.headers, places.sources, places.license},
                {TILEWRIGHT_VERSION, command_again(options)}, chosen_kernels(options, winners),
                choices_file(winners));
  check_only_ours(options.out, tree.files);
  const TreeChanges changes = write_tree(options.out, tree.files);
  fmt::print("{}: {} kernels, {} packers; {} files written, {} unchanged{}\n", options.out,
             tree.kernels, tree.packers, changes.written, changes.unchanged,
             changes.removed > 0 ? fmt::format(", {} removed", changes.removed) : "");
  for (const std::string& remark : tree.remarks) fmt::print("{}\n", remark);
  return 0;
}

}  // namespace tw
