#include "tuner/record_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "tuner/locked_file.h"

namespace tw::tuner {
namespace {

namespace fs = std::filesystem;

/// Calls `good` with each record and its line, `bad` with the others. Holds one line at a time, and
/// of a huge one no more than its beginning.
void for_each_line(const std::string& path,
                   const std::function<void(const Record&, std::string_view)>& good,
                   const std::function<void(const BadLine&)>& bad) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_file("cannot read", path, errno);
  std::array<char, kLongestLine + 3> text;  // one byte more than legal, the newline, a zero
  for (size_t number = 1;; ++number) {
    in.getline(text.data(), text.size());
    auto length = static_cast<size_t>(in.gcount());
    if (in.bad()) fail_file("cannot read", path, errno);
    if (length == 0 && in.eof()) return;
    if (in.fail() && !in.eof()) {  // too long
      in.clear();
      in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    } else if (in.eof()) {
      bad({number, "the line has no end: its writing was cut short; a newline is legal"});
      return;
    } else {
      --length;  // the newline is counted
    }
    const std::string_view line(text.data(), length);
    try {
      good(from_line(line), line);
    } catch (const RecordError& error) {
      bad({number, error.what});
    }
  }
}

bool is_among(const std::string& path, const std::vector<std::string>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    std::error_code error;
    return fs::equivalent(input, path, error);
  });
}

}  // namespace

RecordFile read_records(const std::string& path) {
  RecordFile file;
  for_each_line(
      path, [&](const Record& record, std::string_view) { file.records.push_back(record); },
      [&](const BadLine& bad) { file.bad.push_back(bad); });
  return file;
}

void append_record(const std::string& path, const Record& record) {
  const std::string line = to_line(record);
  LockedFile(path, true).append(line);
}

Merged merge_records(const std::vector<std::string>& inputs, const std::string& output) {
  std::optional<LockedFile> lock;  // nobody adds a line between reading and replacing
  if (fs::exists(output)) {
    if (!is_among(output, inputs)) {
      throw std::runtime_error(fmt::format(
          "{} exists and is not among the files to merge: name it there too, or move it away",
          output));
    }
    lock.emplace(output, false);
  }
  Merged merged;
  std::vector<std::pair<std::string, std::string>> lines;  // time, line
  for (const std::string& input : inputs) {
    for_each_line(
        input,
        [&](const Record& record, std::string_view line) { lines.emplace_back(record.time, line); },
        [&](const BadLine&) { ++merged.bad; });
  }
  std::sort(lines.begin(), lines.end());
  const auto end = std::unique(lines.begin(), lines.end());
  merged.repeated = static_cast<size_t>(lines.end() - end);
  lines.erase(end, lines.end());
  merged.records = lines.size();
  std::string text;
  for (const auto& [time, line] : lines) text += line + "\n";
  replace_file(output, text);
  return merged;
}

}  // namespace tw::tuner
