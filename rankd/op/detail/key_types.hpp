// rankd/op/detail/key_types.hpp: lists of the key types that options of operators accept.
#pragma once

#include <array>
#include <string_view>

namespace rankd::detail {

inline constexpr std::array<std::string_view, 4> scalar_types{"int", "float", "string", "bool"};
inline constexpr std::array<std::string_view, 2> number_types{"int", "float"};
inline constexpr std::array<std::string_view, 1> bool_types{"bool"};
inline constexpr std::array<std::string_view, 1> float_types{"float"};
inline constexpr std::array<std::string_view, 1> string_types{"string"};
inline constexpr std::array<std::string_view, 1> vector_types{"vector"};

}  // namespace rankd::detail
