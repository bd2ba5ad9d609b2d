#include "command/record_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "command/places.h"
#include "tuner/record_file.h"
#include "tuner/report_text.h"

namespace tw {

namespace fs = std::filesystem;

std::vector<tuner::Record> read_all_records(const std::vector<std::string>& files) {
  std::vector<tuner::Record> records;
  for (const std::string& path : files) {
    tuner::RecordFile file = tuner::read_records(path);
    std::move(file.records.begin(), file.records.end(), std::back_inserter(records));
    if (file.bad.empty()) continue;
    fmt::print(stderr, "{}: {} left out (`tilewright records check` shows them)\n", path,
               tuner::counted_text(file.bad.size(), "bad line"));
  }
  return records;
}

std::vector<tuner::Record> shipped_records() {
  const char* named = std::getenv("TILEWRIGHT_SHIPPED_RECORDS");
  const fs::path folder = named != nullptr ? fs::path(named) : records_folder();
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".jsonl") files.push_back(shown(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return read_all_records(files);
}

}  // namespace tw
