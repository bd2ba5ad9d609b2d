# tw_fmt: fmt for the target, which may be another machine or a static program; Debian has it as a
# shared library of this machine only.
find_package(fmt REQUIRED)
if(fmt_VERSION VERSION_LESS 10)
  add_library(tw_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
  target_include_directories(tw_fmt SYSTEM PUBLIC
    $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
  set_target_properties(tw_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
else()  # whose parts are others than fmt.cpp knows
  add_library(tw_fmt INTERFACE)
  target_link_libraries(tw_fmt INTERFACE fmt::fmt-header-only)
endif()
