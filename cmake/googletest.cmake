# The installed GoogleTest; when cross compiling, one built for the target from its sources.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(GTest REQUIRED)
else()
  set(TILEWRIGHT_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH
      "Sources of GoogleTest (Debian's package googletest)")
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  add_subdirectory(${TILEWRIGHT_GOOGLETEST_SOURCE} ${PROJECT_BINARY_DIR}/googletest
                   EXCLUDE_FROM_ALL SYSTEM)
  foreach(target gtest gtest_main)
    target_compile_options(${target} PRIVATE -w)  # not ours to keep free of warnings
  endforeach()
endif()
include(GoogleTest)
