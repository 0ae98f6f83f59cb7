// src/net/redis_batch.cpp: parts of a batch, as many as the window has room for.
#include <braid/net/redis_batch.hpp>

#include <braid/net/redis_error.hpp>

#include <algorithm>
#include <limits>
#include <new>

namespace braid {

void redis_batch::add_words(std::span<const std::string_view> words) {
  is_shareable_ = is_shareable_ && detail::may_share_connection(words);
  write_command_words(bytes_, words);
  ends_.push_back(bytes_.size());
}

auto redis_batch::bytes_of(std::size_t first, std::size_t count) const noexcept -> std::string_view {
  const std::size_t begin = first == 0 ? 0 : ends_[first - 1];
  const std::size_t end = count == 0 ? begin : ends_[first + count - 1];
  return bytes_.bytes().substr(begin, end - begin);
}

void redis_batch::clear() noexcept {
  bytes_.clear();
  ends_.clear();
  is_shareable_ = true;
}

namespace detail {

auto redis_batch_call::kind_for(redis_replies expected) noexcept -> const kind& {
  constexpr auto of = [](std::uint32_t types) {
    return kind{.encode = &encode, .over = &redis_wait::end, .types = types, .is_read = false, .is_simple = false};
  };
  static constexpr kind any = of(any_redis_type);
  static constexpr kind text = of(redis_text_reply::types);
  static constexpr kind texts = of(redis_hgetall::types);
  switch (expected) {
    case redis_replies::text: return text;
    case redis_replies::texts: return texts;
    default: return any;
  }
}

redis_batch_call::redis_batch_call(redis_link& to, const redis_batch& batch, arena& memory, duration timeout)
    : redis_wait(to, kind_for(batch.expected()), &memory, static_cast<std::uint32_t>(batch.size()), timeout),
      batch_(&batch) {
  if (batch.size() > std::numeric_limits<std::uint32_t>::max()) error = errc::invalid_argument;
  if (!batch.is_shareable()) error = redis_errc::not_shared;
  const std::span<resp_value> places = memory.filled(error ? 0 : batch.size(), resp_value());
  replies = places.data();
  replies_ = places;
}

auto redis_batch_call::encode(redis_request& self, byte_buffer& out, std::uint32_t most) -> std::uint32_t {
  const auto& batch = *static_cast<redis_batch_call&>(self).batch_;
  out.append(batch.bytes_of(batch.size() - self.unsent, most));
  return most;
}

}  // namespace detail
}  // namespace braid
