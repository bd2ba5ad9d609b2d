#include "tuner/member_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tuner/member_writer.h"
#include "tuner/record.h"
#include "tuner/record_fields.h"

namespace tw::tuner {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

/// As it stands in the line, but not endless.
std::string shown(const nlohmann::json& value) {
  constexpr size_t longest = 40;
  std::string text = compact(value);
  if (text.size() > longest) text = label_text(text.substr(0, longest)) + "...";
  return text;
}

bool is_time(const std::string& text) {
  const std::string form = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != form.size()) return false;
  for (size_t i = 0; i < form.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == 'd' ? !digit : text[i] != form[i]) return false;
  }
  const auto two = [&](size_t at) { return (text[at] - '0') * 10 + text[at + 1] - '0'; };
  return two(5) >= 1 && two(5) <= 12 && two(8) >= 1 && two(8) <= 31 && two(11) <= 23 &&
         two(14) <= 59 && two(17) <= 60;
}

bool is_real(const nlohmann::json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0;
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw RecordError{fmt::format("byte {} is no JSON; one object is legal", error.byte)};
  } catch (const nlohmann::json::exception& error) {  // a number too large for any type
    throw RecordError{fmt::format("JSON that cannot be kept: {}", label_text(error.what()))};
  }
}

MemberReader::MemberReader(const nlohmann::json& json, std::string path)
    : json_(&json), path_(std::move(path)) {
  if (json.is_object()) return;
  const std::string name = path_.empty() ? "the line" : path_.substr(0, path_.size() - 1);
  throw RecordError{fmt::format("{} is {}; an object, {{...}}, is legal", name, shown(json))};
}

const nlohmann::json& MemberReader::member(const char* name) const {
  const auto found = json_->find(name);
  if (found == json_->end()) {
    throw RecordError{fmt::format("{}{} is missing; every record has it", path_, name)};
  }
  return *found;
}

void MemberReader::refuse(const char* name, const std::string& legal) const {
  throw RecordError{fmt::format("{}{} is {}; {}", path_, name, shown(member(name)), legal)};
}

void MemberReader::refuse_longer_than(const char* name, size_t bytes) const {
  refuse(name, fmt::format("at most {} bytes are legal", bytes));
}

const std::string& MemberReader::text(const char* name, const char* legal) const {
  const nlohmann::json& found = member(name);
  if (!found.is_string() || found.get_ref<const std::string&>().size() > kLongestText) {
    refuse(name, fmt::format("{}, at most {} bytes, is legal", legal, kLongestText));
  }
  return found.get_ref<const std::string&>();
}

void MemberReader::word(const char* name, std::string& value) const {
  constexpr const char* legal = "a text of printable ASCII without \" and \\";
  value = text(name, legal);
  const bool good = std::all_of(value.begin(), value.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (!good) refuse(name, fmt::format("{} is legal", legal));
}

void MemberReader::label(const char* name, std::string& value) const {
  constexpr const char* legal = "a text without control characters";
  value = text(name, legal);
  if (std::any_of(value.begin(), value.end(), is_control)) {
    refuse(name, fmt::format("{} is legal", legal));
  }
}

void MemberReader::time(const char* name, std::string& value) const {
  constexpr const char* legal = "a time like \"2026-11-22T04:05:06Z\"";
  value = text(name, legal);
  if (!is_time(value)) refuse(name, fmt::format("{} is legal", legal));
}

void MemberReader::hex(const char* name, uint64_t& value) const {
  constexpr const char* legal = "a number of 64 bits like \"0x410fd4e0\"";
  const std::string& digits = text(name, legal);
  value = std::strtoull(digits.c_str(), nullptr, 16);
  if (hex_text(value) != digits) refuse(name, fmt::format("{} is legal", legal));
}

void MemberReader::flag(const char* name, bool& value) const {
  if (!member(name).is_boolean()) refuse(name, "true and false are legal");
  value = member(name).get<bool>();
}

void MemberReader::size(const char* name, size_t& value, size_t least, size_t most) const {
  const nlohmann::json& found = member(name);
  const bool whole = found.is_number_unsigned();
  if (!whole || found.get<uint64_t>() < least || found.get<uint64_t>() > most) {
    const std::string limit = most == kNoLimit ? "" : fmt::format(" to {}", most);
    refuse(name, fmt::format("a whole number from {}{} is legal", least, limit));
  }
  value = found.get<size_t>();
}

void MemberReader::real(const char* name, double& value) const {
  if (!is_real(member(name))) refuse(name, "a number of at least 0 is legal");
  value = member(name).get<double>();
}

void MemberReader::reals(const char* name, std::vector<double>& values) const {
  const nlohmann::json& found = member(name);
  if (!found.is_array() || found.size() > kMostSamples ||
      !std::all_of(found.begin(), found.end(), is_real)) {
    refuse(name, fmt::format("a list of at most {} numbers of at least 0 is legal", kMostSamples));
  }
  values = found.get<std::vector<double>>();
}

void MemberReader::one_of(const char* name, std::string& value,
                          std::initializer_list<const char*> legal) const {
  value.clear();
  const nlohmann::json& found = member(name);
  const bool known = found.is_string() &&
                     std::find(legal.begin(), legal.end(), found.get<std::string>()) != legal.end();
  if (!known) refuse(name, fmt::format("\"{}\" are legal", fmt::join(legal, "\", \"")));
  value = found.get<std::string>();
}

}  // namespace tw::tuner
