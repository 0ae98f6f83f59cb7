// rankd/server/endpoints/held_body.cpp: reads bodies of requests within the memory limit of a loop.
#include <rankd/server/detail/held_body.hpp>

namespace rankd::detail {

auto held_body::count(std::size_t more) noexcept -> bool {
  if (context_->body_bytes + more > context_->shares.body_memory) return false;
  context_->body_bytes += more;
  size_ += more;
  return true;
}

auto held_body::hold(std::string text) noexcept -> bool {
  if (!count(text.size())) return false;
  pieces_ = std::move(text);
  text_ = pieces_;
  return true;
}

auto held_body::read_now(braid::http_exchange& x) -> std::optional<braid::result<void>> {
  const std::optional<std::string_view> all = x.read_now();
  if (!all) return std::nullopt;
  if (!count(all->size())) return braid::fail(braid::errc::full);
  text_ = *all;
  return braid::result<void>();
}

auto held_body::read(braid::http_exchange& x) -> braid::task<braid::result<void>> {
  for (;;) {
    const braid::result<std::string_view> piece = co_await x.read_some();
    if (!piece) co_return braid::fail(piece.error());
    if (piece->empty()) break;
    if (!count(piece->size())) co_return braid::fail(braid::errc::full);
    pieces_ += *piece;
  }
  text_ = pieces_;
  co_return braid::result<void>();
}

}  // namespace rankd::detail
