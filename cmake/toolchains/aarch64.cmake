# What both toolchains for 64-bit Arm Linux share: static programs, run under QEMU.
# scripts/setup-arm-tools puts QEMU into $TILEWRIGHT_ARM_TOOLS, default ~/.cache/tilewright/arm-tools.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

if(DEFINED ENV{TILEWRIGHT_ARM_TOOLS})
  set(arm_tools $ENV{TILEWRIGHT_ARM_TOOLS})
else()
  set(arm_tools $ENV{HOME}/.cache/tilewright/arm-tools)
endif()
find_program(TILEWRIGHT_QEMU qemu-aarch64 HINTS ${arm_tools}/bin REQUIRED)
set(TILEWRIGHT_QEMU_CPU neoverse-n2 CACHE STRING "The processor that QEMU plays in tests")
set(CMAKE_CROSSCOMPILING_EMULATOR "${TILEWRIGHT_QEMU};-cpu;${TILEWRIGHT_QEMU_CPU}")

set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
list(APPEND CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Packages of headers only (fmt, CLI11, nlohmann-json) are those of this machine; Debian has fmt's in
# the folder of its architecture.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
list(APPEND CMAKE_PREFIX_PATH /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake)
