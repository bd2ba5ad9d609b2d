// Reads members (record_fields.h) from a JSON object. Throws RecordError that names the member,
// what it is and what would be legal.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tw::tuner {

class RecordReader {
 public:
  /// `path` is in front of the members' names in messages: "", "core.".
  RecordReader(const nlohmann::json& json, std::string path);

  void word(const char* name, std::string& value) const;
  void time(const char* name, std::string& value) const;
  void label(const char* name, std::string& value) const;
  void hex(const char* name, uint64_t& value) const;
  void flag(const char* name, bool& value) const;
  void size(const char* name, size_t& value, size_t least, size_t most) const;
  void real(const char* name, double& value) const;
  void reals(const char* name, std::vector<double>& values) const;
  void one_of(const char* name, std::string& value, std::initializer_list<const char*> legal) const;
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
    RecordReader inner(member(name), path_ + name + ".");
    read(inner);
  }

 private:
  const nlohmann::json& member(const char* name) const;
  const std::string& text(const char* name, const char* legal) const;
  [[noreturn]] void refuse(const char* name, const std::string& legal) const;

  const nlohmann::json* json_;
  std::string path_;
};

}  // namespace tw::tuner
