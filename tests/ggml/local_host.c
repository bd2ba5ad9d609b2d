/* A library of a host that loads it for itself only. */
int ggml_of_one_library(void);
int ggml_of_one_library(void) {
  return 7;
}
