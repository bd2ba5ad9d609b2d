// One float a column from `from` (null: zeros); 0 for columns that do not exist. Bytes, because
// nothing need be aligned.
static void write_floats(uint8_t *to, const void *from, size_t row, size_t columns, size_t panel) {
  memset(to, 0, panel * sizeof(float));
  if (from == 0) return;
  memcpy(to, (const uint8_t *)from + row * sizeof(float), columns * sizeof(float));
}

