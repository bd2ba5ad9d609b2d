# 64-bit Windows by Debian's mingw-w64; programs run under Wine (scripts/setup-windows).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_ASM_COMPILER ${CMAKE_C_COMPILER})
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
find_program(TILEWRIGHT_WINE NAMES wine64 wine HINTS /usr/lib/wine REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${TILEWRIGHT_WINE})

set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
# Stacks are aligned to 16 bytes there, which GCC forgets about longer vectors (its bug 54412).
set(CMAKE_C_FLAGS_INIT -Wa,-muse-unaligned-vector-move)
# Nor may it keep values in registers that an inline function is known not to change: the linker
# may take another file's copy of that function, whose code is another one.
set(CMAKE_CXX_FLAGS_INIT "-Wa,-muse-unaligned-vector-move -fno-ipa-ra")
list(APPEND CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
