// rankd/op/fuse.cpp: the pairs that there are.
#include <rankd/op/fuse.hpp>

#include <rankd/op/detail/entries.hpp>

#include <braid/base/config.hpp>

#include <utility>

namespace rankd {

auto fuse(const plan_node& first, const plan_node& second, const bind_context& with) -> std::optional<fused_ops> {
  if (first.op != detail::sort_entry().shape.name || second.op != detail::take_entry().shape.name) return std::nullopt;
  auto taking = detail::bind_first_of_sort(first, second, with);
  BRAID_EXPECTS(taking, "nodes are fused after they were bound");
  return fused_ops{
      .first = detail::make_pass_on(), .second = std::move(*taking), .second_change = row_change::selection};
}

}  // namespace rankd
