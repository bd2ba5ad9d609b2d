enum {
  BLOCK = @CHUNK@,  // values of k that share fields
  AT_ONCE = 16      // blocks of a row that are quantized at a time
};
