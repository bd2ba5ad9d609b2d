enum {
  AT_ONCE = 32,  // blocks of a row that are quantized at a time
  // Of them. 4 KiB apart, loads of sums would wait for stores of codes.
  MOST_CODES = 3840
};
