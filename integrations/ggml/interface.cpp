#include "integrations/ggml/interface.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "integrations/ggml/ggml_abi.h"
#include "integrations/ggml/symbols.h"

namespace tw::ggml {

namespace {

/// Slots of a table of the host's, as far as they can be counted.
struct Counted {
  const char* whose;
  std::vector<size_t> known;  ///< in rising order
  size_t slots = 0;           ///< 0: there is no such object to count them in

  [[nodiscard]] size_t most() const { return known.back(); }
  [[nodiscard]] bool is_known() const {
    return std::find(known.begin(), known.end(), slots) != known.end();
  }
};

/// How many words stand before the one in `object` that is `member`, which an exported function of
/// the host's has read there: so none is read that does not exist. Known objects have no more
/// before it than `most`; `most` + 1: this one has.
size_t words_before(const void* object, const void* member, size_t most) {
  for (size_t i = 0; i <= most; ++i) {
    const void* word;
    std::memcpy(&word, static_cast<const char*>(object) + i * sizeof word, sizeof word);
    if (word == member) return i;
  }
  return most + 1;
}

void count(Counted& table, const void* object, const void* member, size_t words_ahead = 0) {
  if (object == nullptr || member == nullptr) return;
  table.slots = words_before(object, member, table.most() + words_ahead) - words_ahead;
}

struct Tables {
  Counted device{"devices", {kSlots<DeviceFunctions>}};
  Counted backend{"backends", {kSlots<BackendFunctions>}};
  Counted buffer{"buffers", {kSlots<BufferFunctions>}};
  Counted buffer_type{"buffer types",
                      {kSlots<BufferTypeFunctions2>, kSlots<BufferTypeFunctions2Longer>,
                       kSlots<BufferTypeFunctions3>}};

  [[nodiscard]] std::vector<const Counted*> all() const {
    return {&device, &backend, &buffer, &buffer_type};
  }
};

// ---- the host's objects, made and read by exported functions only ----

void count_buffer(Counted& table) {
  const auto cpu_type = find_function<BufferType*()>("ggml_backend_cpu_buffer_type");
  const auto allocate =
      find_function<Buffer*(BufferType*, size_t)>("ggml_backend_buft_alloc_buffer");
  const auto type_of = find_function<BufferType*(Buffer*)>("ggml_backend_buffer_get_type");
  const auto free = find_function<void(Buffer*)>("ggml_backend_buffer_free");
  if (!cpu_type || !allocate || !type_of || !free) return;
  Buffer* buffer = allocate(cpu_type(), 64);
  if (buffer == nullptr) return;
  count(table, buffer, type_of(buffer));
  free(buffer);
}

void count_backend(Counted& table, Device* cpu) {
  const auto make = find_function<Backend*(Device*, const char*)>("ggml_backend_dev_init");
  const auto device_of = find_function<Device*(Backend*)>("ggml_backend_get_device");
  const auto free = find_function<void(Backend*)>("ggml_backend_free");
  if (!make || !device_of || !free) return;
  Backend* backend = make(cpu, nullptr);
  if (backend == nullptr) return;
  count(table, backend, device_of(backend), 1);  // the guid stands before the table
  free(backend);
}

/// The CPU's plain buffer type names no device, those for packed weights do.
void count_buffer_type(Counted& table, Device* cpu, Registration* registration) {
  const auto function =
      find_function<void*(Registration*, const char*)>("ggml_backend_reg_get_proc_address");
  const auto device_of = find_function<Device*(BufferType*)>("ggml_backend_buft_get_device");
  if (!function || !device_of || registration == nullptr) return;
  const auto extra_types = reinterpret_cast<BufferType** (*)(Device*)>(
      function(registration, "ggml_backend_dev_get_extra_bufts"));
  if (extra_types == nullptr) return;
  for (BufferType** type = extra_types(cpu); type != nullptr && *type != nullptr; ++type) {
    if (device_of(*type) == nullptr) continue;
    count(table, *type, device_of(*type));
    return;
  }
}

Tables count_tables() {
  Tables tables;
  count_buffer(tables.buffer);
  const auto by_type = find_function<Device*(int)>("ggml_backend_dev_by_type");
  const auto registration_of =
      find_function<Registration*(Device*)>("ggml_backend_dev_backend_reg");
  Device* cpu = by_type != nullptr ? by_type(device_cpu) : nullptr;
  if (cpu == nullptr || registration_of == nullptr) return tables;
  Registration* registration = registration_of(cpu);
  count(tables.device, cpu, registration);
  count_backend(tables.backend, cpu);
  count_buffer_type(tables.buffer_type, cpu, registration);
  return tables;
}

// ---- what follows from them ----

/// Of the backends that are there already: the host has checked them. 0: none is.
int version_of_others() {
  const auto count = find_function<size_t()>("ggml_backend_reg_count");
  const auto get = find_function<Registration*(size_t)>("ggml_backend_reg_get");
  if (count == nullptr || get == nullptr || count() == 0) return 0;
  return get(0)->api_version;
}

size_t slots_of_version(int version) {
  return version == 2 ? kSlots<BufferTypeFunctions2> : kSlots<BufferTypeFunctions3>;
}

bool is_version(const Tables& tables, int version) {
  for (const Counted* table : tables.all()) {
    const size_t wanted = table == &tables.buffer_type ? slots_of_version(version) : table->most();
    if (table->slots == 0 || table->slots == wanted) continue;
    message(
        "this ggml says that it has version {} of the plug-in interface, but the table of its {} "
        "has {}{} slots, not {}; llama.cpp goes on without us",
        version, table->whose, table->slots > table->most() ? "more than " : "",
        std::min(table->slots, table->most()), wanted);
    return false;
  }
  return true;
}

/// Of one that we do not know by its number, every table must be one that we know.
bool is_like_known(const Tables& tables, int version) {
  constexpr const char* kOptIn = "TILEWRIGHT_GGML_ANY_VERSION";
  if (!is_set(kOptIn, "1")) {
    message(
        "this ggml has version {} of the plug-in interface, we know 2 and 3; llama.cpp goes on "
        "without us; {}=1 tries one whose tables are as long as theirs",
        version, kOptIn);
    return false;
  }
  for (const Counted* table : tables.all()) {
    if (table->is_known()) continue;
    message(
        "this ggml has version {} of the plug-in interface, we know 2 and 3, and the table of its "
        "{} is {}; llama.cpp goes on without us",
        version, table->whose,
        table->slots == 0 ? "not there to compare" : "not as long as theirs");
    return false;
  }
  return true;
}

std::string counted_text(const Tables& tables) {
  std::string text;
  for (const Counted* table : tables.all()) {
    if (table->slots == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", table->whose, table->slots);
  }
  return text;
}

}  // namespace

bool find_interface(Interface& found) {
  const Tables tables = count_tables();
  found.version = version_of_others();
  if (found.version == 0) {
    found.version = find_symbol("ggml_backend_buft_get_alloc_size_n") != nullptr ? 3 : 2;
  }
  const bool is_numbered = found.version == 2 || found.version == 3;
  found.buffer_type_slots =
      is_numbered ? slots_of_version(found.version) : tables.buffer_type.slots;
  if (is_set("TILEWRIGHT_LOG", "1")) {
    message("plug-in interface {}, slots of tables: {}", found.version, counted_text(tables));
  }
  return is_numbered ? is_version(tables, found.version) : is_like_known(tables, found.version);
}

}  // namespace tw::ggml
