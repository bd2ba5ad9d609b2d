#include "spec/gguf_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <set>

#include "spec/gguf_types.h"

namespace tw {
namespace {

// Far above what models have; keep a sparse or hostile file from taking all time or memory.
constexpr uint64_t most_described = uint64_t{64} << 20;  // bytes of metadata and tensor list
constexpr uint64_t most_pairs = 65536;
constexpr uint64_t most_tensors = uint64_t{1} << 20;
constexpr uint64_t longest_name = 65535;
constexpr uint64_t longest_size = uint64_t{1} << 40;
constexpr int deepest_array = 4;

enum ValueType : uint32_t { boolean = 7, text = 8, array = 9 };
/// Bytes of a value of each metadata type; 0: text and arrays, which say it themselves.
constexpr std::array<uint64_t, 13> value_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr uint32_t smallest_unsigned[] = {0, 2, 4, 10};  // u8, u16, u32, u64

/// Names in messages: what a terminal shows, and not all of a long one.
std::string shown(std::string name) {
  constexpr size_t longest = 80;
  if (name.size() > longest) name = name.substr(0, longest) + "...";
  for (char& c : name) {
    if (c < ' ' || c > '~') c = '?';
  }
  return name;
}

/// The file's bytes in order, of which none beyond its end is asked for.
class Bytes {
 public:
  Bytes(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {
    in_.seekg(0, std::ios::end);
    const std::streamoff end = in_.tellg();
    in_.seekg(0);
    if (!in_ || end < 0) fail_at(0, "the file cannot be read");
    size_ = static_cast<uint64_t>(end);
  }

  [[nodiscard]] uint64_t at() const { return at_; }
  [[nodiscard]] uint64_t size() const { return size_; }

  template <typename Number>
  Number number(std::string_view what) {
    std::array<unsigned char, sizeof(Number)> bytes{};
    expect(bytes.size(), what);
    in_.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
    advance(bytes.size());
    Number value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      value = static_cast<Number>(value | static_cast<Number>(bytes[i]) << 8 * i);
    }
    return value;
  }

  /// A length and as many bytes.
  std::string text(uint64_t longest, std::string_view what) {
    const uint64_t begin = at_;
    const auto length = number<uint64_t>(what);
    if (length > longest) {
      fail_at(begin, fmt::format("{} of {} bytes; at most {} are legal", what, length, longest));
    }
    expect(length, what);
    std::string value(length, '\0');
    in_.read(value.data(), static_cast<std::streamsize>(length));
    advance(length);
    return value;
  }

  void skip(uint64_t count, std::string_view what) {
    expect(count, what);
    constexpr uint64_t near = 4096;  // within what the stream has read already
    if (count <= near) {
      in_.ignore(static_cast<std::streamsize>(count));
    } else {
      in_.seekg(static_cast<std::streamoff>(count), std::ios::cur);
    }
    advance(count);
  }

  [[noreturn]] void fail_at(uint64_t offset, const std::string& what) const {
    throw GgufError(fmt::format("{}: byte {}: {}", name_, offset, what));
  }

 private:
  void expect(uint64_t count, std::string_view what) const {
    if (count > size_ - at_) {
      fail_at(at_, fmt::format("{} needs {} bytes, and the file ends {} bytes later", what, count,
                               size_ - at_));
    }
    if (count > most_described || at_ + count > most_described) {
      fail_at(at_, fmt::format("{} goes on beyond the {} bytes that metadata and the list of "
                               "tensors may take",
                               what, most_described));
    }
  }
  void advance(uint64_t count) {
    if (!in_) fail_at(at_, "the file cannot be read from here on");
    at_ += count;
  }

