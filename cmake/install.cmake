# What `cmake --install` puts where other projects find it: the library, its headers and package, and the programs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS braid EXPORT braid-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET braid_tls)
  install(TARGETS braid_tls DESTINATION ${CMAKE_INSTALL_LIBDIR})  # the library looks for it in its own folder
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/braid DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/braid)
install(EXPORT braid-targets NAMESPACE braid:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/braid-config.cmake.in ${PROJECT_BINARY_DIR}/braid-config.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/braid-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/braid-config.cmake ${PROJECT_BINARY_DIR}/braid-config-version.cmake
        DESTINATION ${package})

# A program finds the library beside its own folder, wherever the two are moved.
foreach(program braid-doctor rankd)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${program})
  endif()
endforeach()
