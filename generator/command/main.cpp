// The tilewright command. Exit status: 0 done; 1 a spec is wrong, a file cannot be read or
// written, or a check found differences; 2 wrong usage.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "command/commands.h"
#include "command/options.h"

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct CommandLine {
  CLI::App app{"Kernels for matrix multiplication, from short specs.", "tilewright"};
  tw::GenerateOptions generate;
  tw::SweepOptions sweep;
  tw::ListOptions list;
  tw::ExplainOptions explain;
  tw::WorkloadOptions workload;
  tw::TuneOptions tune;
  tw::DeviceOptions device;
  tw::RecordsOptions records;
  tw::ReportOptions report;
  tw::ShipOptions ship;
  tw::NewProjectOptions new_project;
  int status = 0;

  CommandLine() {
    app.require_subcommand(1);
    app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION);
    app.footer(
        "Examples:\n"
        "  tilewright generate\n"
        "  tilewright generate --spec mine.yaml --out my_kernels\n"
        "  tilewright list\n"
        "  tilewright sweep matmul_clamp_f32_f32_f32p --isa avx2\n"
        "  tilewright device\n"
        "  tilewright workload model.gguf\n"
        "  tilewright tune --budget 2\n"
        "  tilewright records best mine.jsonl\n"
        "  tilewright report --records mine.jsonl -o mine.html\n"
        "  tilewright ship --kernel tw_matmul_clamp_f32_f32_f32p16x1_6x16_avx2_u4_far_asm --out "
        "shipped\n"
        "  tilewright new-project engine --for tuned.yaml\n"
        "\nEach command has --help with more.");
    add_generate();
    add_list();
    add_explain();
    add_device();
    tw::add_sweep(app, sweep, status);
    add_workload();
    tw::add_tune(app, tune, status);
    tw::add_records(app, records, status);
    tw::add_report(app, report);
    add_ship();
    add_new_project();
  }

 private:
  CLI::App* add(const std::string& name, const std::string& about, const std::string& examples,
                std::string& templates) {
    CLI::App* command = tw::add_command(app, name, about, examples);
    command->add_option("--templates", templates,
                        "Folder of instruction tables and skeletons (default: the ones of this "
                        "command's source tree or installation)");
    return command;
  }

  static void add_specs(CLI::App* command, std::vector<std::string>& specs) {
    tw::add_values(command, "--spec", specs, "FILE",
                   "Spec; may be given several times (default: all shipped ones)");
  }

  void add_generate() {
    CLI::App* command =
        add("generate", "Write kernels, packers and their registry from specs.",
            "  tilewright generate                                     all shipped specs\n"
            "  tilewright generate --check                             is generated/ up to date?\n"
            "  tilewright generate --spec mine.yaml --out my_kernels   a folder that stands alone",
            generate.templates);
    add_specs(command, generate.specs);
    tw::add_value(command, "--out", generate.out, "DIR",
                  "Folder to write, made if missing (default: generated/ of the source tree)");
    command->add_flag("--check", generate.check,
                      "Write nothing; list files that differ, are missing or are no longer "
                      "generated, and exit with 1 if there are any");
    command->callback([this] { status = tw::run_generate(generate); });
  }

  void add_list() {
    CLI::App* command = add("list", "List the kernels that specs ask for, without making them.",
                            "  tilewright list\n"
                            "  tilewright list --spec mine.yaml\n"
                            "  tilewright list --matrix   families by ISAs",
                            list.templates);
    add_specs(command, list.specs);
    command->add_flag(
        "--matrix", list.matrix,
        "What each family has on each ISA (C, assembly, a tile for one row, packers), "
        "or why it has nothing there");
    command->callback([this] { status = tw::run_list(list); });
  }

  void add_explain() {
    CLI::App* command =
        add("explain", "Show a kernel's registers, instructions and predicted cycles.",
            "  tilewright explain f32_qai8dxp8x4_qsi4cxp32x4_8x32_avx512_vnni\n"
            "  tilewright explain --spec mine.yaml --core cortex-a510 8x8_neon_i8mm",
            explain.templates);
    add_specs(command, explain.specs);
    command->add_option("KERNEL", explain.kernel, "Name, or a part that only one kernel has")
        ->required();
    tw::add_value(command, "--core", explain.core, "NAME",
                  "Core model, a file of templates/core (default: the one that the kernel is "
                  "scheduled for)");
    command->callback([this] { status = tw::run_explain(explain); });
  }

  void add_device() {
    CLI::App* command =
        add("device", "Show what this machine is and which ISAs it runs.",
            "  tilewright device\n"
            "  tilewright device --json > mine.json   a description to plan with elsewhere",
            device.templates);
    command->add_flag("--json", device.json, "Print the description as JSON, without ISAs");
    command->callback([this] { status = tw::run_device(device); });
  }

  void add_workload() {
    CLI::App* command = tw::add_command(app, "workload", "Write the workload of a model.",
                                        "  tilewright workload model.gguf\n"
                                        "  tilewright workload model.gguf -o model.yaml");
    command->add_option("MODEL", workload.model, "GGUF file")->required();
    tw::add_value(command, "-o,--out", workload.out, "FILE", "File to write (default: print it)");
    command->callback([this] { status = tw::run_workload(workload); });
  }

  void add_ship() {
    CLI::App* command = add(
        "ship", "Write a folder that stands alone: chosen kernels, their packers, the runtime.",
        "  tilewright ship --kernel tw_matmul_clamp_f32_f32_f32p16x1_6x16_avx2_u4_far_asm --out "
        "shipped\n"
        "  tilewright ship --records mine.jsonl --workload tuned.yaml --out shipped\n"
        "  cmake -S shipped -B build && cmake --build build && (cd build && ctest)",
        ship.templates);
    tw::add_values(command, "--kernel", ship.kernels, "NAME",
                   "Kernel by its registry row (generated/KERNELS.md has them); may be given "
                   "several times. Portable C for the same weights comes with it");
    tw::add_values(command, "--records", ship.records, "FILE",
                   "File of records; may be given several times: what is fastest for the "
                   "workload on each kind of core in them");
    tw::add_value(command, "--workload", ship.workload, "FILE",
                  "Workload that was tuned: what is fastest for it by --records, else by the "
                  "records that ship");
    add_specs(command, ship.specs);
    tw::add_value(command, "--out", ship.out, "DIR",
                  "Folder to write, made if missing; with other files in it: refused")
        ->required();
    command->callback([this] { status = tw::run_ship(ship); });
  }

  void add_new_project() {
    CLI::App* command =
        add("new-project", "Write a small engine in C that runs the layers of a workload.",
            "  tilewright new-project my_engine --for tuned.yaml\n"
            "  cmake -S my_engine -B my_build -DCMAKE_PREFIX_PATH=/opt/tilewright",
            new_project.templates);
    command->add_option("DIR", new_project.folder, "Folder to write: empty, or made")->required();
    tw::add_value(command, "--for", new_project.workload, "FILE", "Workload whose layers it runs")
        ->required();
    command->callback([this] { status = tw::run_new_project(new_project); });
  }
};

}  // namespace

int main(int argc, char** argv) {
  CommandLine command_line;
  try {
    command_line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return command_line.app.exit(error) == 0 ? 0 : kUsage;
  } catch (const tw::UsageError& error) {
    fmt::print(stderr, "{}\nRun with --help for more information.\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kFailed;
  }
  return command_line.status;
}
