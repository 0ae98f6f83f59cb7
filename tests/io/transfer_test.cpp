// tests/io/transfer_test.cpp: transfers through ports, without a loop around them.
#include <braid/io/detail/transfer.hpp>

#include <braid/io/backend.hpp>

#include <tests/support/pipes.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

using namespace braid;
using testing::ends;

namespace {

/// One transfer with room of its own, which tells what it was answered.
class probe : public braid::detail::io_transfer {
 public:
  probe(braid::detail::io_registration& registration, io_interest side, aim what = aim::bytes)
      : braid::detail::io_transfer(registration, side, what, told) {
    part_ = {.iov_base = room.data(), .iov_len = room.size()};
    message().msg_iov = &part_;
    message().msg_iovlen = 1;
  }

  std::array<std::byte, 8> room{};
  int answers_seen = 0;
  std::optional<int> outcome;  // of what was moved, by the backend or after it said that it was worth a try
  std::function<void()> call;

 private:
  static void moved(braid::detail::io_transfer& self, int outcome) noexcept { static_cast<probe&>(self).note(outcome); }
  static void ready(braid::detail::io_transfer& self) noexcept {
    static_cast<probe&>(self).note(self.wants_bytes() ? braid::detail::move_now(self) : 0);
  }
  void note(int what) noexcept {
    ++answers_seen;
    outcome = what;
    if (call) call();
  }
  static constexpr answers told{&moved, &ready};
  iovec part_{};
};

auto made() -> std::unique_ptr<io_backend> { return io_backend::make().value(); }

/// Waits until a cancelled transfer is over: at once, or with an answer.
void cancel(io_backend& backend, probe& item) {
  if (backend.cancel(item)) return;
  while (item.answers_seen == 0) backend.wait(std::nullopt);
}

constexpr auto socket_kind = braid::detail::io_registration::kind::socket;

}  // namespace

TEST_CASE("a try that would block says so, and the port knows it") {
  const ends sockets = ends::of_sockets();
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  probe reading(registration, io_interest::read);
  CHECK(registration.may_be_ready(io_interest::read));
  CHECK(braid::detail::move_now(reading) == -EAGAIN);
  CHECK_FALSE(registration.may_be_ready(io_interest::read));
  CHECK(registration.may_be_ready(io_interest::write));
  testing::write_byte(sockets.second);
  CHECK(braid::detail::move_now(reading) == 1);
}

TEST_CASE("a short read empties TCP, but nothing is concluded from it once an end was reported") {
  const ends sockets = ends::of_sockets();
  braid::detail::io_registration registration(sockets.first.number(), braid::detail::io_registration::kind::tcp);
  probe reading(registration, io_interest::read);
  testing::write_byte(sockets.second);
  CHECK(braid::detail::move_now(reading) == 1);
  CHECK_FALSE(registration.may_be_ready(io_interest::read));
  registration.set_ready(io_interest::read, true);
  registration.distrust_short_reads();
  testing::write_byte(sockets.second);
  CHECK(braid::detail::move_now(reading) == 1);
  CHECK(registration.may_be_ready(io_interest::read));
}

TEST_CASE("a transfer is answered when there is something, once") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  for (int round = 0; round < 3; ++round) {
    probe reading(registration, io_interest::read);
    REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
    REQUIRE(backend->start(reading));
    CHECK(registration.pending(io_interest::read) == &reading);
    CHECK(backend->has_watches());
    backend->wait(0ns);
    CHECK(reading.answers_seen == 0);
    testing::write_byte(sockets.second);
    backend->wait(std::nullopt);
    CHECK(reading.answers_seen == 1);
    CHECK(reading.outcome == 1);
    CHECK(reading.room[0] == std::byte{'x'});
    CHECK(registration.pending(io_interest::read) == nullptr);
    CHECK_FALSE(backend->has_watches());
    backend->wait(0ns);
    CHECK(reading.answers_seen == 1);
  }
  backend->forget(registration);
}

TEST_CASE("what came before the port was registered is found") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  probe reading(registration, io_interest::read);
  REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
  testing::write_byte(sockets.second);
  REQUIRE(backend->start(reading));
  backend->wait(std::nullopt);
  CHECK(reading.outcome == 1);
  backend->forget(registration);
}

