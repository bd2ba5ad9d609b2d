// FlatBuffers, as far as models need them, written from front to back: a table, then what it
// refers to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace tw::litert {

class Flat {
 public:
  /// Writes what a field refers to and returns where it begins.
  using Child = std::function<size_t(Flat&)>;

  struct Field {
    size_t number;
    std::vector<uint8_t> scalar;  ///< or a child
    Child child;
  };

  template <class Scalar>
  static Field field(size_t number, Scalar value) {
    return {number, bytes_of(&value, 1), nullptr};
  }
  static Field field(size_t number, Child child) { return {number, {}, std::move(child)}; }

  template <class Scalar>
  static Child vector(std::vector<Scalar> values, size_t alignment = sizeof(Scalar)) {
    return [values = std::move(values), alignment](Flat& flat) {
      return flat.write_vector(values.size(), bytes_of(values.data(), values.size()), alignment);
    };
  }
  static Child text(const char* words);
  static Child table(std::vector<Field> fields);
  static Child tables(std::vector<Child> children);

  /// A whole file.
  static std::vector<uint8_t> file(const char* identifier, const Child& root);

 private:
  template <class Scalar>
  static std::vector<uint8_t> bytes_of(const Scalar* values, size_t count) {
    std::vector<uint8_t> bytes(count * sizeof(Scalar));
    if (count != 0) std::memcpy(bytes.data(), values, bytes.size());
    return bytes;
  }
  void align(size_t to, size_t ahead = 0);
  template <class Scalar>
  void append(Scalar value);
  size_t write_vector(size_t count, const std::vector<uint8_t>& values, size_t alignment);
  size_t write_table(const std::vector<Field>& fields);
  void refer(size_t from, const Child& child);

  std::vector<uint8_t> bytes_;
};

}  // namespace tw::litert
