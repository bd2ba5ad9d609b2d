// Fuzz target: an input is a record's line. It is read as it is, and once more with a checksum that
// fits, so that all behind the checksum's test is reached.
#include <cstdlib>
#include <string>

#include "tuner/sample_record.h"

namespace {

using tw::tuner::Record;
using tw::tuner::RecordError;

void require(bool condition) {
  if (!condition) std::abort();
}

/// A message of one line, or a record that can be written and read again.
void read(const std::string& line) {
  Record record;
  try {
    record = tw::tuner::from_line(line);
  } catch (const RecordError& error) {
    constexpr size_t longest = 1024;
    require(!error.what.empty() && error.what.size() <= longest);
    require(error.what.find('\n') == std::string::npos);
    return;
  }
  const std::string written = tw::tuner::to_line(record);
  require(written.size() <= tw::tuner::kLongestLine && written.find('\n') == std::string::npos);
  require(tw::tuner::to_line(tw::tuner::from_line(written)) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  read(input);
  read(tw::tuner::test::signed_line(input.substr(0, input.rfind(",\"crc\":"))));
  return 0;
}