  std::istream& in_;
  std::string name_;
  uint64_t size_ = 0;
  uint64_t at_ = 0;
};

uint32_t read_version(Bytes& in) {
  if (in.size() < 4 || in.number<uint32_t>("the magic number") != 0x46554747) {
    in.fail_at(0, "not a GGUF file: those begin with the letters GGUF");
  }
  const auto version = in.number<uint32_t>("the version");
  if (version == 2 || version == 3) return version;
  if (version == 0x02000000 || version == 0x03000000) {
    in.fail_at(4, "a big-endian file; little-endian ones are legal");
  }
  in.fail_at(4, fmt::format("version {}; 2 and 3 are legal", version));
}

uint64_t read_count(Bytes& in, uint64_t most, std::string_view what) {
  const uint64_t begin = in.at();
  const auto count = in.number<uint64_t>(fmt::format("the number of {}", what));
  if (count > most) {
    in.fail_at(begin, fmt::format("{} {}; at most {} are legal", count, what, most));
  }
  return count;
}

uint32_t read_value_type(Bytes& in, const std::string& what) {
  const uint64_t begin = in.at();
  const auto type = in.number<uint32_t>("the type of " + what);
  if (type >= value_bytes.size()) {
    in.fail_at(begin, fmt::format("{} is of type {}; 0 to {} are legal", what, type,
                                  value_bytes.size() - 1));
  }
  return type;
}

void skip_value(Bytes& in, uint32_t type, const std::string& what, int level) {
  if (type == ValueType::text) {
    in.skip(in.number<uint64_t>("the length of " + what), what);
    return;
  }
  if (type != ValueType::array) {
    in.skip(value_bytes[type], what);
    return;
  }
  const uint64_t begin = in.at();
  if (level == deepest_array) {
    in.fail_at(begin, fmt::format("{} has arrays in arrays {} deep; {} are legal", what, level + 1,
                                  deepest_array));
  }
  const uint32_t element = read_value_type(in, "an element of " + what);
  const auto count = in.number<uint64_t>("the length of " + what);
  if (const uint64_t bytes = value_bytes[element]; bytes != 0) {
    if (count > in.size() / bytes) {
      in.fail_at(begin, fmt::format("{} has {} elements of {} bytes, and the file is {} bytes long",
                                    what, count, bytes, in.size()));
    }
    in.skip(count * bytes, what);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) skip_value(in, element, what, level + 1);
}

/// The value if it is an unsigned number, else 0; reads past it in any case.
uint64_t read_unsigned(Bytes& in, uint32_t type, const std::string& what) {
  const auto* found = std::find(std::begin(smallest_unsigned), std::end(smallest_unsigned), type);
  if (found == std::end(smallest_unsigned)) {
    skip_value(in, type, what, 0);
    return 0;
  }
  uint64_t value = 0;
  for (uint64_t i = 0; i < value_bytes[type]; ++i)
    value |= uint64_t{in.number<uint8_t>(what)} << 8 * i;
  return value;
}

/// What the metadata says beside the model's own members.
struct Metadata {
  uint64_t alignment = 32;
  uint64_t parts = 1;
};

void read_pair(Bytes& in, std::set<std::string>& keys, GgufModel& model, Metadata& metadata) {
  const uint64_t begin = in.at();
  const std::string key = in.text(longest_name, "a metadata key");
  if (key.empty()) in.fail_at(begin, "a metadata key of no letters");
  if (!keys.insert(key).second) {
    in.fail_at(begin, fmt::format("metadata key '{}' for the second time", shown(key)));
  }
  const std::string what = fmt::format("the value of '{}'", shown(key));
  const uint32_t type = read_value_type(in, what);
  const bool is_text = type == ValueType::text;
  const uint64_t at = in.at();
  if (is_text && key == "general.architecture") {
    model.architecture = in.text(longest_name, what);
  } else if (is_text && key == "general.name") {
    model.name = in.text(longest_name, what);
  } else if (key.ends_with(".expert_used_count")) {
    model.experts_used = read_unsigned(in, type, what);
  } else if (key == "split.count") {
    metadata.parts = read_unsigned(in, type, what);
  } else if (key == "general.alignment") {
    metadata.alignment = read_unsigned(in, type, what);
    if (metadata.alignment == 0 || metadata.alignment % 8 != 0 ||
        metadata.alignment > longest_size) {
      in.fail_at(at, fmt::format("{} is {}; multiples of 8 are legal", what, metadata.alignment));
    }
  } else {
    skip_value(in, type, what, 0);
  }
  if (metadata.parts > 1) {
    in.fail_at(at,
               fmt::format("the file is one of {} parts of a model; the whole model in one file "
                           "is legal",
                           metadata.parts));
  }
}

/// Where a tensor's values are, for a check when it is known where all of them begin.
struct Place {
  uint64_t entry;   ///< of the list
  uint64_t offset;  ///< from the first value of all
};

GgufTensor read_tensor(Bytes& in, std::vector<Place>& places) {
  GgufTensor tensor;
  const uint64_t entry = in.at();
  tensor.name = in.text(longest_name, "a tensor's name");
  if (tensor.name.empty()) in.fail_at(entry, "a tensor's name of no letters");
  const std::string what = fmt::format("of tensor '{}'", shown(tensor.name));
  const uint64_t begin = in.at();
  const auto dimensions = in.number<uint32_t>("the number of dimensions " + what);
  if (dimensions < 1 || dimensions > 4) {
    in.fail_at(begin, fmt::format("{} dimensions {}; 1 to 4 are legal", dimensions, what));
  }
  for (uint32_t i = 0; i < dimensions; ++i) {
    const uint64_t at = in.at();
    const auto size = in.number<uint64_t>("a size " + what);
    if (size == 0 || size > longest_size) {
      in.fail_at(at, fmt::format("a size {} is {}; 1 to {} are legal", what, size, longest_size));
    }
    tensor.sizes.push_back(size);
  }
  tensor.type = in.number<uint32_t>("the type " + what);
  places.push_back({entry, in.number<uint64_t>("the offset " + what)});
  return tensor;
}

/// The product, or more than any file has.
uint64_t multiply(uint64_t a, uint64_t b) {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/// Its values lie within the file, as far as their size is known.
void check_place(const Bytes& in, const GgufTensor& tensor, const Place& place, uint64_t first) {
  const GgufType* type = find_gguf_type(tensor.type);
  const std::string what =
      fmt::format("tensor '{}' of {}", shown(tensor.name), gguf_type_name(tensor.type));
  uint64_t bytes = 0;
  if (type != nullptr && type->block != 0) {
    if (tensor.sizes[0] % type->block != 0) {
      in.fail_at(place.entry, fmt::format("{} has rows of {} values; whole blocks of {} are legal",
                                          what, tensor.sizes[0], type->block));
    }
    bytes = multiply(tensor.sizes[0] / type->block, type->bytes);
    for (size_t i = 1; i < tensor.sizes.size(); ++i) bytes = multiply(bytes, tensor.sizes[i]);
  }
  const uint64_t room = first > in.size() ? 0 : in.size() - first;
  if (place.offset > room || bytes > room - place.offset) {
    in.fail_at(place.entry,
               fmt::format("{} has {} bytes at offset {} of the values, and the file has {} bytes "
                           "of values",
                           what, bytes, place.offset, room));
  }
}

}  // namespace

GgufModel read_gguf(const std::filesystem::path& file) {
  std::error_code error;
  std::ifstream stream;
  // Not a folder or a device, which open but have no end.
  if (std::filesystem::is_regular_file(file, error)) stream.open(file, std::ios::binary);
  if (!stream.is_open()) {
    throw GgufError(fmt::format("{}: byte 0: not a file that can be read", file.string()));
  }
  return read_gguf(stream, file.string());
}

GgufModel read_gguf(std::istream& stream, const std::string& name) {
  Bytes in(stream, name);
  read_version(in);
  const uint64_t tensors = read_count(in, most_tensors, "tensors");
  const uint64_t pairs = read_count(in, most_pairs, "pairs of metadata");
  GgufModel model;
  Metadata metadata;
  std::set<std::string> names;
  for (uint64_t i = 0; i < pairs; ++i) read_pair(in, names, model, metadata);
  names.clear();
  std::vector<Place> places;
  for (uint64_t i = 0; i < tensors; ++i) {
    model.tensors.push_back(read_tensor(in, places));
    const std::string& tensor = model.tensors.back().name;
    if (!names.insert(tensor).second) {
      in.fail_at(places.back().entry,
                 fmt::format("tensor '{}' for the second time", shown(tensor)));
    }
  }
  const uint64_t first =
      (in.at() + metadata.alignment - 1) / metadata.alignment * metadata.alignment;
  for (size_t i = 0; i < places.size(); ++i) check_place(in, model.tensors[i], places[i], first);
  return model;
}

}  // namespace tw
