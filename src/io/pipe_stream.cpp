// src/io/pipe_stream.cpp: creates pipes, and adopts descriptors of existing pipes.
#include <braid/io/byte_stream.hpp>

#include "sockets.hpp"

#include <array>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid {

auto pipe_stream::adopt(loop& loop, descriptor end) -> result<pipe_stream> {
  struct stat about{};
  if (auto known = detail::checked(::fstat(end.number(), &about)); !known) return fail(known.error());
  if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))
    return fail(std::make_error_code(std::errc::operation_not_permitted));
  if (auto set = detail::do_not_block(end.number()); !set) return fail(set.error());
  return pipe_stream(loop, std::move(end));
}

auto pipe_stream::pair(loop& loop) -> result<std::pair<pipe_stream, pipe_stream>> {
  std::array<int, 2> numbers{};
  if (::pipe2(numbers.data(), O_NONBLOCK | O_CLOEXEC) != 0) return fail(last_system_error());
  pipe_stream reads(loop, descriptor(numbers[0]));
  pipe_stream writes(loop, descriptor(numbers[1]));
  return std::pair(std::move(reads), std::move(writes));
}

}  // namespace braid
