// Fills the rest of a run's row with the last of its codes.
static void repeat_last_code(uint8_t *codes, size_t columns) {
  uint8_t *const last = codes + (columns - 1) / 2;
  const unsigned code = *last >> ((columns - 1) % 2 * 4) & 15;
  if (columns % 2 != 0) *last = (uint8_t)(code | code << 4);
  memset(last + 1, (int)(code | code << 4), (size_t)(codes + RUN_BYTES - (last + 1)));
}

