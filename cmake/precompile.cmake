# With TILEWRIGHT_PRECOMPILE what most files include is compiled once, which takes a build half the
# time. Off by itself: clang-tidy and clangd cannot read what gcc makes of headers, and a file that
# forgets to include what it uses compiles all the same.
option(TILEWRIGHT_PRECOMPILE "Precompile the headers that most files include" OFF)
option(TILEWRIGHT_UNITY "Compile the files of tests and large libraries several at a time" OFF)
option(TILEWRIGHT_FAULTS "With TILEWRIGHT_UNITY: files in which most faults are seeded, alone" ON)
if(TILEWRIGHT_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC looks for garbage again and again, a seventh of its time, until it may use a gigabyte.
  add_compile_options(--param=ggc-min-heapsize=1000000)
endif()
set(tw_common_headers <algorithm> <cstdint> <cstring> <filesystem> <functional> <map> <memory>
                      <optional> <set> <stdexcept> <string> <vector> <fmt/format.h>)

# tw_precompile(TARGET [OWNER]): of headers that were compiled with OWNER, which has the same
# options; or TARGET's own. With libFuzzer some libraries have options that others lack.
function(tw_precompile target)
  if(NOT TILEWRIGHT_PRECOMPILE)
    return()
  endif()
  if(ARGC GREATER 1 AND NOT TILEWRIGHT_FUZZ)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} PRIVATE ${tw_common_headers})
  endif()
endfunction()

# tw_unite(TARGET [FILE...]): all of its files at a time, where TILEWRIGHT_UNITY says so: each of
# them takes longer to read its headers than to be compiled. Not those that are named: they have
# names of other files, or tests put something else in their place.
function(tw_unite target)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TILEWRIGHT_UNITY}
                                             UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# tw_spare_optimizing(TARGET): options, records, reports. Compiling them takes longer than what they
# do, so builds that save time do not optimize them, others a little.
function(tw_spare_optimizing target)
  set(quick $<OR:$<CONFIG:Debug>,$<BOOL:${TILEWRIGHT_UNITY}>>)
  target_compile_options(${target} PRIVATE $<IF:${quick},-O0,-O1>)
endfunction()
