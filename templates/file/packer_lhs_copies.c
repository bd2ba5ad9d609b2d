
static inline void store_copies(uint8_t *to, int32_t value, size_t copies) {
  for (size_t i = 0; i < copies; ++i) tw_store_i32(to + 4 * i, value);
}
