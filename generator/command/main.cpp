// The tilewright command. Exit status: 0 done; 1 a spec is wrong, a file cannot be read or
// written, or a check found differences; 2 wrong usage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "command/commands.h"

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
  std::string templates;
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
    tw::add_sweep(app, sweep, templates, status);
    add_workload();
    tw::add_tune(app, tune, status);
    tw::add_records(app, records, status);
    tw::add_report(app, report);
    add_ship();
    add_new_project();
  }

 private:
  CLI::App* add(const std::string& name, const std::string& about, const std::string& examples) {
    CLI::App* command = app.add_subcommand(name, about);
    command->footer("Examples:\n" + examples);
    command->add_option("--templates", templates,
                        "Folder of instruction tables and skeletons (default: the ones of this "
                        "command's source tree or installation)");
    return command;
  }

  static void add_specs(CLI::App* command, std::vector<std::string>& specs) {
    command
        ->add_option("--spec", specs,
                     "Spec; may be given several times (default: all shipped ones)")
        ->type_name("FILE")
        ->allow_extra_args(false);
  }

  void add_generate() {
    CLI::App* command =
        add("generate", "Write kernels, packers and their registry from specs.",
            "  tilewright generate                                     all shipped specs\n"
            "  tilewright generate --check                             is generated/ up to date?\n"
            "  tilewright generate --spec mine.yaml --out my_kernels   a folder that stands alone");
    add_specs(command, generate.specs);
    command
        ->add_option("--out", generate.out,
                     "Folder to write, made if missing (default: generated/ of the source tree)")
        ->type_name("DIR");
    command->add_flag("--check", generate.check,
                      "Write nothing; list files that differ, are missing or are no longer "
                      "generated, and exit with 1 if there are any");
    command->callback([this] {
      generate.templates = templates;
      status = tw::run_generate(generate);
    });
  }

  void add_list() {
    CLI::App* command = add("list", "List the kernels that specs ask for, without making them.",
                            "  tilewright list\n"
                            "  tilewright list --spec mine.yaml\n"
                            "  tilewright list --matrix   families by ISAs");
    add_specs(command, list.specs);
    command->add_flag(
        "--matrix", list.matrix,
        "What each family has on each ISA (C, assembly, a tile for one row, packers), "
        "or why it has nothing there");
    command->callback([this] {
      list.templates = templates;
      status = tw::run_list(list);
    });
  }

  void add_explain() {
    CLI::App* command =
        add("explain", "Show a kernel's registers, instructions and predicted cycles.",
            "  tilewright explain f32_qai8dxp8x4_qsi4cxp32x4_8x32_avx512_vnni\n"
            "  tilewright explain --spec mine.yaml --core cortex-a510 8x8_neon_i8mm");
    add_specs(command, explain.specs);
    command->add_option("KERNEL", explain.kernel, "Name, or a part that only one kernel has")
        ->required();
    command
        ->add_option("--core", explain.core,
                     "Core model, a file of templates/core (default: the one that the kernel is "
                     "scheduled for)")
        ->type_name("NAME");
    command->callback([this] {
      explain.templates = templates;
      status = tw::run_explain(explain);
    });
  }

  void add_device() {
    CLI::App* command =
        add("device", "Show what this machine is and which ISAs it runs.",
            "  tilewright device\n"
            "  tilewright device --json > mine.json   a description to plan with elsewhere");
    command->add_flag("--json", device.json, "Print the description as JSON, without ISAs");
    command->callback([this] {
      device.templates = templates;
      status = tw::run_device(device);
    });
  }

  void add_workload() {
    CLI::App* command = app.add_subcommand("workload", "Write the workload of a model.");
    command->footer(
        "Examples:\n"
        "  tilewright workload model.gguf\n"
        "  tilewright workload model.gguf -o model.yaml");
    command->add_option("MODEL", workload.model, "GGUF file")->required();
    command->add_option("-o,--out", workload.out, "File to write (default: print it)")
        ->type_name("FILE");
    command->callback([this] { status = tw::run_workload(workload); });
  }

  void add_ship() {
    CLI::App* command = add(
        "ship", "Write a folder that stands alone: chosen kernels, their packers, the runtime.",
        "  tilewright ship --kernel tw_matmul_clamp_f32_f32_f32p16x1_6x16_avx2_u4_far_asm --out "
        "shipped\n"
        "  tilewright ship --records mine.jsonl --workload tuned.yaml --out shipped\n"
        "  cmake -S shipped -B build && cmake --build build && (cd build && ctest)");
    command
        ->add_option("--kernel", ship.kernels,
                     "Kernel by its registry row (generated/KERNELS.md has them); may be given "
                     "several times. Portable C for the same weights comes with it")
        ->type_name("NAME")
        ->allow_extra_args(false);
    command
        ->add_option("--records", ship.records,
                     "File of records; may be given several times: what is fastest for the "
                     "workload on each kind of core in them")
        ->type_name("FILE")
        ->allow_extra_args(false);
    command
        ->add_option("--workload", ship.workload,
                     "Workload that was tuned: what is fastest for it by --records, else by the "
                     "records that ship")
        ->type_name("FILE");
    add_specs(command, ship.specs);
    command
        ->add_option("--out", ship.out,
                     "Folder to write, made if missing; with other files in it: refused")
        ->type_name("DIR")
        ->required();
    command->callback([this] {
      ship.templates = templates;
      status = tw::run_ship(ship);
    });
  }

  void add_new_project() {
    CLI::App* command =
        add("new-project", "Write a small engine in C that runs the layers of a workload.",
            "  tilewright new-project my_engine --for tuned.yaml\n"
            "  cmake -S my_engine -B my_build -DCMAKE_PREFIX_PATH=/opt/tilewright");
    command->add_option("DIR", new_project.folder, "Folder to write: empty, or made")->required();
    command->add_option("--for", new_project.workload, "Workload whose layers it runs")
        ->type_name("FILE")
        ->required();
    command->callback([this] {
      new_project.templates = templates;
      status = tw::run_new_project(new_project);
    });
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
