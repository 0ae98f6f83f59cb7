// rankd/op/operator_list.cpp: defines the list of the built-in operators, and finds operators by their names.
#include <rankd/op/operator_list.hpp>

#include <rankd/op/detail/own_operator.hpp>

#include <algorithm>

namespace rankd {

bound_op::~bound_op() = default;

auto find_op(std::string_view name) -> const op_entry* {
  const auto entries = all_ops();
  const auto at = std::ranges::find(entries, name, [](const op_entry& entry) { return entry.shape.name; });
  if (at != entries.end()) return &*at;
  const detail::own_operator* const own = detail::find_own(name);
  return own == nullptr ? nullptr : &own->entry;
}

}  // namespace rankd
