/* Structs of callers that may have been built with another version of the headers: each begins with
 * its size there. */
#include "internal.h"

/* So much may a later version have more; beyond, the size is none. */
enum { MOST_UNKNOWN_BYTES = 4096 };

static size_t size_of(const void* theirs) {
  size_t size;
  memcpy(&size, theirs, sizeof size);
  return size;
}

tw_status tw_check_size(const char* who, const char* type, const void* theirs, size_t least,
                        size_t known) {
  const size_t size = size_of(theirs);
  if (size >= least && size <= known + MOST_UNKNOWN_BYTES) return TW_OK;
  return tw_fail(TW_INVALID, "%s.size is %zu; sizeof(%s) is legal", who, size, type);
}

tw_status tw_take(const char* who, const char* type, const void* theirs, void* own, size_t known) {
  const tw_status status = tw_check_size(who, type, theirs, sizeof(size_t), known);
  if (status != TW_OK) return status;
  const size_t size = size_of(theirs);
  for (size_t i = known; i < size; ++i) {
    if (((const char*)theirs)[i] == 0) continue;
    return tw_fail(
        TW_UNSUPPORTED,
        "%s.size is %zu; this library (%d.%d.%d) knows %zu bytes of %s, and what follows "
        "them is not 0",
        who, size, TILEWRIGHT_VERSION_MAJOR, TILEWRIGHT_VERSION_MINOR, TILEWRIGHT_VERSION_PATCH,
        known, type);
  }
  memset(own, 0, known);
  memcpy(own, theirs, size < known ? size : known);
  return TW_OK;
}

void tw_give(const void* own, size_t known, void* theirs) {
  const size_t size = size_of(theirs);
  memset(theirs, 0, size);
  memcpy(theirs, own, size < known ? size : known);
  memcpy(theirs, &size, sizeof size);
}

int tw_version(void) {
  return TILEWRIGHT_VERSION_NUMBER;
}
