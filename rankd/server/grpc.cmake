# grpc.cmake: compiles packaging/rankd.proto and grpc/standard.proto into messages, for grpc/ and tests.
find_package(Protobuf 3.21 REQUIRED)
find_package(ZLIB REQUIRED)
set(GRPC_MESSAGES ${CMAKE_CURRENT_BINARY_DIR}/messages)
file(MAKE_DIRECTORY ${GRPC_MESSAGES})
set(GRPC_CPP "")
foreach(proto ${PROJECT_SOURCE_DIR}/packaging/rankd.proto ${CMAKE_CURRENT_SOURCE_DIR}/grpc/standard.proto)
  cmake_path(GET proto STEM name)
  cmake_path(GET proto PARENT_PATH folder)
  add_custom_command(OUTPUT ${GRPC_MESSAGES}/${name}.pb.cc ${GRPC_MESSAGES}/${name}.pb.h
    COMMAND protobuf::protoc --cpp_out=${GRPC_MESSAGES} -I ${folder} ${proto}
    DEPENDS ${proto}
    VERBATIM)
  list(APPEND GRPC_CPP ${GRPC_MESSAGES}/${name}.pb.cc)
endforeach()
# Generated code has its own style, so it is compiled without this project's warnings.
add_library(rankd_messages STATIC ${GRPC_CPP})
target_include_directories(rankd_messages SYSTEM PUBLIC ${GRPC_MESSAGES})
target_link_libraries(rankd_messages PUBLIC protobuf::libprotobuf-lite)
