// Writes members into a JSON object, in their order (record_fields.h, device_text.cpp).
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tw::tuner {

/// Numbers of 64 bits that are no counts: "0x" and hex digits, since many readers of JSON keep only
/// 53 bits of a number.
std::string hex_text(uint64_t value);

/// Text of somebody else's as a record may have it: control characters are blanks, at most
/// kLongestText bytes, whole characters.
std::string label_text(const std::string& text);
inline constexpr size_t kLongestText = 200;

/// In one line; bytes that are no UTF-8 become the character for that.
template <class Json>
std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class MemberWriter {
 public:
  explicit MemberWriter(nlohmann::ordered_json& json) : json_(&json) {}

  void word(const char* name, const std::string& value) { (*json_)[name] = value; }
  void time(const char* name, const std::string& value) { word(name, value); }
  void label(const char* name, const std::string& value) { word(name, label_text(value)); }
  void hex(const char* name, uint64_t value) { word(name, hex_text(value)); }
  void flag(const char* name, bool value) { (*json_)[name] = value; }
  void size(const char* name, size_t value, size_t, size_t) { (*json_)[name] = value; }
  void real(const char* name, double value) { (*json_)[name] = value; }
  void reals(const char* name, const std::vector<double>& values) { (*json_)[name] = values; }
  void one_of(const char* name, const std::string& value, std::initializer_list<const char*>) {
    word(name, value);
  }
  void optional_one_of(const char* name, const std::string& value,
                       std::initializer_list<const char*>) {
    if (!value.empty()) word(name, value);
  }
  template <class Enum>
  void choice(const char* name, Enum value, std::initializer_list<const char*> names) {
    word(name, names.begin()[static_cast<size_t>(value)]);
  }
  template <class Write>
  void group(const char* name, Write write) {
    (*json_)[name] = nlohmann::ordered_json::object();
    MemberWriter inner((*json_)[name]);
    write(inner);
  }
  template <class T, size_t N, class Write>
  void list(const char* name, const T (&items)[N], size_t count, Write write) {
    (*json_)[name] = nlohmann::ordered_json::array();
    for (size_t i = 0; i < count && i < N; ++i) {
      (*json_)[name].push_back(nlohmann::ordered_json::object());
      MemberWriter inner((*json_)[name].back());
      write(inner, items[i]);
    }
  }

 private:
  nlohmann::ordered_json* json_;
};

}  // namespace tw::tuner
