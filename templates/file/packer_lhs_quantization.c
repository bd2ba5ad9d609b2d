// code = round(x * factor) + zero_point; the bounds keep codes within int8.
// x = (code - zero_point) * scale
typedef struct quantization {
  float factor, lowest, highest;
  int32_t zero_point;
  float scale;
} quantization;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
