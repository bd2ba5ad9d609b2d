#include "command/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "command/options.h"
#include "command/tune.h"
#include "emit/write_tree.h"
#include "pipeline/kernel_names.h"
#include "spec/core_reader.h"
#include "spec/entry_values.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTable = "sweep.txt";
constexpr const char* kTableHead = "tilewright sweep ";
constexpr size_t kShownTiles = 8;

/// The family of that name, as the spec that ships has it.
Family family_named(const std::string& wanted, const std::vector<Variant>& variants) {
  std::set<std::string> names;
  for (const Variant& variant : variants) {
    const Operation its = variant.family.operation;
    if (its != Operation::matmul && its != Operation::decoded) continue;  // these have tiles only
    if (variant.family.name == wanted) return variant.family;
    names.insert(variant.family.name);
  }
  throw UsageError(unknown_text("family", wanted, {names.begin(), names.end()}));
}

ElementType scales_named(const std::string& wanted) {
  return read_scales(parse_yaml("--scales: " + wanted, "the option").at("--scales"));
}

SweepAim aim_of(const SweepOptions& options, const std::vector<Variant>& variants,
                IsaLibrary& isas) {
  SweepAim aim;
  aim.family = family_named(options.family, variants);
  aim.isa = &isas.get(options.isa, {"--isa", 1, 1});
  const bool has_blocks = aim.family.rhs->scales == Granularity::block;
  if (!has_blocks && (options.block != 0 || !options.scales.empty())) {
    throw UsageError(
        fmt::format("{} has no blocks: leave --block and --scales away", aim.family.name));
  }
  if (aim.family.operation == Operation::decoded && options.measure > 0) {
    throw UsageError(fmt::format(
        "--measure is not possible with {}, whose weights a decoder makes and no packer: "
        "the model orders its tiles",
        aim.family.name));
  }
  aim.scales = aim.family.rhs->scale_type;
  if (has_blocks) aim.block = options.block != 0 ? options.block : aim.family.rhs->block;
  if (!options.scales.empty()) aim.scales = scales_named(options.scales);
  if (options.core != aim.isa->default_core) aim.core = options.core;
  return aim;
}

bool is_aimed_at(const SweepAim& aim, const Variant& variant) {
  if (variant.family.name != aim.family.name || variant.isa->name != aim.isa->name) return false;
  const SweepPoint point = point_of(variant);
  return variant.style == LayoutStyle::own && variant.knobs.core == aim.core &&
         point.panels.block == aim.block && (aim.block == 0 || point.panels.scales == aim.scales);
}

std::string aim_text(const SweepAim& aim, const CoreModel& core) {
  const std::string blocks =
      aim.block == 0 ? "" : fmt::format(", blocks of {} with {}", aim.block, name(aim.scales));
  return fmt::format("{}{} on {}, core {}", aim.family.name, blocks, aim.isa->name, core.name);
}

/// build/sweep/matmul_clamp_f32_qai8dxp_qsi4c32p-b64-bf16-avx2
SweepFolder folder_of(const SweepOptions& options, const SweepAim& aim) {
  std::string text = aim.family.name;
  if (aim.block != 0) text += fmt::format("-b{}-{}", aim.block, name(aim.scales));
  text += "-" + aim.isa->name;
  if (!aim.core.empty()) text += "-" + aim.core;
  return {options.out, fs::path(options.out) / text};
}

/// Sweeps are large and of this machine: nothing that belongs among sources.
void check_not_in_sources(const fs::path& root, const Places& places) {
  if (places.generated.empty()) return;
  const fs::path source = fs::weakly_canonical(places.generated.parent_path());
  const std::string inside =
      fs::weakly_canonical(fs::absolute(root)).lexically_relative(source).generic_string();
  if (inside.starts_with("..") || inside.starts_with("build")) return;
  throw UsageError(
      fmt::format("--out {} is in the source tree: a folder outside of it, or build/..., is legal",
                  root.string()));
}

/// Empty, missing, or an earlier sweep's.
void check_ours(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kTable, error)) {
    check_replaceable(folder / kTable, kTableHead, "the table of a sweep");
  } else if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    throw TreeError(
        fmt::format("{} is not empty and holds no sweep ({}): give another folder with --out",
                    folder.string(), kTable));
  }
}

/// A spec for each layout of the weights, its tiles as they were tried.
std::vector<TreeFile> specs_of(const SweepAim& aim, const Sweep& sweep, const Origin& origin) {
  std::map<std::string, std::string> texts;
  for (const Swept& swept : sweep.fit) {
    const Panels& panels = swept.point.panels;
    const std::string file = fmt::format("{}-p{}x{}.yaml", name(swept.point.technique),
                                         to_string(panels.rhs), panels.kr);
    std::string& text = texts[file];
    if (text.empty()) {
      text = file_head(origin, {}, {"Tiles that fit."}, "#") + spec_head(aim.family);
    }
    text += entry_text(aim, swept.point);
  }
  std::vector<TreeFile> files;
  for (auto& [file, text] : texts) files.push_back({file, std::move(text)});
  return files;
}

