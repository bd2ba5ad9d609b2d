// What generated files include of their architecture, to be compiled once for many of them: reading
// it takes longer than they do.
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
