#include "litert/models/flat.h"

#include <algorithm>

namespace tw::litert {

namespace {

constexpr size_t kOffset = sizeof(uint32_t);

}  // namespace

/// So that what comes `ahead` bytes later is aligned.
void Flat::align(size_t to, size_t ahead) {
  while ((bytes_.size() + ahead) % to != 0) bytes_.push_back(0);
}

template <class Scalar>
void Flat::append(Scalar value) {
  const std::vector<uint8_t> added = bytes_of(&value, 1);
  bytes_.insert(bytes_.end(), added.begin(), added.end());
}

size_t Flat::write_vector(size_t count, const std::vector<uint8_t>& values, size_t alignment) {
  align(std::max(alignment, kOffset), kOffset);
  const size_t begin = bytes_.size();
  append(static_cast<uint32_t>(count));
  bytes_.insert(bytes_.end(), values.begin(), values.end());
  return begin;
}

/// The offset at `from` becomes that of what the child writes.
void Flat::refer(size_t from, const Child& child) {
  const auto offset = static_cast<uint32_t>(child(*this) - from);
  std::memcpy(bytes_.data() + from, &offset, sizeof offset);
}

/// The vtable, which says where fields are, stands in front of its table.
size_t Flat::write_table(const std::vector<Field>& fields) {
  size_t count = 0;
  for (const Field& field : fields) count = std::max(count, field.number + 1);
  constexpr size_t kAlignment = 8;
  const size_t vtable_bytes = 2 * sizeof(uint16_t) + count * sizeof(uint16_t);
  align(kAlignment, vtable_bytes);
  const size_t vtable = bytes_.size(), table = vtable + vtable_bytes;
  bytes_.resize(table);
  append(static_cast<int32_t>(vtable_bytes));
  std::vector<uint16_t> places(2 + count);
  std::vector<std::pair<size_t, Child>> children;
  for (const Field& field : fields) {
    align(field.child != nullptr ? kOffset : field.scalar.size());
    places[2 + field.number] = static_cast<uint16_t>(bytes_.size() - table);
    if (field.child != nullptr) children.emplace_back(bytes_.size(), field.child);
    bytes_.insert(bytes_.end(), field.scalar.begin(), field.scalar.end());
    if (field.child != nullptr) append(uint32_t{0});
  }
  places[0] = static_cast<uint16_t>(vtable_bytes);
  places[1] = static_cast<uint16_t>(bytes_.size() - table);
  std::memcpy(bytes_.data() + vtable, places.data(), vtable_bytes);
  for (const auto& [from, child] : children) refer(from, child);
  return table;
}

Flat::Child Flat::text(const char* words) {
  return [words](Flat& flat) {
    const size_t length = std::strlen(words);
    return flat.write_vector(length, bytes_of(words, length + 1), 1);
  };
}

Flat::Child Flat::table(std::vector<Field> fields) {
  return [fields = std::move(fields)](Flat& flat) { return flat.write_table(fields); };
}

Flat::Child Flat::tables(std::vector<Child> children) {
  return [children = std::move(children)](Flat& flat) {
    const std::vector<uint8_t> none(children.size() * kOffset);
    const size_t begin = flat.write_vector(children.size(), none, kOffset);
    for (size_t i = 0; i < children.size(); ++i) {
      flat.refer(begin + kOffset + i * kOffset, children[i]);
    }
    return begin;
  };
}

std::vector<uint8_t> Flat::file(const char* identifier, const Child& root) {
  Flat flat;
  flat.append(uint32_t{0});
  for (size_t i = 0; i < 4; ++i) flat.append(identifier[i]);
  flat.refer(0, root);
  return flat.bytes_;
}

}  // namespace tw::litert