void write_kernels(const fs::path& folder, const std::vector<TreeFile>& specs, const Origin& origin,
                   const Places& places) {
  write_tree(folder / "specs", specs);
  std::vector<SpecInput> inputs;
  for (const TreeFile& spec : specs) {
    inputs.push_back({folder / "specs" / spec.path, "specs/" + spec.path});
  }
  const GeneratedTree tree = generate_tree(inputs, {places.templates, origin, places.headers});
  const TreeChanges changes = write_tree(folder / "kernels", tree.files);
  fmt::print("{}: {} kernels, {} packers; {} files written, {} unchanged, {} removed\n",
             shown(folder / "kernels"), tree.kernels, tree.packers, changes.written,
             changes.unchanged, changes.removed);
}

}  // namespace

int run_sweep(const SweepOptions& options) {
  const Places places = find_places(options.templates);
  check_not_in_sources(options.out, places);
  IsaLibrary isas(places.templates);
  const std::vector<Variant> variants = read_variants(spec_inputs({}, places), isas);
  const SweepAim aim = aim_of(options, variants, isas);
  const std::string core_name = aim.core.empty() ? aim.isa->default_core : aim.core;
  if (core_name.empty()) {
    throw UsageError(
        fmt::format("{} is a table for others to extend: it names no core, so --core "
                    "has to",
                    aim.isa->name));
  }
  const CoreModel core = read_core(places.templates, core_name);
  const SweepFolder folder = folder_of(options, aim);
  check_ours(folder.folder);
  std::vector<tuner::JobMatmul> shapes;  // told before tiles are tried, which takes seconds
  if (options.measure > 0) shapes = measured_shapes(options, aim, places);

  std::vector<SweepPoint> points = sweep_points(aim);
  Shipped shipped;
  for (const Variant& variant : variants) {
    if (!is_aimed_at(aim, variant)) continue;
    points.push_back(point_of(variant));
    shipped.insert(assembly_name(variant));
  }
  Progress progress(-1);
  const Sweep all = sweep(aim, points, core, isas, [&](double done) {
    progress.show(done, fmt::format("{} tiles", points.size()));
  });
  progress.end();
  const std::string counts = aim_text(aim, core) + ": " + sweep_counts(all);
  fmt::print("{}{}\n", counts, sweep_table(all, aim.family.name, shipped, kShownTiles));

  fs::create_directories(folder.folder);
  write_file(folder.folder / kTable,
             kTableHead + counts + sweep_table(all, aim.family.name, shipped, all.fit.size()));
  const Origin origin{TILEWRIGHT_VERSION,
                      fmt::format("tilewright sweep {} --isa {}", options.family, options.isa)};
  write_kernels(folder.folder, specs_of(aim, all, origin), origin, places);
  if (options.measure > 0) {
    measure_sweep(options, aim, shapes, all, core, isas, places, folder, shipped);
  }
  return 0;
}

void add_sweep(CLI::App& app, SweepOptions& options, int& status) {
  CLI::App* command = add_command(
      app, "sweep", "Make every tile of a family that fits an ISA, order them, measure the best.",
      "  tilewright sweep matmul_clamp_f32_f32_f32p --isa avx2\n"
      "  tilewright sweep matmul_clamp_f32_qai8dxp_qsi4c32p --isa neon_i8mm --scales bf16\n"
      "  tilewright sweep matmul_clamp_f32_qai8dxp_qsi4cxp --isa avx2 --measure 3   here\n"
      "\nsweep.txt in its folder has all tiles, specs/ the entries that make them, kernels/ the "
      "kernels.");
  command->add_option("FAMILY", options.family, "Name of a spec that ships")->required();
  add_value(command, "--isa", options.isa, "NAME", "A table of templates/isa")->required();
  add_value(command, "--core", options.core, "NAME",
            "Core model, a file of templates/core (default: the ISA's)");
  add_value(command, "--block", options.block, "LENGTH",
            "Values of k that share a scale (default: 32)");
  add_value(command, "--scales", options.scales, "TYPE",
            "Their type: f16, bf16, f32 or e8m0 (default: the format's)");
  add_value(command, "--out", options.out, "DIR", "Folder of sweeps; each has its own in it")
      ->capture_default_str();
  add_value(command, "--measure", options.measure, "N",
            "Compile and measure here so many tiles for each number of rows, the model's "
            "best, and those that ship");
  add_value(command, "--workload", options.workload, "FILE",
            "With --measure: the shapes and rows (default: n 4096, k 2048; 1, 4, 16 and "
            "128 rows)");
  add_value(command, "--budget", options.budget, "SECONDS", "With --measure: seconds")
      ->capture_default_str();
  command->add_option("--templates", options.templates,
                      "Folder of instruction tables (default: the ones of this command)");
  command->callback([&] { status = run_sweep(options); });
}

}  // namespace tw
