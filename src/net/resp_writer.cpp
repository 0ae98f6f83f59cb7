// src/net/resp_writer.cpp: encodes commands whose number of words is not known before the last word.
#include <braid/net/resp.hpp>

namespace braid {

void detail::write_command_words(detail::byte_buffer& out, std::span<const std::string_view> words) {
  std::size_t max_count = detail::max_head;
  for (const std::string_view word : words) max_count += detail::max_bytes(word);
  char* const begin = out.room(max_count);
  char* at = detail::write_length(begin, '*', words.size());
  for (const std::string_view word : words) at = detail::write_text(at, word);
  out.added(static_cast<std::size_t>(at - begin));
}

}  // namespace braid
