# The release build has no precompiled headers, so that each source says for itself what it needs.
function(braid_precompile target)
  if(BRAID_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp)
  endif()
endfunction()

# braid_layer(name [SOURCES …] [USES layer …] [LINKS library …])
#
# One layer of the library: the headers of include/braid/<name>, the sources of src/<name>. Every header is also
# compiled on its own (target all_verify_interface_header_sets, built by default). A layer may only name layers above
# it in ARCHITECTURE.md; tools/check_layers proves that its includes keep to that.
function(braid_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;USES;LINKS" ${ARGN})
  set(target braid_${name})
  set(root ${PROJECT_SOURCE_DIR}/include)
  file(GLOB headers CONFIGURE_DEPENDS ${root}/braid/${name}/*.hpp ${root}/braid/${name}/detail/*.hpp)

  if(LAYER_SOURCES)
    add_library(${target} OBJECT ${LAYER_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE braid_warnings)
    target_compile_definitions(${target} PRIVATE BRAID_BUILDING)
    braid_precompile(${target})
    set_property(GLOBAL APPEND PROPERTY BRAID_OBJECT_LAYERS ${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${root} FILES ${headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  list(TRANSFORM LAYER_USES PREPEND braid_)
  target_link_libraries(${target} ${scope} ${LAYER_USES} ${LAYER_LINKS})
  set_property(GLOBAL APPEND PROPERTY BRAID_LAYERS ${target})
endfunction()

# rankd_layer(name [SOURCES …] [USES layer …] [LINKS library …])
#
# One layer of the application: headers beside sources in rankd/<name>, namespace rankd.
function(rankd_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;USES;LINKS" ${ARGN})
  set(target rankd_${name})
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  add_library(${target} STATIC ${LAYER_SOURCES})
  braid_precompile(${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  list(TRANSFORM LAYER_USES PREPEND rankd_)
  target_link_libraries(${target} PUBLIC braid ${LAYER_USES} PRIVATE braid_warnings ${LAYER_LINKS})
endfunction()
