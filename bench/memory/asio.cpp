// bench/memory/asio.cpp: what a program with a pool of Boost.Asio has resident.
#include <bench/memory/cases.hpp>

#include <chrono>
#include <future>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/version.hpp>

namespace {

auto small_program(const bench::parameters& given) -> bench::sample {
  return bench::small_program(given, [](std::chrono::milliseconds span, auto look) {
    boost::asio::thread_pool all;
    boost::asio::steady_timer timer(all, span);
    std::promise<void> over;
    timer.async_wait([&](const boost::system::error_code&) { over.set_value(); });
    over.get_future().get();
    look();
    all.join();
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender who{.name = "Boost.Asio", .kind = bench::kind::rival, .version = BOOST_LIB_VERSION};
  return bench::run_program(count, arguments, "memory", {{"small_program", who, &small_program}});
}
