# demo.cmake: embeds what `rankd init` writes, so that the repository's own files are the only source of it.
set(PROJECT_FILES_CPP "")

# embed_files(FUNCTION NAME=FILE…): a source with a function that gives these files under these names
function(embed_files function)
  list(TRANSFORM ARGN REPLACE "^[^=]+=" "" OUTPUT_VARIABLE sources)
  list(JOIN ARGN "|" files)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DFUNCTION=${function} "-DFILES=${files}" -P ${CMAKE_CURRENT_SOURCE_DIR}/embed.cmake
    DEPENDS ${sources} embed.cmake
    VERBATIM)
  set(PROJECT_FILES_CPP ${PROJECT_FILES_CPP} ${out} PARENT_SCOPE)
endfunction()

# What every new project has: for npm, for editors, for git.
set(shared_files "")
foreach(name package.json tsconfig.json .gitignore .vscode/settings.json .vscode/tasks.json)
  list(APPEND shared_files ${name}=${CMAKE_CURRENT_SOURCE_DIR}/project/${name})
endforeach()

set(demo_embedded ${shared_files} rankd.toml=${CMAKE_CURRENT_SOURCE_DIR}/demo/rankd.toml README.md=${CMAKE_CURRENT_SOURCE_DIR}/demo/README.md
                  plans/home_feed.json=${CMAKE_CURRENT_SOURCE_DIR}/demo/plans/home_feed.json
                  plans/home_feed.plan.ts=${CMAKE_CURRENT_SOURCE_DIR}/demo/plans/home_feed.plan.ts
                  plans/home_feed.tests.json=${CMAKE_CURRENT_SOURCE_DIR}/demo/plans/home_feed.tests.json
                  plans/home_feed.test.ts=${CMAKE_CURRENT_SOURCE_DIR}/demo/plans/home_feed.test.ts)
file(GLOB registry_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/registry/*.toml)
list(FILTER registry_files EXCLUDE REGEX "/ops.toml$")  # dslc brings the operators of its own version
foreach(file IN LISTS registry_files)
  cmake_path(GET file FILENAME name)
  list(APPEND demo_embedded registry/${name}=${file})
endforeach()
foreach(plan reels_plan_a concat_plan)
  list(APPEND demo_embedded plans/${plan}.json=${PROJECT_SOURCE_DIR}/plans/compiled/${plan}.json
       plans/${plan}.plan.ts=${PROJECT_SOURCE_DIR}/plans/${plan}.plan.ts)
endforeach()
embed_files(demo_files ${demo_embedded})

set(empty_embedded ${shared_files})
foreach(name rankd.toml README.md registry/keys.toml registry/params.toml registry/capabilities.toml registry/endpoints.dev.toml
             plans/first.plan.ts
             plans/first.json plans/first.test.ts plans/first.tests.json data/items.ndjson)
  list(APPEND empty_embedded ${name}=${CMAKE_CURRENT_SOURCE_DIR}/empty/${name})
endforeach()
embed_files(empty_files ${empty_embedded})

set(shop_embedded ${shared_files})
foreach(name rankd.toml README.md data/shop.ndjson models/buys.json registry/capabilities.toml registry/endpoints.dev.toml
             registry/events.toml registry/experiments.toml registry/keys.toml registry/params.toml)
  list(APPEND shop_embedded ${name}=${CMAKE_CURRENT_SOURCE_DIR}/shop/${name})
endforeach()
foreach(plan again arrivals cart category for_you home recent sale search similar)
  foreach(end plan.ts json test.ts tests.json)
    list(APPEND shop_embedded plans/${plan}.${end}=${CMAKE_CURRENT_SOURCE_DIR}/shop/plans/${plan}.${end})
  endforeach()
endforeach()
embed_files(shop_files ${shop_embedded})
