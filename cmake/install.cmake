# What `cmake --install` puts where other projects find it: the library, its headers and package, and the programs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME library)  # and `programs`: cmake --install … --component library

install(TARGETS braid EXPORT braid-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET braid_tls)
  install(TARGETS braid_tls DESTINATION ${CMAKE_INSTALL_LIBDIR})  # the library looks for it in its own folder
endif()
if(TARGET braid-world)  # braid::sim, which looks in its own folder for the library that is loaded into programs
  install(TARGETS braid-world EXPORT braid-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/braid)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/braid DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

# The module is compiled by the program's own build: cmake/braid-import.cmake.
install(FILES ${PROJECT_SOURCE_DIR}/modules/braid.cppm DESTINATION ${CMAKE_INSTALL_DATADIR}/braid/modules)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/braid)
install(EXPORT braid-targets NAMESPACE braid:: DESTINATION ${package})
set(BRAID_MODULES_DIR ${CMAKE_INSTALL_DATADIR}/braid/modules)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/braid-config.cmake.in ${PROJECT_BINARY_DIR}/braid-config.cmake
                              INSTALL_DESTINATION ${package} PATH_VARS BRAID_MODULES_DIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/braid-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/braid-config.cmake ${PROJECT_BINARY_DIR}/braid-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/braid-import.cmake
        DESTINATION ${package})

# What libraries of operators include, and a package that builds them: docs/operators.md.
if(TARGET rankd)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/rankd/abi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rankd
          FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rankd)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rankd-config.cmake.in ${PROJECT_BINARY_DIR}/rankd-config.cmake
                                INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_INCLUDEDIR NO_SET_AND_CHECK_MACRO
                                NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/rankd-config-version.cmake COMPATIBILITY SameMinorVersion
                                   ARCH_INDEPENDENT)
  install(FILES ${PROJECT_BINARY_DIR}/rankd-config.cmake ${PROJECT_BINARY_DIR}/rankd-config-version.cmake
          DESTINATION ${package})
endif()

# The same for pkg-config. The folder may be moved, so that paths begin at the file itself.
string(REGEX REPLACE "[^/]+" ".." BRAID_PC_TO_PREFIX "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
set(BRAID_PC_DEFINITIONS "")
set(BRAID_PC_LIBS "")
foreach(option CHECKED STATIC LIBCXX)
  set(is_on ${BRAID_${option}})
  if(option STREQUAL "STATIC" AND NOT BRAID_SHARED)
    set(is_on ON)
  endif()
  if(is_on)
    string(APPEND BRAID_PC_DEFINITIONS "-DBRAID_${option} ")
  endif()
endforeach()
if(NOT BRAID_TRACE_HOOKS)
  string(APPEND BRAID_PC_DEFINITIONS "-DBRAID_NO_TRACE_HOOKS ")
endif()
if(NOT BRAID_SHARED)
  string(APPEND BRAID_PC_LIBS " -Wl,--undefined=_ZN5braid15default_runtimeEv -Wl,-z,nodelete -lssl -lcrypto -ldl")
  if(BRAID_URING_INCLUDE_DIR AND BRAID_URING_LIBRARY)
    string(APPEND BRAID_PC_LIBS " -luring")
  endif()
  if(BRAID_FIBER_INCLUDE_DIR AND BRAID_FIBER_LIBRARY)
    string(APPEND BRAID_PC_LIBS " -lboost_context")
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/braid.pc.in ${PROJECT_BINARY_DIR}/braid.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/braid.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# braid_manual_page(program): makes the manual page of a program from its --help, as a part of a complete build, and
# installs it. The program must run on this machine, so a cross-compiled one has no page.
function(braid_manual_page program)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(CMAKE_CROSSCOMPILING OR BRAID_MODEL OR NOT Python3_FOUND)
    message(STATUS "No manual page for ${program}: it needs Python 3, and a build for this machine")
    return()
  endif()
  set(page ${PROJECT_BINARY_DIR}/share/man/man1/${program}.1)
  set(tool ${PROJECT_SOURCE_DIR}/tools/make_man)
  add_custom_command(OUTPUT ${page} COMMAND ${Python3_EXECUTABLE} -B ${tool} $<TARGET_FILE:${program}> ${page}
                     DEPENDS ${program} ${tool} COMMENT "Writing the manual page of ${program}" VERBATIM)
  add_custom_target(${program}-manual ALL DEPENDS ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
endfunction()

# A program finds the library beside its own folder, even after both have been moved.
foreach(program braid-doctor braid-sim rankd)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${program} COMPONENT programs)
    braid_manual_page(${program})
  endif()
endforeach()

# The library that braid-sim loads into a program.
if(TARGET braid-sim)
  install(TARGETS braid-sim-library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/braid COMPONENT programs)
endif()

# What braid-doctor gives gdb, and people may source.
if(TARGET braid-doctor)
  install(FILES ${PROJECT_SOURCE_DIR}/doctor/gdb/braid.py ${PROJECT_SOURCE_DIR}/doctor/gdb/braid_cycles.py
                ${PROJECT_SOURCE_DIR}/doctor/gdb/braid_symbols.py
          DESTINATION ${CMAKE_INSTALL_DATADIR}/braid/gdb COMPONENT programs)
endif()

# The contract of gRPC (docs/grpc.md), and the projects of docs/tutorial_rankd.md and docs/operators.md.
if(TARGET rankd)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/rankd.proto DESTINATION ${CMAKE_INSTALL_DATADIR}/rankd COMPONENT programs)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/books ${PROJECT_SOURCE_DIR}/examples/places DESTINATION ${CMAKE_INSTALL_DATADIR}/rankd/examples COMPONENT programs)
endif()

# The compiler of plans, with all that it needs but Node, and the tarballs for npm. The packages of dsl/ must be there:
# `./dev test` installs them.
find_program(NODE_EXECUTABLE NAMES node nodejs)
if(TARGET rankd AND NODE_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/dsl/node_modules/typescript/lib/tsc.js)
  install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    set(compiled node_modules/typescript/lib/tsc.js -b packages/dslc)
    foreach(step \"\${compiled}\" \"pack.js;tree;\${prefix}/share/rankd\" \"pack.js;tarballs;\${prefix}/share/rankd/npm;\${prefix}/bin/rankd\")
      execute_process(COMMAND ${NODE_EXECUTABLE} \${step} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/dsl COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    file(MAKE_DIRECTORY \"\${prefix}/bin\")
    file(CREATE_LINK ../share/rankd/node_modules/@rankd/dslc/bin/dslc.js \"\${prefix}/bin/dslc\" SYMBOLIC)
    message(STATUS \"Installing: \${prefix}/bin/dslc\")")
endif()
