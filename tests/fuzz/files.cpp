#include "fuzz/files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "lower/lower.h"
#include "schedule/order.h"
#include "schedule/pressure.h"
#include "spec/spec_reader.h"

namespace tw::fuzz {
namespace {

namespace fs = std::filesystem;

struct Scratch {
  Scratch() : path(fs::temp_directory_path() / ("tilewright_fuzz_" + std::to_string(getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
    fs::copy(fs::path(TILEWRIGHT_SOURCE_DIR) / "templates", path / "templates",
             fs::copy_options::recursive);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path path;
};

/// So that one input takes milliseconds.
bool is_small(const Variant& variant) {
  const Length n = variant.tile.n;
  const Length m = variant.tile.m;
  return (m.fixed + m.vl + m.svl) * (n.fixed + n.vl + n.svl) <= 256 &&
         variant.knobs.unroll_k <= 128 && variant.knobs.accumulators <= 4;
}

}  // namespace

const fs::path& scratch() {
  static const Scratch folder;
  return folder.path;
}

void write(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary) << text;
}

void check_message(const SpecError& error) {
  const std::string_view what = error.what();
  static const std::regex form(R"(.+:[1-9][0-9]*:[1-9][0-9]*: .+)");  // . is no line break
  constexpr size_t longest = 8192;
  if (what.size() <= longest && std::regex_match(what.begin(), what.end(), form)) return;
  std::fprintf(stderr, "not a message of one line that says where: %s\n", error.what());
  std::abort();
}

void read_and_lower(const fs::path& spec, IsaLibrary& isas) {
  constexpr int most = 2;
  int lowered = 0;
  try {
    for (const Variant& variant : read_spec(spec, isas)) {
      if (!is_small(variant) || ++lowered > most) continue;
      try {
        Program program = lower(variant);
        order(program);
        (void)vector_pressure(program);
      } catch (const std::invalid_argument&) {  // pipeline/pipeline.cpp makes a SpecError of it
      }
    }
  } catch (const SpecError& error) {
    check_message(error);
  }
}

}  // namespace tw::fuzz
