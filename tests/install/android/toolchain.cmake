# What an NDK's toolchain file says, for a machine that has none: Android on 64-bit Arm by clang.
# There is no C library of Android's to link with, nor are there its headers: glibc's stand in.
set(CMAKE_SYSTEM_NAME Android)
set(CMAKE_SYSTEM_VERSION 1)  # so that CMake looks for no NDK
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ANDROID TRUE)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_ASM_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-android24)
set(CMAKE_ASM_COMPILER_TARGET aarch64-linux-android24)
set(CMAKE_C_FLAGS_INIT "-isystem /usr/aarch64-linux-gnu/include")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
