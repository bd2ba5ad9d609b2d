#include "tuner/record.h"

#include <fmt/format.h>

#include "tuner/checksum.h"
#include "tuner/member_reader.h"
#include "tuner/member_writer.h"
#include "tuner/record_fields.h"

namespace tw::tuner {
namespace {

constexpr size_t kVersion = 1;

constexpr std::string_view kChecksumBegin = ",\"crc\":\"";

std::string hash_text(uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

std::string checksum_member(std::string_view line) {
  return fmt::format("{}{:08x}\"}}", kChecksumBegin, crc32c(line));
}

/// `count` of them, evenly chosen.
std::vector<double> thinned(const std::vector<double>& samples, size_t count) {
  std::vector<double> kept;
  for (size_t i = 0; i < count; ++i) kept.push_back(samples[i * samples.size() / count]);
  return kept;
}

/// Also what is not legal: from_line says so.
std::string unchecked_line(const Record& record) {
  nlohmann::ordered_json json;
  json["v"] = kVersion;
  MemberWriter members(json);
  record_members(members, record);
  std::string line = compact(json);
  line.pop_back();  // the closing brace
  return line + checksum_member(line);
}

/// The part of a line in front of its checksum, which must be right.
std::string_view checked_part(std::string_view line) {
  if (line.size() > kLongestLine) {
    throw RecordError{fmt::format("the line has more than {} bytes; up to {} are legal",
                                  kLongestLine, kLongestLine)};
  }
  const size_t length = checksum_member("").size();
  const size_t at = line.size() < length ? 0 : line.size() - length;
  const std::string_view end = line.substr(at);
  if (!end.starts_with(kChecksumBegin) || !end.ends_with("\"}")) {
    throw RecordError{
        fmt::format("crc is missing, the line is cut or no record; {}8 hex digits\"}} "
                    "at its end is legal",
                    kChecksumBegin)};
  }
  const std::string legal = checksum_member(line.substr(0, at));
  if (end != legal) {
    throw RecordError{fmt::format("crc does not match, the line is damaged; {} would be legal",
                                  legal.substr(1, legal.size() - 2))};
  }
  return line.substr(0, at);
}

void check_version(const nlohmann::json& json) {
  const auto version = json.find("v");
  if (version != json.end() && *version == kVersion) return;
  throw RecordError{
      version == json.end()
          ? fmt::format("v is missing; {} is legal", kVersion)
          : fmt::format("v is {:.40}; this version reads {} only: use the tool that wrote it",
                        compact(*version), kVersion)};
}

/// What members say of one another.
void check_together(const Record& record) {
  const Problem& problem = record.problem;
  if ((problem.block == 0) != problem.scales.empty()) {
    throw RecordError{fmt::format(
        "problem.scales is \"{}\" and problem.block {}; both, or neither (\"\", 0), are legal",
        problem.scales, problem.block)};
  }
  const Times& ns = record.ns;
  if (!(ns.least <= ns.p20 && ns.p20 <= ns.median)) {
    throw RecordError{
        fmt::format("ns.least is {}, ns.p20 {}, ns.median {}; none above the next "
                    "one is legal",
                    ns.least, ns.p20, ns.median)};
  }
  if (record.outcome == Outcome::ok && !(ns.least > 0)) {
    throw RecordError{"ns.least is 0; where outcome is \"ok\", numbers above 0 are legal"};
  }
  const Ratio& ratio = record.ratio;
  if (ratio.rounds == 0) return;
  if (!(ratio.low > 0 && ratio.low <= ratio.median && ratio.median <= ratio.high)) {
    throw RecordError{
        fmt::format("ratio.low is {}, ratio.median {}, ratio.high {}; where ratio.rounds is above "
                    "0, numbers above 0, none above the next one, are legal",
                    ratio.low, ratio.median, ratio.high)};
  }
}

}  // namespace

std::string identity(const Configuration& configuration) {
  nlohmann::ordered_json json;
  MemberWriter members(json);
  configuration_members(members, configuration);
  return hash_text(fnv1a(compact(json)));
}

std::string identity(const Core& core) {
  Core kind = core;
  kind.name.clear();
  kind.midr &= ~uint64_t{0xf};  // the revision: fixes, no other pipes
  constexpr size_t step = 400;  // MHz: bins of one chip are alike
  kind.mhz = (core.mhz + step / 2) / step;
  nlohmann::ordered_json json;
  MemberWriter members(json);
  core_members(members, kind);
  return hash_text(fnv1a(compact(json)));
}

std::string to_line(const Record& record) {
  Record fitting = record;
  if (record.ns.samples.size() > kMostSamples) {
    fitting.ns.samples = thinned(record.ns.samples, kMostSamples);
  }
  std::string line = unchecked_line(fitting);
  while (line.size() > kLongestLine && !fitting.ns.samples.empty()) {
    fitting.ns.samples = thinned(record.ns.samples, fitting.ns.samples.size() - 1);
    line = unchecked_line(fitting);
  }
  from_line(line);  // nothing is written that would not be read
  return line;
}

Record from_line(std::string_view line) {
  const std::string text = std::string(checked_part(line)) + "}";
  Record record;
  const nlohmann::json json = parse_json(text);
  MemberReader members(json, "");
  check_version(json);
  record_members(members, record);
  check_together(record);
  return record;
}

}  // namespace tw::tuner
