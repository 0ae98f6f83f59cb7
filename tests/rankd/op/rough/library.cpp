// tests/rankd/op/rough/library.cpp: a library whose static constructors do what ROUGH_LIBRARY of the environment says.
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace {

struct rough {
  rough() {
    const char* const named = std::getenv("ROUGH_LIBRARY");
    const std::string_view how = named == nullptr ? "" : named;
    if (how == "throws") throw std::runtime_error("no table at /opt/table");
    if (how == "throws 7") throw 7;
    if (how == "aborts") std::abort();
    if (how == "exits") std::_Exit(3);
  }
};

const rough at_load;

}  // namespace
