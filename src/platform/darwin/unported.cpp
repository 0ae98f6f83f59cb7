// src/platform/darwin/unported.cpp: implements the functions of io/program.hpp as stubs, because child processes are
// not ported to macOS.
#include "../../io/program.hpp"

#include <cerrno>
#include <system_error>

namespace braid::detail {

// No child process is ever started, so most of these functions are not called.

auto look_at(child_name /*child*/, int /*flags*/) noexcept -> child_look { return {.error = ECHILD}; }

void reap(child_name /*child*/) noexcept {}

auto send_signal(child_name /*child*/, int /*signal*/) noexcept -> result<void> {
  return fail(std::make_error_code(std::errc::no_such_process));
}

running_program::~running_program() = default;

program_start::program_start(const child_process::options& /*options*/) {}

auto program_start::lead(int /*stream*/, child_process::stream /*where*/) -> result<descriptor> { return descriptor(); }

auto program_start::run() -> result<running_program> {
  return fail(std::make_error_code(std::errc::function_not_supported));
}

}  // namespace braid::detail
