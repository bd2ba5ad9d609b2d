// The tuner's program. Exit status: 0 done; 1 the job can not be done; 2 wrong usage.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>

#include "tuner/program/device_lock.h"
#include "tuner/program/tune.h"

namespace {

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be read", path));
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A line at a time: whoever reads them has each as soon as it is there. Without a reader there is
/// nothing left to do.
void print_line(const std::string& line) {
  if (std::fputs((line + "\n").c_str(), stdout) < 0 || std::fflush(stdout) != 0) _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures kernels on the machine that it runs on: a job in, JSON lines out. `tilewright "
      "tune` "
      "writes jobs, runs this program here or on a device, and keeps the records.",
      "tilewright_tuner");
  app.footer("Examples:\n  tilewright_tuner job.json > lines.jsonl\n  tilewright_tuner --device");
  std::string job;
  bool device = false;
  app.add_option("JOB", job, "File with the job");
  app.add_flag("--device", device, "Print what this machine is, measure nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    if (device) {
      print_line(tw::tuner::device_event());
    } else if (job.empty()) {
      fmt::print(stderr, "tilewright_tuner: no job; run with --help for more information\n");
      return 2;
    } else {
      const tw::tuner::Job asked = tw::tuner::job_from_text(read_all(job));
      std::optional<tw::tuner::DeviceLock> lock;
      if (asked.budget != 0) lock.emplace();
      tw::tuner::tune(asked, print_line);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "tilewright_tuner: {}\n", error.what());
    return 1;
  }
  return 0;
}
