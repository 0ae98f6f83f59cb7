// src/io/pipe_stream.cpp: creates pipes, and adopts descriptors of existing pipes.
#include <braid/io/byte_stream.hpp>

#include "../platform/descriptors.hpp"
#include "sockets.hpp"

#include <array>

namespace braid {

auto pipe_stream::adopt(loop& loop, descriptor end) -> result<pipe_stream> {
  if (auto known = detail::checked(detail::check_can_wait(end.number())); !known) return fail(known.error());
  if (auto set = detail::do_not_block(end.number()); !set) return fail(set.error());
  return pipe_stream(loop, std::move(end));
}

auto pipe_stream::pair(loop& loop) -> result<std::pair<pipe_stream, pipe_stream>> {
  std::array<int, 2> numbers{};
  if (detail::open_pipe(numbers, detail::blocking_mode::non_blocking) != 0) return fail(last_system_error());
  pipe_stream reads(loop, descriptor(numbers[0]));
  pipe_stream writes(loop, descriptor(numbers[1]));
  return std::pair(std::move(reads), std::move(writes));
}

}  // namespace braid
