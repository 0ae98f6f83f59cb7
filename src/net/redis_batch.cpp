// src/net/redis_batch.cpp: encodes as many commands of a batch as fit into the window of unanswered commands.
#include <braid/net/redis_batch.hpp>

#include <braid/net/redis_options.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <new>

namespace braid {

void redis_batch::add_words(std::span<const std::string_view> words) {
  detail::write_command_words(bytes_, words);
  end_command();
  note(detail::find_redis_role(words));
}

void redis_batch::forget_last() noexcept { bytes_.shorten_to(ends_.empty() ? 0 : ends_.back()); }

void redis_batch::note(detail::redis_role role) noexcept {
  if (role == detail::redis_role::common) return;
  const bool begins = role == detail::redis_role::begins;
  const bool ends = role == detail::redis_role::ends;
  is_shareable_ = is_shareable_ && ((begins && !is_open_) || (ends && is_open_));
  is_open_ = begins || (is_open_ && !ends);
  has_transaction_ = has_transaction_ || begins;
}

auto redis_batch::bytes_of(std::size_t first, std::size_t count) const noexcept -> std::string_view {
  const std::size_t begin = first == 0 ? 0 : ends_[first - 1];
  const std::size_t end = count == 0 ? begin : ends_[first + count - 1];
  return bytes_.bytes().substr(begin, end - begin);
}

void redis_batch::add_each(const redis_id_batch& batch) {
  is_shareable_ = is_shareable_ && detail::may_share_connection(std::array{batch.name, batch.prefix});
  ends_.reserve(ends_.size() + batch.ids.size());
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    detail::write_commands(bytes_, batch, i, 1);
    ends_.push_back(bytes_.size());
  }
}

void redis_batch::clear() noexcept {
  bytes_.clear();
  ends_.clear();
  is_shareable_ = true;
  is_open_ = false;
  has_transaction_ = false;
}

namespace detail {

void write_commands(byte_buffer& out, const redis_id_batch& batch, std::size_t first, std::size_t count) {
  std::size_t max_count = max_bytes(batch.name) + max_bytes(resp_joined{.text = batch.prefix}) + max_head;
  for (const std::string_view word : batch.rest) max_count += max_bytes(word);
  if (count > std::numeric_limits<std::size_t>::max() / max_count) throw std::bad_alloc();
  char* const begin = out.room(count * max_count);
  char* at = begin;
  // The bytes before and after the key are the same in all commands. These bytes are encoded for the first command, and
  // copied for the other commands.
  const char* head = nullptr;
  const char* tail = nullptr;
  std::size_t head_size = 0;
  std::size_t tail_size = 0;
  for (const std::int64_t id : batch.ids.subspan(first, count)) {
    char* const command = at;
    if (head == nullptr) {
      at = write_text(write_length(at, '*', 2 + batch.rest.size()), batch.name);
      head = command;
      head_size = static_cast<std::size_t>(at - command);
    } else {
      std::memcpy(at, head, head_size);
      at += head_size;
    }
    at = write_argument(at, resp_joined{batch.prefix, id});
    if (tail == nullptr) {
      tail = at;
      for (const std::string_view word : batch.rest) at = write_text(at, word);
      tail_size = static_cast<std::size_t>(at - tail);
    } else {
      copy_text(at, tail, tail_size);
      at += tail_size;
    }
  }
  out.added(static_cast<std::size_t>(at - begin));
}

redis_replies_wait::redis_replies_wait(redis_shared_connection& connection, const kind& kind, std::size_t commands,
                                       sharing with_others, arena& memory, duration timeout)
    : redis_wait(connection, kind, &memory, static_cast<std::uint32_t>(commands), timeout) {
  if (commands > std::numeric_limits<std::uint32_t>::max()) error = errc::invalid_argument;
  if (with_others == sharing::refused) error = redis_errc::not_shared;
  const std::span<resp_value> places = memory.filled(error ? 0 : commands, resp_value());
  replies = places.data();
  replies_ = places;
}

template <auto Encode>
auto redis_replies_wait::kind_for(redis_replies expected, extent much) noexcept -> const kind& {
  constexpr auto of = [](std::uint32_t types, extent size = extent::commands) {
    return kind{.encode = Encode,
                .over = &redis_wait::end,
                .types = types,
                .is_read = false,
                .is_write = types == any_redis_type,
                .is_simple = false,
                .is_whole = size == extent::transaction};
  };
  static constexpr kind any = of(any_redis_type);
  static constexpr kind whole = of(any_redis_type, extent::transaction);
  static constexpr kind text = of(redis_text_reply::types);
  static constexpr kind texts = of(redis_hgetall::types | redis_type_bit(resp_type::set));
  if (much == extent::transaction) return whole;
  switch (expected) {
    case redis_replies::text: return text;
    case redis_replies::texts: return texts;
    default: return any;
  }
}

redis_batch_call::redis_batch_call(redis_shared_connection& connection, const redis_batch& batch, arena& memory,
                                   duration timeout)
    : redis_replies_wait(
          connection,
          kind_for<&encode>(batch.expected(), batch.has_transaction() ? extent::transaction : extent::commands),
          batch.size(), batch.is_shareable() ? sharing::possible : sharing::refused, memory, timeout),
      batch_(&batch) {}

auto redis_batch_call::encode(redis_request& self, byte_buffer& out, std::uint32_t max_count) -> std::uint32_t {
  const auto& batch = *static_cast<redis_batch_call&>(self).batch_;
  out.append(batch.bytes_of(batch.size() - self.unsent, max_count));
  return max_count;
}

redis_id_batch_call::redis_id_batch_call(redis_shared_connection& connection, const redis_id_batch& batch,
                                         arena& memory, duration timeout)
    : redis_replies_wait(
          connection, kind_for<&encode>(batch.expected, extent::commands), batch.ids.size(),
          may_share_connection(std::array{batch.name, batch.prefix}) ? sharing::possible : sharing::refused, memory,
          timeout),
      batch_(batch) {}

auto redis_id_batch_call::encode(redis_request& self, byte_buffer& out, std::uint32_t max_count) -> std::uint32_t {
  const redis_id_batch& batch = static_cast<redis_id_batch_call&>(self).batch_;
  write_commands(out, batch, batch.ids.size() - self.unsent, max_count);
  return max_count;
}

}  // namespace detail
}  // namespace braid
