#include "rows/case_file.h"

#include <fstream>
#include <stdexcept>
#include <type_traits>

namespace tw::test {
namespace {

struct Out {
  std::ofstream& file;
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename List>
  void put_list(const List& list) {
    put(static_cast<uint32_t>(list.size()));
    for (const auto& item : list) put(item);
  }
};

struct In {
  std::ifstream& file;
  template <typename T>
  void get(T& value) {
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    if (!file) throw std::runtime_error("the file of row cases ends too early");
  }
  template <typename List>
  void get_list(List& list) {
    list.resize(get_size());
    for (auto& item : list) get(item);
  }
  uint32_t get_size() {
    uint32_t size = 0;
    get(size);
    return size;
  }
};

}  // namespace

void write_groups(const std::filesystem::path& path, const std::vector<RowGroup>& groups) {
  std::ofstream file(path, std::ios::binary);
  Out out{file};
  out.put(static_cast<uint32_t>(groups.size()));
  for (const RowGroup& group : groups) {
    out.put_list(group.name);
    out.put(group.access);
    out.put(group.aligned);
    out.put(group.result_bytes);
    out.put_list(group.special);
    out.put(static_cast<uint32_t>(group.cases.size()));
    for (const RowCase& one : group.cases) {
      for (const auto* bytes : {&one.inputs, &one.outputs, &one.before, &one.after}) {
        out.put_list(*bytes);
      }
      out.put(one.pointer);
    }
  }
  file.close();
  if (!file) throw std::runtime_error(path.string() + " cannot be written");
}

std::vector<RowGroup> read_groups(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  In in{file};
  std::vector<RowGroup> groups(in.get_size());
  for (RowGroup& group : groups) {
    in.get_list(group.name);
    in.get(group.access);
    in.get(group.aligned);
    in.get(group.result_bytes);
    in.get_list(group.special);
    group.cases.resize(in.get_size());
    for (RowCase& one : group.cases) {
      for (auto* bytes : {&one.inputs, &one.outputs, &one.before, &one.after}) in.get_list(*bytes);
      in.get(one.pointer);
    }
  }
  return groups;
}

}  // namespace tw::test
