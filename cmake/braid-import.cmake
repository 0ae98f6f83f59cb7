# braid-import.cmake: `import braid;` in programs, by rules that work before CMake 3.28 knows modules.

# braid_can_import(OUT): empty where this compiler can compile the module, and otherwise a sentence that says why not.
function(braid_can_import out)
  set(${out} "" PARENT_SCOPE)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
    set(${out} "`import braid;` needs clang 19 or newer, and this is ${CMAKE_CXX_COMPILER_ID} \
${CMAKE_CXX_COMPILER_VERSION}: include <braid/braid.hpp> instead." PARENT_SCOPE)
  elseif(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    set(${out} "`import braid;` needs the generator Ninja or Makefiles." PARENT_SCOPE)
  endif()
endfunction()

# braid_language_option(target OUT): the -std= that CMake gives the sources of the target; a module is of one dialect.
function(braid_language_option target out)
  get_target_property(standard ${target} CXX_STANDARD)
  if(NOT standard OR standard LESS 23 OR standard EQUAL 98)
    set(standard 23)
  endif()
  get_target_property(extensions ${target} CXX_EXTENSIONS)
  if(extensions STREQUAL "extensions-NOTFOUND")
    set(extensions ${CMAKE_CXX_EXTENSIONS_DEFAULT})
  endif()
  set(kind STANDARD)
  if(extensions)
    set(kind EXTENSION)
  endif()
  set(${out} ${CMAKE_CXX${standard}_${kind}_COMPILE_OPTION} PARENT_SCOPE)
endfunction()

# braid_import(target …): lets sources of these targets say `import braid;`, and links braid::braid.
#
# The binary module is compiled once, with the options of the first target: all of them must agree in what compilers
# demand of modules (standard, definitions, sanitizers). Call it after the sources have been named. A compiler that cannot
# compile modules ends the configuration with a sentence; braid_can_import(OUT) asks first.
function(braid_import first)
  braid_can_import(refused)
  if(refused)
    message(FATAL_ERROR "${refused}")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${first}_module)
  file(MAKE_DIRECTORY ${folder})
  target_link_libraries(${first} PRIVATE braid::braid)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  set(definitions $<FILTER:$<TARGET_PROPERTY:${first},COMPILE_DEFINITIONS>,INCLUDE,.>)
  set(includes $<FILTER:$<TARGET_PROPERTY:${first},INCLUDE_DIRECTORIES>,INCLUDE,.>)
  get_target_property(type ${first} TYPE)
  if(CMAKE_POSITION_INDEPENDENT_CODE OR NOT type STREQUAL "EXECUTABLE")
    list(APPEND flags -fPIC)
  endif()
  set(options $<FILTER:$<TARGET_PROPERTY:${first},COMPILE_OPTIONS>,EXCLUDE,^-fmodule-file=>)
  braid_language_option(${first} language)
  set(command ${CMAKE_CXX_COMPILER} ${flags} ${language} "${options}"
              "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>"
              "$<$<BOOL:${includes}>:-I$<JOIN:${includes},$<SEMICOLON>-I>>")
  add_custom_command(
    OUTPUT ${folder}/braid.pcm
    COMMAND ${command} -MD -MF ${folder}/braid.d -MT ${folder}/braid.pcm --precompile ${BRAID_MODULE_INTERFACE} -o ${folder}/braid.pcm
    DEPENDS ${BRAID_MODULE_INTERFACE}
    DEPFILE ${folder}/braid.d
    COMMENT "Compiling the module braid"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${first}_module DEPENDS ${folder}/braid.pcm)
  foreach(target ${first} ${ARGN})
    target_link_libraries(${target} PRIVATE braid::braid)
    target_compile_options(${target} PRIVATE -fmodule-file=braid=${folder}/braid.pcm)
    # A cache of compilers hashes the name of the binary module and not what is in it.
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "" CXX_SCAN_FOR_MODULES OFF)
    add_dependencies(${target} ${first}_module)
    get_target_property(sources ${target} SOURCES)
    set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND PROPERTY OBJECT_DEPENDS ${folder}/braid.pcm)
  endforeach()
endfunction()
