/* The optional 64-byte header of packed weights in files (layout: tilewright.h). */
#include "internal.h"

static const unsigned char magic[4] = {'T', 'W', 'P', 'K'};
enum { VERSION = 1 };
enum { AT_VERSION = 4, AT_LAYOUT = 8, AT_N = 16, AT_K = 24, AT_BLOCK = 32, AT_VECTOR = 36 };
enum { AT_BYTES = 40, AT_CHECKSUM = 48, AT_OWN_CHECKSUM = 56 };

static void put(unsigned char* at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char* at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= (uint64_t)at[i] << 8 * i;
  return value;
}

/* Every step is a bijection of h, so a change in one word is always noticed. */
uint64_t tw_checksum(const void* data, size_t bytes) {
  const unsigned char* at = data;
  uint64_t h = 0xcbf29ce484222325u;
  for (; bytes > 0; at += 8) {
    const size_t step = bytes < 8 ? bytes : 8;
    h = (h ^ get(at, step)) * 0x100000001b3u;
    h ^= h >> 32;
    bytes -= step;
  }
  return h;
}

static uint32_t vector_bytes(const tw_plan* plan) {
  return plan->rhs->panel_scalable != 0 ? (uint32_t)tw_vector_bytes(plan->rhs, &plan->device) : 0;
}

static tw_status check_buffers(const char* who, const tw_plan* plan, const void* rhs,
                               size_t rhs_bytes, const void* header, size_t header_bytes) {
  if (plan == NULL) return tw_fail(TW_INVALID, "%s: plan is null", who);
  if (rhs == NULL) return tw_fail(TW_INVALID, "%s: rhs is null", who);
  if (rhs_bytes < plan->rhs_bytes) {
    return tw_fail(TW_TOO_SMALL, "%s: rhs_bytes is %zu; this plan needs %zu", who, rhs_bytes,
                   plan->rhs_bytes);
  }
  if (header == NULL) return tw_fail(TW_INVALID, "%s: header is null", who);
  if (header_bytes < TW_CONTAINER_BYTES) {
    return tw_fail(TW_TOO_SMALL, "%s: header_bytes is %zu; a header has %d", who, header_bytes,
                   TW_CONTAINER_BYTES);
  }
  return TW_OK;
}

tw_status tw_container_write(const tw_plan* plan, const void* rhs, size_t rhs_bytes, void* header,
                             size_t header_bytes) {
  const tw_status status =
      check_buffers("tw_container_write", plan, rhs, rhs_bytes, header, header_bytes);
  if (status != TW_OK) return status;
  unsigned char* at = header;
  memcpy(at, magic, sizeof magic);
  put(at + AT_VERSION, VERSION, 4);
  put(at + AT_LAYOUT, plan->rhs->id, 8);
  put(at + AT_N, plan->n, 8);
  put(at + AT_K, plan->k, 8);
  put(at + AT_BLOCK, plan->rhs->block, 4);
  put(at + AT_VECTOR, vector_bytes(plan), 4);
  put(at + AT_BYTES, plan->rhs_bytes, 8);
  put(at + AT_CHECKSUM, tw_checksum(rhs, plan->rhs_bytes), 8);
  put(at + AT_OWN_CHECKSUM, tw_checksum(at, AT_OWN_CHECKSUM), 8);
  return TW_OK;
}

tw_status tw_container_read(const void* header, size_t header_bytes, tw_container* container) {
  if (header == NULL || container == NULL) {
    return tw_fail(TW_INVALID, "tw_container_read: %s is null",
                   header == NULL ? "header" : "container");
  }
  tw_status status = tw_check_size("tw_container_read: container", "tw_container", container,
                                   sizeof(size_t), sizeof *container);
  if (status != TW_OK) return status;
  if (header_bytes < TW_CONTAINER_BYTES) {
    return tw_fail(TW_TOO_SMALL, "tw_container_read: header_bytes is %zu; a header has %d",
                   header_bytes, TW_CONTAINER_BYTES);
  }
  const unsigned char* at = header;
  if (memcmp(at, magic, sizeof magic) != 0) {
    return tw_fail(TW_MISMATCH,
                   "container: header starts with %02x %02x %02x %02x, not with the "
                   "magic \"TWPK\"",
                   at[0], at[1], at[2], at[3]);
  }
  const unsigned version = (unsigned)get(at + AT_VERSION, 4);
  if (version != VERSION) {
    return tw_fail(TW_MISMATCH, "container: version is %u; this build reads version %d", version,
                   VERSION);
  }
  if (get(at + AT_OWN_CHECKSUM, 8) != tw_checksum(at, AT_OWN_CHECKSUM)) {
    return tw_fail(TW_MISMATCH, "container: header is damaged (its own checksum is wrong)");
  }
  const tw_container found = {.layout = get(at + AT_LAYOUT, 8),
                              .n = get(at + AT_N, 8),
                              .k = get(at + AT_K, 8),
                              .block = (uint32_t)get(at + AT_BLOCK, 4),
                              .vector_bytes = (uint32_t)get(at + AT_VECTOR, 4),
                              .bytes = get(at + AT_BYTES, 8),
                              .checksum = get(at + AT_CHECKSUM, 8)};
  tw_give(&found, sizeof found, container);
  return TW_OK;
}

static tw_status check_number(const char* what, uint64_t found, uint64_t expected) {
  if (found == expected) return TW_OK;
  return tw_fail(TW_MISMATCH, "container: %s is %llu; this plan has %llu", what,
                 (unsigned long long)found, (unsigned long long)expected);
}

tw_status tw_container_check(const tw_plan* plan, const void* header, size_t header_bytes,
                             const void* rhs, size_t rhs_bytes) {
  tw_status status =
      check_buffers("tw_container_check", plan, rhs, rhs_bytes, header, header_bytes);
  if (status != TW_OK) return status;
  tw_container found = {.size = sizeof found};
  status = tw_container_read(header, header_bytes, &found);
  if (status != TW_OK) return status;
  if (found.layout != plan->rhs->id) {
    return tw_fail(TW_MISMATCH, "container: layout id is 0x%016llx; this plan reads 0x%016llx (%s)",
                   (unsigned long long)found.layout, (unsigned long long)plan->rhs->id,
                   plan->rhs->text);
  }
  const struct {
    const char* what;
    uint64_t found, expected;
  } numbers[] = {{"n", found.n, plan->n},
                 {"k", found.k, plan->k},
                 {"block", found.block, plan->rhs->block},
                 {"vector bytes", found.vector_bytes, vector_bytes(plan)},
                 {"payload bytes", found.bytes, plan->rhs_bytes}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    status = check_number(numbers[i].what, numbers[i].found, numbers[i].expected);
    if (status != TW_OK) return status;
  }
  if (tw_checksum(rhs, plan->rhs_bytes) != found.checksum) {
    return tw_fail(TW_MISMATCH, "container: the payload is damaged (its checksum is wrong)");
  }
  return TW_OK;
}
