# tw_xxhash: xxHash, which is a header. A copy, as the folder that it is installed in has the C
# library's headers too, which are none for another machine.
find_file(XXHASH_HEADER xxhash.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
file(COPY ${XXHASH_HEADER} DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/xxhash)
add_library(tw_xxhash INTERFACE)
target_include_directories(tw_xxhash SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/xxhash)
target_compile_definitions(tw_xxhash INTERFACE XXH_INLINE_ALL)
