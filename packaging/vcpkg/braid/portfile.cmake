# packaging/vcpkg/braid/portfile.cmake: braid, the library alone, as an overlay port, built of the tree that this file is in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DBRAID_PROGRAMS=OFF -DBUILD_TESTING=OFF -DBRAID_PRECOMPILE=OFF -DBRAID_SHARED=${shared} -DBRAID_FIBER_LIBRARY=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME braid CONFIG_PATH lib/cmake/braid)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
