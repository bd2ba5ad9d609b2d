/* Messages: one a thread, so that plans can be used by many threads at once. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

#if defined(_MSC_VER)
#define TW_THREAD_LOCAL __declspec(thread)
#else
#define TW_THREAD_LOCAL _Thread_local
#endif
static TW_THREAD_LOCAL char message[512];

const char* tw_error_message(void) {
  return message;
}

tw_status tw_fail(tw_status status, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  return status;
}

const char* tw_status_text(tw_status status) {
  switch (status) {
    case TW_OK:
      return "ok";
    case TW_INVALID:
      return "invalid argument";
    case TW_TOO_SMALL:
      return "too small";
    case TW_TOO_LARGE:
      return "too large";
    case TW_UNSUPPORTED:
      return "unsupported";
    case TW_MISMATCH:
      return "mismatch";
    case TW_NO_MEMORY:
      return "out of memory";
  }
  return "unknown status";
}

bool tw_log_enabled(void) {
  const char* value = getenv("TILEWRIGHT_LOG");
  return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

void tw_append(tw_text* text, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const size_t room = sizeof text->text - text->length;
  const int length = vsnprintf(text->text + text->length, room, format, list);
  va_end(list);
  if (length > 0) text->length += (size_t)length < room ? (size_t)length : room - 1;
}

void tw_append_word(tw_text* list, const char* word) {
  const size_t length = strlen(word);
  for (const char* at = list->text; (at = strstr(at, word)) != NULL; at += length) {
    const bool starts = at == list->text || at[-1] == ' ';
    if (starts && (at[length] == '\0' || at[length] == ',')) return;
  }
  tw_append(list, "%s%s", list->length == 0 ? "" : ", ", word);
}