TEST_CASE("the end and an error are answered") {
  const auto backend = made();
  ends sockets = ends::of_sockets();
  testing::fill(sockets.first);
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  probe reading(registration, io_interest::read);
  probe writing(registration, io_interest::write);
  REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
  REQUIRE(braid::detail::move_now(writing) == -EAGAIN);
  REQUIRE(backend->start(reading));
  REQUIRE(backend->start(writing));
  sockets.second.close();  // with unread bytes
  while (backend->has_watches()) backend->wait(std::nullopt);
  CHECK((reading.outcome == 0 || reading.outcome == -ECONNRESET));
  CHECK((writing.outcome == -EPIPE || writing.outcome == -ECONNRESET));
  backend->forget(registration);
}

TEST_CASE("a cancelled transfer moves nothing, and what comes is there for the next") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  probe reading(registration, io_interest::read);
  REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
  REQUIRE(backend->start(reading));
  backend->wait(0ns);
  cancel(*backend, reading);
  CHECK(reading.outcome.value_or(-ECANCELED) == -ECANCELED);
  CHECK_FALSE(backend->has_watches());
  testing::write_byte(sockets.second);
  backend->wait(0ns);
  CHECK(reading.room[0] == std::byte{});
  probe next(registration, io_interest::read);
  CHECK(braid::detail::move_now(next) == 1);
  backend->forget(registration);
}

TEST_CASE("of cancel and completion one wins, and no byte is lost or read twice") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  int read = 0;
  int written = 0;
  for (int round = 0; round < 1000; ++round) {
    probe reading(registration, io_interest::read);
    if (const int found = braid::detail::move_now(reading); found != -EAGAIN) {
      read += found;
      continue;
    }
    REQUIRE(backend->start(reading));
    if (round % 3 == 0) backend->wait(0ns);
    testing::write_byte(sockets.second);
    ++written;
    if (round % 2 == 0) cancel(*backend, reading);
    while (backend->has_watches()) backend->wait(std::nullopt);
    if (reading.outcome.value_or(0) > 0) read += *reading.outcome;
  }
  probe rest(registration, io_interest::read);
  if (const int found = braid::detail::move_now(rest); found != -EAGAIN) read += found;
  CHECK(read == written);
  backend->forget(registration);
}

TEST_CASE("both sides of a port wait at the same time, and the first may cancel the second") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  testing::fill(sockets.first);
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  probe reading(registration, io_interest::read);
  probe writing(registration, io_interest::write);
  REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
  REQUIRE(braid::detail::move_now(writing) == -EAGAIN);
  REQUIRE(backend->start(reading));
  REQUIRE(backend->start(writing));
  bool over = false;
  reading.call = [&] { over = backend->cancel(writing); };
  testing::write_byte(sockets.second);
  while (reading.answers_seen == 0) backend->wait(std::nullopt);
  while (backend->has_watches()) backend->wait(std::nullopt);
  CHECK(reading.outcome == 1);
  CHECK(writing.answers_seen == (over ? 0 : 1));
  CHECK(writing.outcome.value_or(-ECANCELED) == -ECANCELED);
  backend->forget(registration);
}

TEST_CASE("a port may be forgotten and its number closed in an answer, though the other side is in the same batch") {
  const auto backend = made();
  ends sockets = ends::of_sockets();
  auto registration = std::make_unique<braid::detail::io_registration>(sockets.first.number(), socket_kind);
  probe reading(*registration, io_interest::read);
  REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
  REQUIRE(backend->start(reading));
  reading.call = [&] {
    backend->forget(*registration);
    registration.reset();
    sockets.first.close();
  };
  testing::write_byte(sockets.second);
  backend->wait(std::nullopt);
  CHECK(reading.answers_seen == 1);
  const ends others = ends::of_sockets();  // likely of the same number
  braid::detail::io_registration another(others.first.number(), socket_kind);
  probe next(another, io_interest::read);
  REQUIRE(braid::detail::move_now(next) == -EAGAIN);
  REQUIRE(backend->start(next));
  backend->wait(0ns);
  CHECK(next.answers_seen == 0);
  cancel(*backend, next);
  backend->forget(another);
}

