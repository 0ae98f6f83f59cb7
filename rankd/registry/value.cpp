// rankd/registry/value.cpp: defines the names of value types.
#include <rankd/registry/value.hpp>

namespace rankd {

auto to_string(value_type type) noexcept -> std::string_view {
  switch (type) {
    case value_type::integer: return "int";
    case value_type::floating: return "float";
    case value_type::string: return "string";
    case value_type::boolean: return "bool";
    case value_type::vector: break;
  }
  return "vector";
}

}  // namespace rankd
