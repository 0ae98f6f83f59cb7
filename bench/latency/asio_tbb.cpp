// bench/latency/asio_tbb.cpp: how long I/O waits in a thread that runs Boost.Asio, beside an arena of oneTBB that
// computes.
#include <bench/echo/asio_server.hpp>
#include <bench/harness/tbb.hpp>
#include <bench/latency/io_under_load.hpp>

#include <cstdint>
#include <thread>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace {

class asio_beside_tbb {
 public:
  explicit asio_beside_tbb(unsigned workers) : arena_(workers) {}
  ~asio_beside_tbb() {
    server_.loop.stop();
    waits_.join();
  }
  asio_beside_tbb(const asio_beside_tbb&) = delete;
  auto operator=(const asio_beside_tbb&) -> asio_beside_tbb& = delete;

  auto listen() -> std::uint16_t {
    server_.accept();
    waits_ = std::thread([this] { server_.loop.run(); });
    return server_.port();
  }

  void keep_time(bench::lateness& late) {
    boost::asio::post(server_.loop, [this, &late] { arm(late); });
  }

  template <typename Fn>
  void post(Fn fn) {
    arena_.post(std::move(fn));
  }

 private:
  void arm(bench::lateness& late) {
    const std::int64_t armed_ns = bench::now_ns();
    timer_.expires_after(bench::lateness::span);
    timer_.async_wait([this, &late, armed_ns](boost::system::error_code error) {
      if (!error && late.fired(armed_ns)) arm(late);
    });
  }

  bench::tbb_system arena_;
  bench::asio_echo_server server_;
  boost::asio::steady_timer timer_{server_.loop};
  std::thread waits_;
};

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender who{.name = "Boost.Asio beside oneTBB",
                             .kind = bench::kind::rival,
                             .version = BOOST_LIB_VERSION " and " TBB_VERSION_STRING};
  return bench::run_program(count, arguments, "latency",
                            {{"io_under_load", who, &bench::io_under_load<asio_beside_tbb>}});
}
