# An overlay port that builds the sources it lies in:
#   vcpkg install tilewright --overlay-ports=packaging/vcpkg
# vcpkg looks at this folder only when it asks whether a package is up to date: after a change
# elsewhere, `vcpkg remove tilewright` first. A port elsewhere gets its sources by
# vcpkg_from_github() or its like instead.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_linkage(ONLY_STATIC_LIBRARY)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DTILEWRIGHT_SHARED=OFF
    -DTILEWRIGHT_WERROR=OFF
    -DTILEWRIGHT_GENERATOR=OFF
    -DTILEWRIGHT_TESTS=OFF
    -DTILEWRIGHT_EXAMPLES=OFF
    -DTILEWRIGHT_TUNER=OFF
    -DTILEWRIGHT_BENCH=OFF
    -DTILEWRIGHT_GGML=OFF
    -DTILEWRIGHT_LITERT=OFF
    -DTILEWRIGHT_ONNXRUNTIME_PLUGIN=OFF
    -DTILEWRIGHT_KLEIDIAI=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tilewright)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
