// tests/io/child_process_test.cpp: programs that are run, talked to, killed and awaited.
#include <braid/io/process.hpp>

#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/sockets.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace braid;
using testing::test_loop;

namespace {

auto shell(std::string script, child_process::stream streams = child_process::stream::inherit)
    -> child_process::options {
  return {.program = "sh", .arguments = {"-c", std::move(script)}, .in = streams, .out = streams, .err = streams};
}

auto all_of(const byte_stream& from) -> task<std::string> {
  std::string text;
  std::array<std::byte, 1000> room{};
  for (;;) {
    const auto got = co_await from.read_some(room);
    if (!got || *got == 0) break;
    text += text_of(std::span(room).first(*got));
  }
  co_return text;
}

auto status_of(loop& io, child_process::options how) -> task<child_process::exit_status> {
  child_process child = child_process::start(io, how).value();
  const auto ended = co_await child.wait();
  co_return ended.value();
}

/// Also where it has ended and nobody has asked how.
auto is_known(pid_t id) -> bool { return ::kill(id, 0) == 0; }

auto bit_of(int signal) -> unsigned long { return 1UL << static_cast<unsigned>(signal - 1); }

/// A mask of a status in /proc.
auto signals_in(const std::string& status, const char* line) -> unsigned long {
  return std::stoul(status.substr(status.find(line) + std::strlen(line)), nullptr, 16);
}

auto has_children() -> bool { return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

}  // namespace

TEST_CASE("the status says how a program ended") {
  test_loop here;
  CHECK(here.run(status_of(here.io(), shell("exit 0"))).take().is_success());
  CHECK(here.run(status_of(here.io(), shell("exit 3"))).take() == child_process::exit_status{.code = 3, .signal = 0});
  CHECK(here.run(status_of(here.io(), shell("kill -9 $$"))).take() ==
        child_process::exit_status{.code = 0, .signal = SIGKILL});
  CHECK_FALSE(has_children());
}

TEST_CASE("what is written to a program comes back by its streams") {
  test_loop here;
  auto body = [&]() -> task<void> {
    child_process child =
        child_process::start(here.io(), shell("cat; echo problem >&2", child_process::stream::pipe)).value();
    const auto wrote = co_await child.in().write_all(bytes_of("one\ntwo\n"));
    CHECK(wrote.has_value());
    child.in().close();
    const std::string out = co_await all_of(child.out());
    CHECK(out == "one\ntwo\n");
    const std::string err = co_await all_of(child.err());
    CHECK(err == "problem\n");
    const auto ended = co_await child.wait();
    CHECK(ended->is_success());
    const auto again = co_await child.wait();
    CHECK(again->is_success());
    CHECK(child.kill().error() == std::errc::no_such_process);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("folder, environment and arguments are those that were given") {
  test_loop here;
  const testing::scratch_folder folder;
  auto body = [&]() -> task<std::string> {
    child_process::options how = shell("pwd; echo $WORD $0", child_process::stream::pipe);
    how.arguments.emplace_back("name");
    how.folder = folder.path();
    how.environment = std::vector<std::string>{"WORD=bird", "PATH=/usr/bin:/bin"};
    child_process child = child_process::start(here.io(), how).value();
    std::string told = co_await all_of(child.out());
    const auto ended = co_await child.wait();
    CHECK(ended->is_success());
    co_return told;
  };
  CHECK(here.run(body()).take() == folder.path().string() + "\nbird name\n");
  CHECK_FALSE(has_children());
}

TEST_CASE("a program has none of our descriptors but its streams") {
  test_loop here;
  const auto ours = stream_socket::pair(here.io()).value();
  std::string name(100, '\0');
  const std::string link = "/proc/self/fd/" + std::to_string(ours.first.number());
  name.resize(static_cast<std::size_t>(::readlink(link.c_str(), name.data(), name.size())));
  auto body = [&](child_process::stream in) -> task<std::string> {
    child_process::options how = shell("ls -l /proc/$$/fd");
    how.in = in;
    how.out = child_process::stream::pipe;
    child_process child = child_process::start(here.io(), how).value();
    co_return co_await all_of(child.out());
  };
  const std::string with_null = here.run(body(child_process::stream::null)).take();
  CHECK(with_null.find("0 -> /dev/null") != std::string::npos);
  CHECK(with_null.find("1 -> pipe:") != std::string::npos);
  CHECK(with_null.find("2 -> ") != std::string::npos);
  CHECK(with_null.find(name) == std::string::npos);
}

TEST_CASE("a program that is not there, or may not run, or a folder that is not there is the error of the system") {
  test_loop here;
  const std::size_t before = testing::open_descriptors();
  const auto error_of = [&](child_process::options how) {
    how.in = how.out = how.err = child_process::stream::pipe;
    return child_process::start(here.io(), how).error();
  };
  CHECK(error_of({.program = "/no/such/program"}) == std::errc::no_such_file_or_directory);
  CHECK(error_of({.program = "no-such-program-anywhere"}) == std::errc::no_such_file_or_directory);
  CHECK(error_of({.program = "/etc/passwd"}) == std::errc::permission_denied);
  CHECK(error_of({.program = "sh", .folder = "/no/such/folder"}) == std::errc::no_such_file_or_directory);
  const std::string cut("sh\0x", 4);
  CHECK(error_of({.program = cut}) == std::errc::invalid_argument);
  CHECK(error_of({.program = "sh", .arguments = {"-c", cut}}) == std::errc::invalid_argument);
  CHECK(error_of({.program = "sh", .folder = cut}) == std::errc::invalid_argument);
  CHECK(error_of({.program = "sh", .environment = std::vector{cut}}) == std::errc::invalid_argument);
  CHECK(testing::open_descriptors() == before);
  CHECK_FALSE(has_children());
}

TEST_CASE("a stop kills the program and awaits its end") {
  test_loop here;
  const std::size_t before = testing::open_descriptors();
  pid_t id = -1;
  auto runs = [&]() -> task<void> {
    child_process child =
        child_process::start(here.io(), shell("exec sleep 1000", child_process::stream::pipe)).value();
    id = child.id();
    static_cast<void>(co_await child.wait());
  };
  auto body = [&]() -> task<void> {
    const auto late = co_await with_timeout(1ms, runs());
    CHECK(late.error() == errc::deadline_exceeded);
  };
  CHECK(here.run_through(body(), 100us).has_value());
  CHECK(here.run_until([&] { return !is_known(id); }));
  CHECK_FALSE(has_children());
  CHECK(here.run_until([&] { return testing::open_descriptors() == before; }));
}

TEST_CASE("many objects that go at once leave no process, whose ends the loop sees") {
  test_loop here;
  const std::size_t before = testing::open_descriptors();
  std::vector<pid_t> ids;
  {
    std::vector<child_process> children;
    for (int i = 0; i < 20; ++i) children.push_back(child_process::start(here.io(), shell("exec sleep 1000")).value());
    for (const child_process& each : children) ids.push_back(each.id());
  }
  CHECK(here.run_until([&] { return std::ranges::none_of(ids, is_known); }));
  CHECK(here.run_until([&] { return testing::open_descriptors() == before; }));
}

TEST_CASE("a loop that is stopped leaves no process either") {
  test_loop here;
  std::vector<pid_t> ids;
  const auto start = [&] {
    child_process child = child_process::start(here.io(), shell("exec sleep 1000")).value();
    ids.push_back(child.id());
    return child;
  };
  auto runs = [&]() -> task<void> {
    child_process awaited = start();
    const child_process not_awaited = start();
    static_cast<void>(co_await awaited.wait());
  };
  here.io().spawn(runs());
  { const child_process gone = start(); }
  here.stop();
  CHECK(ids.size() == 3);
  CHECK(std::ranges::none_of(ids, is_known));
}

TEST_CASE("a signal that is sent ends the program") {
  test_loop here;
  auto body = [&]() -> task<child_process::exit_status> {
    child_process child = child_process::start(here.io(), shell("exec sleep 1000")).value();
    CHECK(child.kill(SIGTERM).has_value());
    const auto ended = co_await child.wait();
    co_return ended.value();
  };
  CHECK(here.run(body()).take() == child_process::exit_status{.code = 0, .signal = SIGTERM});
}

TEST_CASE("a program that does not read is a broken pipe, and no signal") {
  test_loop here;
  auto body = [&]() -> task<void> {
    child_process child =
        child_process::start(here.io(), shell("exec <&-; echo closed", child_process::stream::pipe)).value();
    buffered_reader out(child.out());
    const auto line = co_await out.read_until("\n");
    CHECK(text_of(line.value()) == "closed\n");
    const std::string text(1 << 20U, 'x');
    const auto wrote = co_await child.in().write_all(bytes_of(text));
    CHECK(wrote.error() == std::errc::broken_pipe);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("many programs at once are all awaited") {
  test_loop here;
  int done = 0;
  auto one = [&](int number) -> task<void> {
    const child_process::exit_status ended = co_await status_of(here.io(), shell("exit " + std::to_string(number)));
    if (ended.code == number) ++done;
  };
  for (int i = 0; i < 30; ++i) here.io().spawn(one(i));
  CHECK(here.run_until([&] { return done == 30; }));
  CHECK_FALSE(has_children());
}

TEST_CASE("a program may be started, and waited for, before its loop runs") {
  const auto io = loop::create().value();
  child_process child = child_process::start(*io, shell("exit 3")).value();
  auto body = [&]() -> task<void> {
    const auto ended = co_await child.wait();
    CHECK(ended == child_process::exit_status{.code = 3, .signal = 0});
    io->stop();
  };
  io->spawn(body());
  io->run();
}

TEST_CASE("an object that goes before its loop has run leaves no process, whether the loop runs later or never") {
  pid_t id = -1;
  const auto start = [&id](loop& io) {
    const child_process child = child_process::start(io, shell("exec sleep 1000")).value();
    id = child.id();
  };
  {
    const auto io = loop::create().value();
    start(*io);
  }
  CHECK_FALSE(is_known(id));
  {
    const auto io = loop::create().value();
    start(*io);
    io->stop();
    start(*io);
    CHECK_FALSE(is_known(id));
  }
  CHECK_FALSE(has_children());
  const auto io = loop::create().value();
  start(*io);
  CHECK(testing::eventually([&] {
    io->run_once();
    return !is_known(id);
  }));
  io->stop();
  CHECK(testing::eventually([&] { return !io->run_once(); }));
}

TEST_CASE("without a descriptor for the process no program is begun, and none of the failures leaves a process") {
  test_loop here;
  const auto interrupts = [](int) {};
  struct sigaction caught{};
  caught.sa_handler = interrupts;  // without SA_RESTART: it interrupts what waits
  struct sigaction before{};
  REQUIRE(::sigaction(SIGALRM, &caught, &before) == 0);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 50}, .it_value = {.tv_sec = 0, .tv_usec = 50}};
  REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
  const auto fails_with = [&](const char* program, std::errc expected) {
    const auto started = child_process::start(here.io(), {.program = program});
    return !started && started.error() == expected;
  };
  ::rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  ::rlimit none = limit;
  none.rlim_cur = static_cast<::rlim_t>(descriptor(::dup(STDIN_FILENO)).number());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  int right = 0;
  for (int i = 0; i < 100; ++i) right += fails_with("/no/such/program", std::errc::too_many_files_open) ? 1 : 0;
  for (int i = 0; i < 100; ++i) right += fails_with("/bin/true", std::errc::too_many_files_open) ? 1 : 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (int i = 0; i < 100; ++i) right += fails_with("/no/such/program", std::errc::no_such_file_or_directory) ? 1 : 0;
  const itimerval never{};
  REQUIRE(::setitimer(ITIMER_REAL, &never, nullptr) == 0);
  REQUIRE(::sigaction(SIGALRM, &before, nullptr) == 0);
  CHECK(right == 300);
  CHECK_FALSE(has_children());
}

TEST_CASE("where SIGCHLD is ignored a start is refused, because the system would forget the status") {
  test_loop here;
  const testing::scratch_folder folder;
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  struct sigaction forgets{};
  forgets.sa_handler = SIG_DFL;
  forgets.sa_flags = SA_NOCLDWAIT;
  for (const struct sigaction& each : {ignored, forgets}) {
    struct sigaction before{};
    REQUIRE(::sigaction(SIGCHLD, &each, &before) == 0);
    const auto started = child_process::start(here.io(), shell("echo > " + (folder.path() / "file").string()));
    REQUIRE(::sigaction(SIGCHLD, &before, nullptr) == 0);
    REQUIRE_FALSE(started.has_value());
    CHECK(started.error() == errc::status_lost);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_FALSE(has_children());
}

TEST_CASE("a status that other code has taken is an error, and no signal goes to a process of the same number") {
  test_loop here;
  auto body = [&]() -> task<void> {
    const child_process untaken = child_process::start(here.io(), shell("exec sleep 1000")).value();
    child_process child = child_process::start(here.io(), shell("exit 3")).value();
    CHECK(::waitpid(-1, nullptr, 0) == child.id());
    const auto ended = co_await child.wait();
    CHECK(ended.error() == errc::status_lost);
    const auto again = co_await child.wait();
    CHECK(again.error() == errc::status_lost);
    CHECK(child.kill().error() == std::errc::no_such_process);
    CHECK(untaken.kill(0).has_value());
  };
  CHECK(here.run(body()).has_value());
  here.stop();
  CHECK_FALSE(has_children());
}

TEST_CASE("a program has no blocked signal; what is ignored stays so, but for SIGPIPE") {
  test_loop here;
  const auto before_usr2 = std::signal(SIGUSR2, SIG_IGN);
  const auto before_pipe = std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  sigset_t unblocked;
  REQUIRE(::pthread_sigmask(SIG_BLOCK, &blocked, &unblocked) == 0);
  auto body = [&]() -> task<std::string> {
    child_process::options how{
        .program = "grep", .arguments = {"^Sig[BI]", "/proc/self/status"}, .out = child_process::stream::pipe};
    child_process child = child_process::start(here.io(), how).value();
    std::string text = co_await all_of(child.out());
    static_cast<void>(co_await child.wait());
    co_return text;
  };
  const std::string text = here.run(body()).take();
  sigset_t now;
  REQUIRE(::pthread_sigmask(SIG_SETMASK, &unblocked, &now) == 0);
  CHECK(::sigismember(&now, SIGTERM) == 1);
  CHECK(::sigismember(&now, SIGUSR1) == 0);
  std::signal(SIGUSR2, before_usr2);
  std::signal(SIGPIPE, before_pipe);
  CHECK(signals_in(text, "SigBlk:\t") == 0);
  CHECK((signals_in(text, "SigIgn:\t") & bit_of(SIGUSR2)) != 0);
  CHECK((signals_in(text, "SigIgn:\t") & bit_of(SIGPIPE)) == 0);
}

TEST_CASE("a name is looked for in the parts of PATH, in their order") {
  test_loop here;
  const testing::scratch_folder folder;
  const auto said_by = [&](const char* name, const std::string& path) {
    const testing::environment search("PATH", path.c_str());
    auto body = [&]() -> task<std::string> {
      child_process::options how{.program = name, .folder = folder.path(), .out = child_process::stream::pipe};
      auto child = child_process::start(here.io(), how);
      if (!child) co_return child.error().message();
      std::string text = co_await all_of(child->out());
      static_cast<void>(co_await child->wait());
      co_return text;
    };
    return here.run(body()).take();
  };
  const auto make = [&](const char* at, const char* script, std::filesystem::perms how) {
    std::filesystem::create_directories((folder.path() / at).parent_path());
    std::ofstream(folder.path() / at) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(folder.path() / at, how);
  };
  using enum std::filesystem::perms;
  make("one/word", "echo one", owner_all);
  make("two/word", "echo two", owner_all);
  make("no/word", "echo never", owner_read);
  make("word", "echo here", owner_all);
  std::ofstream(folder.path() / "file") << "no folder";
  const std::string root = folder.path();
  CHECK(said_by("word", root + "/one:" + root + "/two") == "one\n");
  CHECK(said_by("word", root + "/none:" + root + "/file:" + root + "/no:" + root + "/two") == "two\n");
  CHECK(said_by("word", root + "/none:") == "here\n");
  CHECK(said_by("two/word", "") == "two\n");
  CHECK(said_by("word", root + "/no:" + root + "/none") ==
        std::make_error_code(std::errc::permission_denied).message());
  CHECK(said_by("", root + "/one") == std::make_error_code(std::errc::no_such_file_or_directory).message());
  CHECK_FALSE(has_children());
}

TEST_CASE("a loop that goes before a child process of its own ends the program") {
  const testing::child_end end = testing::run_in_child([] {
    std::optional<child_process> left;
    const auto io = loop::create().value();
    left.emplace(child_process::start(*io, shell("exit 0")).value());
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("must be destroyed before their loop") != std::string::npos);
}

TEST_CASE("a child process that is assigned over is killed and reaped, and the other one goes on") {
  test_loop here;
  auto start = [&](std::string script) -> task<child_process> {
    co_return child_process::start(here.io(), shell(std::move(script), child_process::stream::pipe)).value();
  };
  child_process child = here.run(start("exec sleep 1000")).take();
  const pid_t first = child.id();
  child = here.run(start("read line; echo got $line; exit 7")).take();
  CHECK(here.run_until([&] { return !is_known(first); }));
  CHECK(child.id() != first);
  child_process& same = child;
  child = std::move(same);
  auto talk = [&]() -> task<std::string> {
    const std::string line = "it\n";
    static_cast<void>(co_await child.in().write_all(bytes_of(line)));
    co_return co_await all_of(child.out());
  };
  CHECK(here.run(talk()).take() == "got it\n");
  CHECK(here.run(child.wait()).take().value().code == 7);
}
