
// A value `copies` times; `usual` is a constant, so that this many take no loop.
static void store_copies(uint8_t *to, int32_t value, size_t copies, size_t usual) {
  if (copies == usual) {
    for (size_t i = 0; i < usual; ++i) tw_store_i32(to + 4 * i, value);
  } else {
    for (size_t i = 0; i < copies; ++i) tw_store_i32(to + 4 * i, value);
  }
}
