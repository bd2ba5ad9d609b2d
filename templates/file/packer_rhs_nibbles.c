// Bits of a source byte that differ from what the layout wants of its nibbles, an offset of 8.
static uint64_t bits_to_flip(const tw_pack_args *args) {
  const uint64_t wanted = @FLIP@, given = args->flags & TW_PACK_UNSIGNED_NIBBLES ? 0x88 : 0;
  return wanted ^ given;
}

// What a source byte holds where there are no codes: two codes 0.
static uint8_t no_codes(const tw_pack_args *args) {
  return args->flags & TW_PACK_UNSIGNED_NIBBLES ? 0x88 : 0x00;
}

// Copies codes first .. first + values of a source row; the other half of the last byte becomes
// code 0.
static void copy_codes(const tw_pack_args *args, uint8_t *to, const uint8_t *row, size_t first,
                       size_t values) {
  const uint8_t *const from = row + first / 2;
  if (first % 2 == 0) {
    memcpy(to, from, (values + 1) / 2);
  } else {
    for (size_t i = 0; i < values; i += 2) {
      const unsigned next = i + 1 < values ? from[i / 2 + 1] : 0;
      to[i / 2] = (uint8_t)(from[i / 2] >> 4 | next << 4);
    }
  }
  if (values % 2 != 0) {
    uint8_t *const last = to + values / 2;
    *last = (uint8_t)((*last & 0x0f) | (no_codes(args) & 0xf0));
  }
}

