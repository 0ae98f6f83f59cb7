# Tests of rankd and braid-doctor, which only clang builds.
# Operators of a library that was built for version 1 of their interface.
add_library(rankd_first_operators MODULE rankd/op/abi_1/library.cpp)
target_include_directories(rankd_first_operators PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(rankd_first_operators PRIVATE braid_warnings)

# A library that cannot be loaded.
add_library(rankd_rough_library MODULE rankd/op/rough/library.cpp)
target_link_libraries(rankd_rough_library PRIVATE braid_warnings)

set(rankd_layers registry rows expr plan store op engine embed server cli)
if(BRAID_SANITIZE STREQUAL "thread")
  set(rankd_layers store engine server)  # the others run on one thread, or are programs of these
endif()
foreach(layer IN LISTS rankd_layers)
  set(links rankd_${layer})
  if(layer MATCHES "^(engine|server)$")  # whose tests make certificates
    list(APPEND links OpenSSL::SSL OpenSSL::Crypto)
  endif()
  if(layer MATCHES "^(server|cli)$")  # whose tests read Arrow streams
    list(APPEND links rankd_arrow rankd_messages)
  endif()
  set(program "")
  if(layer STREQUAL "op")
    set(program DEFINES FIRST_OPERATORS="$<TARGET_FILE:rankd_first_operators>"
                        ROUGH_LIBRARY="$<TARGET_FILE:rankd_rough_library>"
                DEPENDS rankd_first_operators rankd_rough_library)
  endif()
  if(layer STREQUAL "cli")  # what a person types is tested by running it
    set(program DEFINES RANKD_BINARY="$<TARGET_FILE:rankd>" GEO_OPERATORS="$<TARGET_FILE:rankd_geo_operators>"
                DEPENDS rankd rankd_geo_operators)
  endif()
  braid_tests(rankd/${layer} LINKS ${links} ${program} ALONE evaluate_test)
endforeach()

if(TARGET test_rankd_expr_evaluate_test)  # counts how often patterns are asked
  target_link_options(test_rankd_expr_evaluate_test PRIVATE
                      LINKER:--wrap=_ZNK5rankd12text_pattern7matchesESt17basic_string_viewIcSt11char_traitsIcEE)
endif()

# Tables of wrong documents, and targets that accept any input.
set(fuzz_targets expression key_template model plan record registry request vectors)
if(BRAID_SANITIZE STREQUAL "thread")
  set(fuzz_targets plan)
else()
  braid_tests(rankd/tables LINKS rankd_engine)
endif()
foreach(target IN LISTS fuzz_targets)
  braid_fuzz_target(${target} LINKS rankd_engine)
endforeach()
if(NOT BRAID_SANITIZE STREQUAL "thread")
  braid_fuzz_target(traffic LINKS rankd_server)
  braid_fuzz_target(event LINKS rankd_server)
  braid_fuzz_target(record_call LINKS rankd_server)
  braid_fuzz_target(event_rules LINKS rankd_server)
  braid_fuzz_target(check LINKS rankd_cli)
endif()

# The commands of docs/tutorial_rankd.md, one after the other in one shell.
file(GLOB transcripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/books/shown/*.txt)
add_test(NAME rankd/tutorial
         COMMAND ${Python3_EXECUTABLE} -B tests/rankd/transcripts.py --rankd $<TARGET_FILE:rankd> --project examples/books
                 ${transcripts}
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(rankd/tutorial PROPERTIES LABELS test TIMEOUT 600)

# The commands of docs/shop.md.
file(GLOB shop_transcripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/rankd/shop_walk/*.txt)
add_test(NAME rankd/shop_walk
         COMMAND ${Python3_EXECUTABLE} -B tests/rankd/transcripts.py --rankd $<TARGET_FILE:rankd>
                 --project tests/rankd/shop_walk ${shop_transcripts}
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(rankd/shop_walk PROPERTIES LABELS test TIMEOUT 600)

# The commands of docs/train_deploy_compare.md.
file(GLOB training_transcripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/training/shown/*.txt)
add_test(NAME rankd/training_walk
         COMMAND ${Python3_EXECUTABLE} -B tests/rankd/transcripts.py --rankd $<TARGET_FILE:rankd>
                 --project examples/training ${training_transcripts}
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(rankd/training_walk PROPERTIES LABELS test TIMEOUT 600)

# An interpreter of plans that shares nothing with the engine, and random plans on which both must agree.
add_test(NAME oracle/interpreter
         COMMAND ${Python3_EXECUTABLE} -B -m unittest discover -s tests/oracle -t tests
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
# A sanitizer looks at how the engine runs plans, which fewer plans show; what they answer is the other builds' matter.
set(oracle_plans 80)
if(BRAID_SANITIZE MATCHES "address|thread")
  set(oracle_plans 25)
endif()
add_test(NAME oracle/compare
         COMMAND ${Python3_EXECUTABLE} -B tests/oracle/compare.py --rankd $<TARGET_FILE:rankd> --seed 1
                 --count ${oracle_plans} --all-workers
                 --requests 20
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME oracle/compare_redis
         COMMAND ${Python3_EXECUTABLE} -B tests/oracle/compare.py --rankd $<TARGET_FILE:rankd> --seed 1
                 --count ${oracle_plans} --redis --requests 20
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME oracle/compare_redis_cluster
         COMMAND ${Python3_EXECUTABLE} -B tests/oracle/compare.py --rankd $<TARGET_FILE:rankd> --seed 1 --count 30
                 --redis-cluster --requests 20
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME oracle/traffic
         COMMAND ${Python3_EXECUTABLE} -B tests/oracle/traffic.py --rankd $<TARGET_FILE:rankd> --seed 1 --count 12
                 --requests 15
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME oracle/shop
         COMMAND ${Python3_EXECUTABLE} -B tests/oracle/shop.py --rankd $<TARGET_FILE:rankd> --requests 450 --redis
                 --redis-cluster
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT BRAID_SANITIZE STREQUAL "thread")
  foreach(instructions SSSE3 SSE4 AVX2)
    add_test(NAME oracle/compare_${instructions}
             COMMAND ${Python3_EXECUTABLE} -B tests/oracle/compare.py --rankd $<TARGET_FILE:rankd> --seed 900 --count 15
                     --requests 20
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(oracle/compare_${instructions} PROPERTIES LABELS stress TIMEOUT 600
                         ENVIRONMENT RANKD_SIMD=${instructions})
  endforeach()
endif()
set_tests_properties(oracle/interpreter PROPERTIES LABELS test TIMEOUT 600)
set_tests_properties(oracle/compare oracle/compare_redis oracle/compare_redis_cluster oracle/shop oracle/traffic PROPERTIES LABELS stress
                     TIMEOUT 600 COST 20)

braid_tests(doctor LINKS braid braid_doctor_parts
  DEFINES DOCTOR_BINARY="$<TARGET_FILE:braid-doctor>" DOCTOR_VERSION="${PROJECT_VERSION}"
          WITHOUT_IO_URING="$<TARGET_FILE:braid_without_io_uring>"
  DEPENDS braid-doctor braid_without_io_uring)
braid_test_refused(doctor TESTS doctor_test)

# Programs that are looked at from outside, and what is left of them. A core file of a sanitizer has terabytes of shadow.
if(NOT BRAID_MODEL AND NOT BRAID_SANITIZE)
  add_executable(braid_waiting_program support/waiting_program.cpp)
  target_link_libraries(braid_waiting_program PRIVATE braid braid_warnings)
  add_test(NAME doctor/tasks
           COMMAND ${Python3_EXECUTABLE} -B tests/doctor/tasks.py $<TARGET_FILE:braid_waiting_program>
                   $<TARGET_FILE:braid-doctor>
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(doctor/tasks PROPERTIES LABELS test TIMEOUT 600)
  add_dependencies(braid_tests_of_test braid_waiting_program braid-doctor)
endif()

# What the programs print, side by side in build/…/texts.txt for a reader, and the form of it.
add_test(NAME texts/all_texts
         COMMAND ${Python3_EXECUTABLE} -B tests/texts/all_texts.py $<TARGET_FILE:rankd> $<TARGET_FILE:braid-doctor>
                 ${PROJECT_BINARY_DIR}/texts.txt
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(texts/all_texts PROPERTIES LABELS test TIMEOUT 600)

add_dependencies(braid_tests_of_test rankd braid-doctor)
add_dependencies(braid_tests_of_stress rankd)