TEST_CASE("a port in the place of one that was forgotten in an answer hears nothing of its batch") {
  const auto backend = made();
  ends sockets = ends::of_sockets();  // readable and writable, in one answer of the kernel
  const ends full = ends::of_sockets();
  testing::fill(full.first);
  std::optional<braid::detail::io_registration> place(std::in_place, sockets.first.number(), socket_kind);
  probe reading(*place, io_interest::read);
  REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
  REQUIRE(backend->start(reading));
  std::optional<probe> writing;
  reading.call = [&] {
    backend->forget(*place);
    sockets.first.close();
    place.emplace(full.first.number(), socket_kind);
    writing.emplace(*place, io_interest::write, braid::detail::io_transfer::aim::readiness);
    REQUIRE(backend->start(*writing));
  };
  testing::write_byte(sockets.second);
  backend->wait(std::nullopt);
  REQUIRE(reading.answers_seen == 1);
  backend->wait(0ns);
  CHECK(writing->answers_seen == 0);
  cancel(*backend, *writing);
  backend->forget(*place);
}

TEST_CASE("a wait for readiness moves nothing, on sockets and on pipes") {
  const auto backend = made();
  const ends pipe = ends::of_pipe();
  braid::detail::io_registration registration(pipe.first.number(), braid::detail::io_registration::kind::other);
  probe waiting(registration, io_interest::read, braid::detail::io_transfer::aim::readiness);
  registration.set_ready(io_interest::read, false);
  REQUIRE(backend->start(waiting));
  backend->wait(0ns);
  CHECK(waiting.answers_seen == 0);
  testing::write_byte(pipe.second);
  backend->wait(std::nullopt);
  CHECK(waiting.answers_seen == 1);
  CHECK(registration.may_be_ready(io_interest::read));
  probe reading(registration, io_interest::read);
  CHECK(braid::detail::move_now(reading) == 1);
  CHECK(braid::detail::move_now(reading) == -EAGAIN);
  probe next(registration, io_interest::read);
  REQUIRE(backend->start(next));
  testing::write_byte(pipe.second);
  backend->wait(std::nullopt);
  CHECK(next.outcome == 1);
  backend->forget(registration);
}

TEST_CASE("more transfers than the ring of the kernel has room for are all answered") {
  const auto backend = made();
  std::vector<ends> all;
  std::vector<std::unique_ptr<braid::detail::io_registration>> registrations;
  std::vector<std::unique_ptr<probe>> probes;
  for (std::size_t i = 0; i < 1000; ++i) {
    all.push_back(ends::of_sockets());
    registrations.push_back(std::make_unique<braid::detail::io_registration>(all[i].first.number(), socket_kind));
    probes.push_back(std::make_unique<probe>(*registrations[i], io_interest::read));
    REQUIRE(braid::detail::move_now(*probes[i]) == -EAGAIN);
    REQUIRE(backend->start(*probes[i]));
  }
  for (const ends& each : all) testing::write_byte(each.second);
  while (backend->has_watches()) backend->wait(std::nullopt);
  for (const auto& each : probes) CHECK(each->outcome == 1);
  for (const auto& each : registrations) backend->forget(*each);
}

TEST_CASE("a number is a port or is watched, not both") {
  const auto backend = made();
  const ends sockets = ends::of_sockets();
  braid::detail::io_registration registration(sockets.first.number(), socket_kind);
  probe reading(registration, io_interest::read);
  REQUIRE(braid::detail::move_now(reading) == -EAGAIN);
  REQUIRE(backend->start(reading));
  io_watch watching{.descriptor = sockets.first.number(), .interest = io_interest::read, .ready = nullptr};
  CHECK(backend->watch(watching).error() == std::errc::file_exists);
  cancel(*backend, reading);
  backend->forget(registration);
  watching.ready = [](io_watch&) noexcept {};
  REQUIRE(backend->watch(watching));
  CHECK(backend->start(reading).error() == std::errc::file_exists);
  backend->unwatch(watching);
}

TEST_CASE("what is no descriptor is refused or answered with the error") {
  const auto backend = made();
  braid::detail::io_registration none(-1, socket_kind);
  probe reading(none, io_interest::read);
  CHECK(backend->start(reading).error() == std::errc::bad_file_descriptor);
  CHECK(none.pending(io_interest::read) == nullptr);
  CHECK_FALSE(backend->has_watches());
}
