// Files of records, a line each. They only grow; what is damaged is counted and left alone.
#pragma once

#include <string>
#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

struct BadLine {
  size_t line = 0;  ///< from 1
  std::string what;
};

struct RecordFile {
  std::vector<Record> records;
  std::vector<BadLine> bad;
};

/// Whatever its lines are. Throws std::runtime_error if the file cannot be opened or read.
RecordFile read_records(const std::string& path);

/// Adds one line and has it on disk before it returns; makes the file if there is none. Any number
/// of processes may do so at once. Throws RecordError, or std::runtime_error that says what was
/// kept: all older lines, whatever happens.
void append_record(const std::string& path, const Record& record);

struct Merged {
  size_t records = 0;
  size_t repeated = 0;  ///< lines that another input, or the same, has too
  size_t bad = 0;       ///< lines left out
};

/// Writes the union of the inputs' good lines, byte for byte, by time and then by line. Replaces
/// `output` at once or not at all; one that exists must be an input, so that no record is lost.
/// Throws std::runtime_error.
Merged merge_records(const std::vector<std::string>& inputs, const std::string& output);

}  // namespace tw::tuner
