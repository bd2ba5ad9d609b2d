// Bits of a source byte that differ from what the layout wants: the sign, where it adds 128.
static uint64_t bits_to_flip(const tw_pack_args *args) {
  (void)args;
  return @FLIP@;
}

// What a source byte holds where there are no codes: code 0.
static uint8_t no_codes(const tw_pack_args *args) {
  (void)args;
  return 0;
}

// Copies codes first .. first + values of a source row.
static void copy_codes(const tw_pack_args *args, uint8_t *to, const uint8_t *row, size_t first,
                       size_t values) {
  (void)args;
  memcpy(to, row + first, values);
}

