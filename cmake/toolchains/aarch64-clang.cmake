# Uses the GNU cross toolchain's libraries and linker.
include(${CMAKE_CURRENT_LIST_DIR}/aarch64.cmake)
find_program(arm_clang NAMES clang-19 clang REQUIRED)
find_program(arm_clangxx NAMES clang++-19 clang++ REQUIRED)
foreach(language C CXX ASM)
  set(CMAKE_${language}_COMPILER ${arm_clang})
  set(CMAKE_${language}_COMPILER_TARGET aarch64-linux-gnu)
endforeach()
set(CMAKE_CXX_COMPILER ${arm_clangxx})
