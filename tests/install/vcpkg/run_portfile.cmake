# Runs the port without vcpkg: its functions as far as the port relies on them, then what vcpkg
# checks of a package.
#   cmake -DWORK=DIR -DTYPES=Release -DVERSION=... -DGENERATED=DIR -DCOMPILER=cc -DGENERATOR=Ninja
#         -P run_portfile.cmake      TYPES: Release, or Debug,Release, as triplets may say
cmake_minimum_required(VERSION 3.25)
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
set(port ${source}/packaging/vcpkg/tilewright)
file(REMOVE_RECURSE ${WORK})
set(CURRENT_PACKAGES_DIR ${WORK}/package)
string(REPLACE "," ";" types ${TYPES})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(vcpkg_check_linkage)
  if(NOT ARGN STREQUAL ONLY_STATIC_LIBRARY)
    message(FATAL_ERROR "vcpkg_check_linkage(${ARGN})")
  endif()
endfunction()

# Each build into a folder of its own.
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  foreach(type ${types})
    set(prefix ${CURRENT_PACKAGES_DIR})
    if(type STREQUAL Debug)
      string(APPEND prefix /debug)
    endif()
    run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/${type} -G ${GENERATOR}
        -DCMAKE_C_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=${type} -DCMAKE_INSTALL_PREFIX=${prefix}
        -DCMAKE_C_FLAGS_RELEASE=-O0 -DCMAKE_C_FLAGS_DEBUG=-O0 -DBUILD_SHARED_LIBS=OFF -DTILEWRIGHT_GENERATED=${GENERATED}
        ${arg_OPTIONS})
    # Options that are no longer there.
    if(output MATCHES "not used by the project:(.*)")
      string(REPLACE BUILD_SHARED_LIBS "" others "${CMAKE_MATCH_1}")
      if(others MATCHES "TILEWRIGHT_[A-Z]+")
        message(FATAL_ERROR "the project does not know ${CMAKE_MATCH_0}")
      endif()
    endif()
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(type ${types})
    run(${CMAKE_COMMAND} --build ${WORK}/${type} --target install)
  endforeach()
endfunction()

# Moves the package's files to share/, those of the debug library too, and mends how they find the
# prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" CONFIG_PATH "")
  set(share ${CURRENT_PACKAGES_DIR}/share/tilewright)
  file(MAKE_DIRECTORY ${share})
  file(GLOB debug ${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}/*-debug.cmake)
  foreach(file ${debug})
    get_filename_component(name ${file} NAME)
    file(READ ${file} text)
    string(REPLACE "{_IMPORT_PREFIX}/lib" "{_IMPORT_PREFIX}/debug/lib" text "${text}")
    file(WRITE ${share}/${name} "${text}")
  endforeach()
  file(GLOB release ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  foreach(file ${release})
    get_filename_component(name ${file} NAME)
    file(READ ${file} text)
    set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}")
    string(REPLACE "/../../../" "/../../" text "${text}")
    file(WRITE ${share}/${name} "${text}")
  endforeach()
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake ${CURRENT_PACKAGES_DIR}/debug/lib/cmake)
endfunction()

# The package's own file is relative to where it lies; vcpkg changes nothing in such a file.
function(vcpkg_fixup_pkgconfig)
  file(GLOB files ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc
       ${CURRENT_PACKAGES_DIR}/debug/lib/pkgconfig/*.pc)
  foreach(file ${files})
    file(READ ${file} text)
    if(NOT text MATCHES "^prefix=\\\${pcfiledir}/")
      message(FATAL_ERROR "${file} has an absolute prefix:\n${text}")
    endif()
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/tilewright/copyright)
endfunction()

file(READ ${port}/vcpkg.json manifest)
foreach(member name version description license supports)
  string(JSON ${member} GET "${manifest}" ${member})
endforeach()
if(NOT name STREQUAL tilewright OR NOT version STREQUAL VERSION)
  message(FATAL_ERROR "vcpkg.json is of ${name} ${version}, not of tilewright ${VERSION}")
endif()
file(STRINGS ${source}/LICENSE text REGEX "Apache License|Version 2.0")
if(NOT license STREQUAL Apache-2.0 OR text STREQUAL "")
  message(FATAL_ERROR "vcpkg.json: the license is not ${license}")
endif()

include(${port}/portfile.cmake)

set(all_wanted include/tilewright/tilewright.h include/tilewright/generated.h lib/libtilewright.a
    lib/pkgconfig/tilewright.pc share/tilewright/copyright share/tilewright/tilewrightConfig.cmake
    share/tilewright/tilewrightTargets-release.cmake)
if(Debug IN_LIST types)
  list(APPEND all_wanted debug/lib/libtilewright.a debug/lib/pkgconfig/tilewright.pc
       share/tilewright/tilewrightTargets-debug.cmake)
endif()
foreach(wanted ${all_wanted})
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${wanted})
    message(FATAL_ERROR "the package lacks ${wanted}")
  endif()
endforeach()
foreach(unwanted debug/include debug/share lib/cmake debug/lib/cmake bin debug/bin)
  if(EXISTS ${CURRENT_PACKAGES_DIR}/${unwanted})
    message(FATAL_ERROR "the package has ${unwanted}")
  endif()
endforeach()
file(GLOB_RECURSE texts ${CURRENT_PACKAGES_DIR}/*.cmake ${CURRENT_PACKAGES_DIR}/*.pc
     ${CURRENT_PACKAGES_DIR}/*.h)
foreach(file ${texts})
  file(STRINGS ${file} lines REGEX "${WORK}|${source}|${GENERATED}")
  if(lines)
    message(FATAL_ERROR "${file} has a path of this machine: ${lines}")
  endif()
endforeach()
