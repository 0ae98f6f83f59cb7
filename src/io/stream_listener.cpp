// src/io/stream_listener.cpp: binds sockets and accepts connections. Accepting also works while the process has no free
// descriptors.
#include <braid/io/sockets.hpp>

#include "../platform/descriptors.hpp"
#include "../platform/system.hpp"
#include "sockets.hpp"

#include <braid/base/config.hpp>
#include <braid/coro/sleep.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

namespace braid {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr int refusals_in_succession = 64;
constexpr auto pause_after_refusals = 10ms;

/// Returns whether the error concerns only this connection, so that the next accept may succeed.
auto is_of_one_connection(int error) noexcept -> bool {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM:  // a rule of the firewall
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
#if defined(ENONET)
    case ENONET:
#endif
      return true;
    default: return false;
  }
}

auto is_want_of_descriptors(int error) noexcept -> bool { return error == EMFILE || error == ENFILE; }
auto passes_by_itself(int error) noexcept -> bool {
  return is_want_of_descriptors(error) || is_of_one_connection(error) || error == ENOBUFS || error == ENOMEM;
}

auto bind_options(int number, int family, const stream_listener::options& options) noexcept -> result<void> {
  result<void> set = detail::set_stream_options(number, family, options.connection);  // accepted sockets inherit them
  const bool is_tcp = family != AF_UNIX;
  if (set && is_tcp) set = detail::set_option(number, SOL_SOCKET, SO_REUSEADDR, 1);
  if (set && is_tcp && options.reuse_port) set = detail::set_option(number, SOL_SOCKET, SO_REUSEPORT, 1);
  if (set && family == AF_INET6) set = detail::set_option(number, IPPROTO_IPV6, IPV6_V6ONLY, options.ipv6_only ? 1 : 0);
  return set;
}

}  // namespace

/// Accepts one connection. Returns a descriptor, or the error number with a negative sign. -EAGAIN means that the
/// caller should try again. Skips connections that have failed. After it has skipped many connections in a row, returns
/// the error of the last one.
class detail::accept_operation final : public io_operation {
 public:
  explicit accept_operation(stream_listener& listener) noexcept
      : io_operation(listener.open_.get(), io_interest::read, aim::readiness), listener_(&listener) {}
  [[nodiscard]] auto await_resume() const noexcept -> int { return outcome_; }

 private:
  auto attempt() noexcept -> bool override {
    for (int refusals = 0; refusals < refusals_in_succession; ++refusals) {
      outcome_ = detail::accept_connection(registration().descriptor());
      if (outcome_ >= 0) return true;
      const int error = errno;
      if (error == EAGAIN) return nobody_waits();
      outcome_ = -error;
      if (is_of_one_connection(error)) continue;
      if (!is_want_of_descriptors(error)) return true;
      const auto refused = listener_->refuse_one();
      if (refused == stream_listener::refusal::no_reserve) return true;
      if (refused == stream_listener::refusal::nobody_waits) return nobody_waits();
      outcome_ = -EAGAIN;
    }
    return true;  // lets other work of the loop run
  }
  auto absorb(int outcome) noexcept -> bool override {
    outcome_ = outcome;
    return true;
  }
  auto nobody_waits() noexcept -> bool {
    registration().set_ready(io_interest::read, false);
    return false;
  }

  stream_listener* listener_;
  int outcome_ = 0;
};

stream_listener::stream_listener(loop& loop, descriptor owned, int family)
    : open_(std::make_unique<detail::open_descriptor>(loop, std::move(owned), detail::io_registration::kind::socket)),
      family_(family) {
  keep_reserve();
}

auto stream_listener::listen(loop& loop, std::string_view text, const stream_listener::options& options)
    -> result<stream_listener> {
  const auto address = socket_address::parse(text);
  if (!address) return fail(address.error());
  return listen(loop, *address, options);
}

auto stream_listener::listen(loop& loop, const socket_address& address, const stream_listener::options& options)
    -> result<stream_listener> {
  auto made = detail::make_socket(address.family(), SOCK_STREAM);
  if (!made) return fail(made.error());
  if (auto set = bind_options(made->number(), address.family(), options); !set) return fail(set.error());
  if (auto bound = detail::checked(::bind(made->number(), address.data(), address.size())); !bound)
    return fail(bound.error());
  if (auto open = detail::checked(::listen(made->number(), options.backlog)); !open) return fail(open.error());
  return stream_listener(loop, std::move(*made), address.family());
}

auto stream_listener::local_address() const -> result<socket_address> {
  return detail::read_local_address(open_ != nullptr ? open_->number() : -1);
}

void stream_listener::move_to(loop& other) noexcept {
  BRAID_EXPECTS(open_ != nullptr, "this listener is not open");
  open_->move_to(other);
}

auto stream_listener::waiting() const noexcept -> result<std::size_t> {
  const auto count = detail::count_waiting_connections(open_ != nullptr ? open_->number() : -1);
  if (!count) return fail(last_system_error());
  return *count;
}

auto stream_listener::accept() -> task<result<stream_socket>> {
  for (;;) {
    const int outcome = co_await detail::accept_operation(*this);
    if (outcome >= 0) co_return stream_socket(open_->on(), descriptor(outcome), family_);
    if (passes_by_itself(-outcome))
      co_await sleep_for(pause_after_refusals);
    else if (outcome != -EAGAIN)
      co_return fail(detail::to_error_code(-outcome));
  }
}

void stream_listener::keep_reserve() noexcept {
  if (!reserve_) reserve_ = descriptor(detail::open_reserve());
}

auto stream_listener::refuse_one() noexcept -> refusal {
  if (!reserve_) {
    keep_reserve();
    if (!reserve_) return refusal::no_reserve;
  }
  reserve_.close();
  descriptor refused(detail::accept_connection(open_->number()));
  const bool nobody = !refused && errno == EAGAIN;
  if (refused) ++refused_;
  refused.close();
  keep_reserve();
  if (nobody) return refusal::nobody_waits;
  return refusal::done;
}

}  // namespace braid
