# demo.cmake: embeds what `rankd init demo` writes, so that the repository's own files are the only source of it.
file(GLOB registry_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/registry/*.toml)
set(demo_embedded rankd.toml=${CMAKE_CURRENT_SOURCE_DIR}/demo/rankd.toml README.md=${CMAKE_CURRENT_SOURCE_DIR}/demo/README.md
                  plans/home_feed.json=${CMAKE_CURRENT_SOURCE_DIR}/demo/plans/home_feed.json
                  plans/home_feed.plan.ts=${CMAKE_CURRENT_SOURCE_DIR}/demo/plans/home_feed.plan.ts)
foreach(file IN LISTS registry_files)
  cmake_path(GET file FILENAME name)
  list(APPEND demo_embedded registry/${name}=${file})
endforeach()
foreach(plan reels_plan_a concat_plan)
  list(APPEND demo_embedded plans/${plan}.json=${PROJECT_SOURCE_DIR}/plans/compiled/${plan}.json
       plans/${plan}.plan.ts=${PROJECT_SOURCE_DIR}/plans/${plan}.plan.ts)
endforeach()
list(TRANSFORM demo_embedded REPLACE "^[^=]+=" "" OUTPUT_VARIABLE demo_sources)
list(JOIN demo_embedded "|" demo_embedded)

set(DEMO_FILES_CPP ${CMAKE_CURRENT_BINARY_DIR}/demo_files.cpp)
add_custom_command(
  OUTPUT ${DEMO_FILES_CPP}
  COMMAND ${CMAKE_COMMAND} -DOUT=${DEMO_FILES_CPP} "-DFILES=${demo_embedded}" -P ${CMAKE_CURRENT_SOURCE_DIR}/embed.cmake
  DEPENDS ${demo_sources} embed.cmake
  VERBATIM)
