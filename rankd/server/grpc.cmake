# grpc.cmake: compiles packaging/rankd.proto and the files of grpc/ into messages, for grpc/ and tests, and makes the
# descriptors for reflection.
find_package(Protobuf 3.21 REQUIRED)
find_package(ZLIB REQUIRED)
set(GRPC_MESSAGES ${CMAKE_CURRENT_BINARY_DIR}/messages)
# Descriptors contain the path of their file, so the services of gRPC need the paths that they have elsewhere.
configure_file(${PROJECT_SOURCE_DIR}/packaging/rankd.proto ${GRPC_MESSAGES}/rankd.proto COPYONLY)
configure_file(grpc/standard.proto ${GRPC_MESSAGES}/standard.proto COPYONLY)
configure_file(grpc/health.proto ${GRPC_MESSAGES}/grpc/health/v1/health.proto COPYONLY)
foreach(VERSION v1 v1alpha)
  configure_file(grpc/reflection.proto ${GRPC_MESSAGES}/grpc/reflection/${VERSION}/reflection.proto @ONLY)
endforeach()
set(GRPC_CPP "")
foreach(name rankd standard grpc/health/v1/health grpc/reflection/v1/reflection)
  set(proto ${GRPC_MESSAGES}/${name}.proto)
  add_custom_command(OUTPUT ${GRPC_MESSAGES}/${name}.pb.cc ${GRPC_MESSAGES}/${name}.pb.h
    COMMAND protobuf::protoc --cpp_out=${GRPC_MESSAGES} -I ${GRPC_MESSAGES} ${proto}
    DEPENDS ${proto}
    VERBATIM)
  list(APPEND GRPC_CPP ${GRPC_MESSAGES}/${name}.pb.cc)
endforeach()
# Generated code has its own style, so it is compiled without this project's warnings.
add_library(rankd_messages STATIC ${GRPC_CPP})
target_include_directories(rankd_messages SYSTEM PUBLIC ${GRPC_MESSAGES})
target_link_libraries(rankd_messages PUBLIC protobuf::libprotobuf-lite)

# The descriptors, as bytes of a C++ source (openapi.cmake).
set(DESCRIPTORS_CPP ${CMAKE_CURRENT_BINARY_DIR}/descriptors.cpp)
execute_process(
  COMMAND ${Protobuf_PROTOC_EXECUTABLE} --descriptor_set_out=${GRPC_MESSAGES}/descriptors.bin -I ${GRPC_MESSAGES} rankd.proto
          grpc/health/v1/health.proto grpc/reflection/v1/reflection.proto grpc/reflection/v1alpha/reflection.proto
  COMMAND_ERROR_IS_FATAL ANY)
file(READ ${GRPC_MESSAGES}/descriptors.bin descriptors HEX)
string(REGEX REPLACE "(..)" "0x\\1," descriptor_bytes "${descriptors}")
file(CONFIGURE OUTPUT ${DESCRIPTORS_CPP} @ONLY CONTENT [=[
// Made by rankd/server/grpc.cmake.
#include <rankd/server/grpc/grpc_descriptors.hpp>

namespace rankd {
namespace {

constexpr unsigned char bytes[] = {@descriptor_bytes@};

}  // namespace

auto serialized_descriptors() noexcept -> std::string_view {
  return {reinterpret_cast<const char*>(bytes), sizeof(bytes)};
}

}  // namespace rankd
]=])
