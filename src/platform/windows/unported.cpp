// src/platform/windows/unported.cpp: implements the parts of the layer io that are not ported to Windows as stubs.
// Every function that opens or starts something returns operation_not_supported, so no object of these types ever
// exists.
#include <braid/io/file.hpp>
#include <braid/io/process.hpp>
#include <braid/io/tls.hpp>

#include "../../io/tls_setup.hpp"

#include <system_error>
#include <utility>

namespace braid {
namespace {

auto unported() { return fail(std::make_error_code(std::errc::operation_not_supported)); }

}  // namespace

// --- TLS ---

auto tls_context::pem::load() const -> result<std::string> { return unported(); }

auto tls_context::client(const tls_context::client_options& /*options*/) -> result<tls_context> { return unported(); }

auto tls_context::server(const tls_context::server_options& /*options*/) -> result<tls_context> { return unported(); }

auto tls_context::offers(std::string_view /*protocol*/) const noexcept -> bool { return false; }

// --- child processes ---

auto child_process::start(loop& /*loop*/, const child_process::options& /*options*/) -> result<child_process> {
  return unported();
}

child_process::child_process(child_process&& other) noexcept = default;
auto child_process::operator=(child_process&& other) noexcept -> child_process& = default;
child_process::~child_process() = default;

auto child_process::wait() -> task<result<child_process::exit_status>> { co_return unported(); }

auto child_process::kill(int /*signal*/) const noexcept -> result<void> { return unported(); }

// --- signals ---

auto signal_set::create(loop& /*loop*/, std::initializer_list<int> /*signals*/) -> result<signal_set> {
  return unported();
}

signal_set::signal_set(signal_set&& other) noexcept = default;
auto signal_set::operator=(signal_set&& other) noexcept -> signal_set& = default;
signal_set::~signal_set() = default;

auto signal_set::next() -> task<result<int>> { co_return unported(); }

// --- files ---

auto file::open(executor& /*blocking*/, std::string /*path*/, mode /*access*/) -> task<result<file>> {
  co_return unported();
}

auto file::read_at(std::uint64_t /*offset*/, std::span<std::byte> /*buffer*/) const -> task<result<std::size_t>> {
  co_return unported();
}

auto file::write_at(std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) const -> task<result<void>> {
  co_return unported();
}

auto file::size() const -> task<result<std::uint64_t>> { co_return unported(); }

auto file::resize(std::uint64_t /*size*/) const -> task<result<void>> { co_return unported(); }

auto file::sync() const -> task<result<void>> { co_return unported(); }

auto file::read(executor& /*blocking*/, std::string /*path*/, std::uint64_t /*limit*/) -> task<result<std::string>> {
  co_return unported();
}

auto file::write(executor& /*blocking*/, std::string /*path*/, std::span<const std::byte> /*bytes*/)
    -> task<result<void>> {
  co_return unported();
}

auto file::status_of(executor& /*blocking*/, std::string /*path*/, links /*at_end*/) -> task<result<status>> {
  co_return unported();
}

auto file::remove(executor& /*blocking*/, std::string /*path*/) -> task<result<void>> { co_return unported(); }

auto file::rename(executor& /*blocking*/, std::string /*from*/, std::string /*to*/) -> task<result<void>> {
  co_return unported();
}

auto file::list_folder(executor& /*blocking*/, std::string /*path*/) -> task<result<std::vector<entry>>> {
  co_return unported();
}

auto file::make_folder(executor& /*blocking*/, std::string /*path*/) -> task<result<void>> { co_return unported(); }

auto file::remove_folder(executor& /*blocking*/, std::string /*path*/) -> task<result<void>> { co_return unported(); }

}  // namespace braid
