// src/net/resp.cpp: compares and copies values of RESP, the protocol of Redis.
#include <braid/net/resp.hpp>

#include <algorithm>

namespace braid {

auto operator==(const resp_value& left, const resp_value& right) noexcept -> bool {
  if (left.type_ != right.type_ || left.size_ != right.size_) return false;
  if (left.has_items()) return std::ranges::equal(left.items(), right.items());
  if (left.has_text()) return std::string_view(left.text_, left.size_) == std::string_view(right.text_, right.size_);
  if (left.type_ == resp_type::real)
    return std::bit_cast<std::uint64_t>(left.real_) == std::bit_cast<std::uint64_t>(right.real_);
  return left.integer_ == right.integer_;
}

auto copied(const resp_value& source, arena& memory) -> resp_value {
  if (source.has_text()) {
    const bool verbatim = source.type() == resp_type::verbatim;
    const std::string_view text = source.text();
    const std::string_view whole = verbatim ? std::string_view(text.data() - 4, text.size() + 4) : text;
    return resp_value::of_text(source.type(), memory.copied(whole));
  }
  if (!source.has_items()) return source;
  const std::span<resp_value> items = memory.uninitialized<resp_value>(source.items().size());
  std::ranges::transform(source.items(), items.begin(), [&](const resp_value& item) { return copied(item, memory); });
  return resp_value::of_items(source.type(), items);
}

}  // namespace braid
