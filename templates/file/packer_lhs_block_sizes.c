enum {
  AT_ONCE = 16,      // blocks of a row that are quantized at a time
  MOST_CODES = 4096  // of them
};
