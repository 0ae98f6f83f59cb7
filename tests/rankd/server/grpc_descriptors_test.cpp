// tests/rankd/server/grpc_descriptors_test.cpp: symbols are found in the files that define them.
#include <rankd/server/grpc/grpc_descriptors.hpp>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("each service of the server is a symbol of a file") {
  const grpc_descriptors& known = grpc_descriptors::all();
  CHECK(known.services().size() == 4);
  for (const std::string& each : known.services()) CHECK_MESSAGE(known.find_symbol(each) != nullptr, each);
  CHECK(known.find_symbol("rankd.v1.Ranking") == known.find_file("rankd.proto"));
  CHECK(known.find_symbol("rankd.v1.Vector.values") == known.find_file("rankd.proto"));
  CHECK(known.find_symbol("rankd.v1.Nothing") == nullptr);
  CHECK(known.find_file("nothing.proto") == nullptr);
}
