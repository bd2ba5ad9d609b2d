#include "fuzz/files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

namespace {

/// One line with ":LINE:COLUMN: " between other text. By hand, because std::regex takes a stack as
/// deep as the text is long.
bool says_where(std::string_view text) {
  if (text.find_first_of("\n\r") != std::string_view::npos) return false;
  const auto behind_number = [&](size_t at) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    return end > at && text[at] != '0' ? end : text.size();
  };
  for (size_t colon = text.find(':', 1); colon < text.size(); colon = text.find(':', colon + 1)) {
    const size_t line = behind_number(colon + 1);
    if (text.substr(line, 1) != ":") continue;
    const size_t column = behind_number(line + 1);
    if (text.substr(column, 2) == ": " && column + 2 < text.size()) return true;
  }
  return false;
}

}  // namespace

void check_message(const SpecError& error) {
  const std::string_view what = error.what();
  constexpr size_t longest = 8192;
  if (what.size() <= longest && says_where(what)) return;
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
