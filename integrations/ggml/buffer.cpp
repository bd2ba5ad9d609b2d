#include "integrations/ggml/buffer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "integrations/common/cache.h"
#include "integrations/common/message.h"
#include "integrations/common/pages.h"
#include "integrations/ggml/mapped.h"
#include "integrations/ggml/measured.h"
#include "integrations/ggml/team.h"

namespace tw::ggml {

namespace {

const Host* host_of_buffers = nullptr;
std::string cache;  ///< the folder; empty: there is none

const Packing& packing_in(const Tensor* tensor) {
  return *static_cast<const Packing*>(tensor->extra);
}

const char* kernel_name(const Packing& packing, size_t m) {
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  tw_plan_segments(plan_for(packing, m, true), m, segments, &count);
  return count == 0 ? "none" : segments[0].kernel->name;
}

void log_weights(const Tensor* tensor) {
  const Packing& packing = packing_in(tensor);
  message("{}: {} {} x {}, decode {}, prompt {}", tensor->name, packing.type->name, packing.n,
          packing.k, kernel_name(packing, 1), kernel_name(packing, 512));
}

/// ---- a buffer ----

void free_memory(Buffer* buffer) {
  free_pages(buffer->context, buffer->size);
}

void* base(Buffer* buffer) {
  return buffer->context;
}

Status init_tensor(Buffer*, Tensor* tensor) {
  const Packing* packing = tensor->view_src == nullptr ? packing_of(*tensor) : nullptr;
  if (packing == nullptr) {
    message(
        "{}: packed buffers hold whole weights of types that tilewright packs; this one is of "
        "type {}{}",
        tensor->name, tensor->type, tensor->view_src != nullptr ? " and a view" : "");
    return failed;
  }
  tensor->extra = const_cast<Packing*>(packing);
  return success;
}

bool is_whole(const Tensor& tensor, size_t offset, size_t size) {
  return offset == 0 && size == tensor.nb[3] * static_cast<size_t>(tensor.ne[3]);
}

/// Calls `body` on pieces of some megabytes, each of which is given back if it is a mapped file's,
/// so that file and packed weights are never in memory both.
template <class Body>
void for_pieces(const Packing& packing, const void* data, size_t size, const Body& body) {
  constexpr size_t kPiece = size_t{1} << 24;
  const size_t panel = packing.panel * row_bytes(*packing.type, packing.k);
  const size_t piece = (kPiece + panel - 1) / panel * panel;  // panels in two pieces cost more
  for (size_t done = 0; done < size; done += piece) {
    const auto* source = static_cast<const uint8_t*>(data) + done;
    const size_t bytes = std::min(piece, size - done);
    body(source, done, bytes);
    release_mapped(source, bytes);
  }
}

void pack(const Tensor& tensor, const void* data, size_t offset, size_t size) {
  const Packing& packing = packing_in(&tensor);
  for_pieces(packing, data, size, [&](const uint8_t* source, size_t done, size_t bytes) {
    set_span(packing, matrices_of(tensor), {offset + done, bytes}, source, tensor.data);
  });
}

Hash hash_source(const Tensor& tensor, const void* data, size_t size, const Threads& threads) {
  std::vector<Hash> pieces;
  for_pieces(packing_in(&tensor), data, size, [&](const uint8_t* source, size_t, size_t bytes) {
    pieces.push_back(hash_of(source, bytes, threads));
  });
  return hash_of(pieces.data(), pieces.size() * sizeof pieces[0], threads);
}

size_t packed_bytes(const Tensor& tensor, const Packing& packing) {
  return packing.bytes * matrices_of(tensor);
}

/// From the file that has them, which is written if there is none.
void set_from_cache(const Tensor& tensor, const void* data, size_t size) {
  const Packing& packing = packing_in(&tensor);
  const Threads threads = {default_threads(), run_team};
  const CacheKey key = {
      fmt::format("{}-{}x{}x{}", packing.type->name, packing.n, packing.k, matrices_of(tensor)),
      *tw_plan_rhs_layout(packing.plan.get()), hash_source(tensor, data, size, threads)};
  const CacheFile file(cache, key, packed_bytes(tensor, packing), threads);
  file.fill(tensor.name, tensor.data, [&] { pack(tensor, data, 0, size); });
}

void set_tensor(Buffer*, Tensor* tensor, const void* data, size_t offset, size_t size) {
  const bool is_models = std::strcmp(tensor->name, kMeasuredWeights) != 0;
  const bool is_kept = is_models && !cache.empty() && begins_huge_page(tensor->data);
  if (is_kept) make_writable(tensor->data, packed_bytes(*tensor, packing_in(tensor)));
  if (is_kept && is_whole(*tensor, offset, size)) {
    set_from_cache(*tensor, data, size);
  } else {
    pack(*tensor, data, offset, size);
  }
  if (is_models && offset == 0 && is_set("TILEWRIGHT_LOG", "1")) log_weights(tensor);
}

void get_tensor(Buffer*, const Tensor* tensor, void* data, size_t offset, size_t size) {
  get_span(packing_in(tensor), matrices_of(*tensor), {offset, size}, tensor->data, data);
}

void memset_tensor(Buffer* buffer, Tensor* tensor, uint8_t value, size_t offset, size_t size) {
  const std::vector<uint8_t> values(size, value);
  set_tensor(buffer, tensor, values.data(), offset, size);
}

void clear(Buffer* buffer, uint8_t value) {
  make_writable(buffer->context, buffer->size);
  std::memset(buffer->context, value, buffer->size);
}

/// ---- the buffer type ----

const char* type_name(BufferType*) {
  return "tilewright";
}

Buffer* allocate(BufferType* type, size_t size) {
  void* memory = allocate_pages(size);
  if (memory == nullptr) {
    message("no memory for {} bytes of packed weights", size);
    return nullptr;
  }
  const BufferFunctions functions = {.free = free_memory,
                                     .base = base,
                                     .init_tensor = init_tensor,
                                     .memset_tensor = memset_tensor,
                                     .set_tensor = set_tensor,
                                     .get_tensor = get_tensor,
                                     .set_tensor_2d = nullptr,
                                     .get_tensor_2d = nullptr,
                                     .copy_tensor = nullptr,
                                     .clear = clear,
                                     .reset = nullptr};
  return host_of_buffers->buffer_init(type, functions, memory, size);
}

/// Files are mapped in huge pages where they can be.
size_t alignment(BufferType*) {
  return cache.empty() ? kAlignment : kHugePage;
}

size_t tensor_bytes(BufferType*, const Tensor* tensor) {
  const Packing* packing = packing_of(*tensor);
  if (packing != nullptr) {
    const size_t bytes = packed_bytes(*tensor, *packing);
    return cache.empty() ? bytes : whole_huge_pages(bytes);
  }
  return tensor->nb[3] * static_cast<size_t>(tensor->ne[3]);
}

bool is_host(BufferType*) {
  return false;
}

template <class Functions>
BufferType* type_with(const Functions& functions, Device* device) {
  static BufferTypeOf<Functions> type;
  type = {functions, device, nullptr};
  return reinterpret_cast<BufferType*>(&type);
}

}  // namespace

const Packing* packing_of(const Tensor& weights) {
  const WeightType* type = weight_type(weights.type);
  if (type == nullptr) return nullptr;
  const auto k = static_cast<size_t>(weights.ne[0]), n = static_cast<size_t>(weights.ne[1]);
  const size_t row = row_bytes(*type, k);
  const bool whole = weights.nb[0] == type->block_bytes && weights.nb[1] == row &&
                     weights.nb[2] == row * n &&
                     weights.nb[3] == row * n * static_cast<size_t>(weights.ne[2]);
  return whole ? find_packing(*type, n, k) : nullptr;
}

size_t matrices_of(const Tensor& weights) {
  return static_cast<size_t>(weights.ne[2]) * static_cast<size_t>(weights.ne[3]);
}

BufferType* make_buffer_type(const Host& host, Device* device) {
  host_of_buffers = &host;
  cache = cache_folder();
  static constexpr BufferTypeFunctions2 functions2 = {type_name, allocate,     alignment,
                                                      nullptr,   tensor_bytes, is_host};
  static constexpr BufferTypeFunctions3 functions3 = {type_name, allocate,     nullptr, alignment,
                                                      nullptr,   tensor_bytes, nullptr, is_host};
  switch (host.interface.buffer_type_slots) {
    case kSlots<BufferTypeFunctions2>:
      return type_with(functions2, device);
    case kSlots<BufferTypeFunctions2Longer>:
      return type_with(BufferTypeFunctions2Longer{functions2, nullptr}, device);
    default:
      return type_with(functions3, device);
  }
}

}  // namespace tw::ggml
