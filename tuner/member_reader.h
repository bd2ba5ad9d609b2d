// Reads the members of a JSON object (record_fields.h, device_text.cpp). Throws RecordError that
// names the member, what it is and what would be legal.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tw::tuner {

nlohmann::json parse_json(std::string_view text);

class MemberReader {
 public:
  /// `path` is in front of the members' names in messages: "", "core.".
  MemberReader(const nlohmann::json& json, std::string path);

  void word(const char* name, std::string& value) const;
  void time(const char* name, std::string& value) const;
  void label(const char* name, std::string& value) const;
  /// A text of C, always terminated.
  template <size_t N>
  void label(const char* name, char (&value)[N]) const {
    std::string text;
    label(name, text);
    if (text.size() >= N) refuse_longer_than(name, N - 1);
    text.copy(value, N - 1);
    value[text.size()] = '\0';
  }
  void hex(const char* name, uint64_t& value) const;
  void flag(const char* name, bool& value) const;
  void flag(const char* name, int& value) const {
    bool flagged = false;
    flag(name, flagged);
    value = flagged ? 1 : 0;
  }
  void size(const char* name, size_t& value, size_t least, size_t most) const;
  void real(const char* name, double& value) const;
  void reals(const char* name, std::vector<double>& values) const;
  void one_of(const char* name, std::string& value, std::initializer_list<const char*> legal) const;
  /// Empty where there is no such member.
  void optional_one_of(const char* name, std::string& value,
                       std::initializer_list<const char*> legal) const {
    if (json_->contains(name)) one_of(name, value, legal);
  }
  template <class Enum>
  void choice(const char* name, Enum& value, std::initializer_list<const char*> names) const {
    std::string text;
    one_of(name, text, names);
    for (size_t i = 0; i < names.size(); ++i) {
      if (text == names.begin()[i]) value = static_cast<Enum>(i);
    }
  }
  template <class Read>
  void group(const char* name, Read read) const {
    MemberReader inner(member(name), path_ + name + ".");
    read(inner);
  }
  template <class T, size_t N, class Read>
  void list(const char* name, T (&items)[N], size_t& count, Read read) const {
    const nlohmann::json& found = member(name);
    if (!found.is_array() || found.empty() || found.size() > N) {
      refuse(name, "a list of 1 to " + std::to_string(N) + " objects is legal");
    }
    count = found.size();
    for (size_t i = 0; i < count; ++i) {
      MemberReader inner(found[i], path_ + name + "[" + std::to_string(i) + "].");
      read(inner, items[i]);
    }
  }
  /// For what members mean beyond their types.
  [[noreturn]] void refuse(const char* name, const std::string& legal) const;

 private:
  const nlohmann::json& member(const char* name) const;
  const std::string& text(const char* name, const char* legal) const;
  [[noreturn]] void refuse_longer_than(const char* name, size_t bytes) const;

  const nlohmann::json* json_;
  std::string path_;
};

}  // namespace tw::tuner
