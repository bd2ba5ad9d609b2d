// The C++ header compiles and links from the installed package.
#include <cstdio>
#include <tilewright/tilewright.hpp>

int main() {
  try {
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = "matmul_clamp_f32_qai8dxp_qsi4cxp";
    matmul.n = 100;
    matmul.k = 100;
    const tilewright::Plan plan(tilewright::detect(), matmul);
    std::printf("%s\n", plan.segments(1).front().kernel->name);
  } catch (const tilewright::Error& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 1;
  }
  return 0;
}
