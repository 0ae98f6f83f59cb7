// bench/echo/uv.cpp: libuv; a write is tried at once, as careful users of libuv do (`uv_try_write`).
#include <bench/echo/cases.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>

#include <uv.h>

namespace {

struct client {
  uv_tcp_t socket{};
  std::array<char, 4096> room{};
};

void give_room(uv_handle_t* handle, std::size_t, uv_buf_t* room) {
  auto& mine = *static_cast<client*>(handle->data);
  *room = uv_buf_init(mine.room.data(), static_cast<unsigned>(mine.room.size()));
}

void free_client(uv_handle_t* handle) { delete static_cast<client*>(handle->data); }

void echo(uv_stream_t* stream, ::ssize_t got, const uv_buf_t* bytes) {
  if (got < 0) return uv_close(reinterpret_cast<uv_handle_t*>(stream), &free_client);
  const uv_buf_t answer = uv_buf_init(bytes->base, static_cast<unsigned>(got));
  if (uv_try_write(stream, &answer, 1) != got) bench::detail::give_up("write");  // 64 bytes always have room
}

void take(uv_stream_t* listener, int) {
  auto* const made = new client;
  made->socket.data = made;
  uv_tcp_init(listener->loop, &made->socket);
  auto* const stream = reinterpret_cast<uv_stream_t*>(&made->socket);
  if (uv_accept(listener, stream) != 0) bench::detail::give_up("accept");
  uv_tcp_nodelay(&made->socket, 1);
  uv_read_start(stream, &give_room, &echo);
}

struct server {
  uv_loop_t loop{};
  uv_tcp_t listener{};
  uv_async_t end{};

  template <typename Ready>
  void run(Ready ready) {
    uv_loop_init(&loop);
    uv_async_init(&loop, &end, [](uv_async_t* self) { uv_stop(self->loop); });
    uv_tcp_init(&loop, &listener);
    sockaddr_in at{};
    uv_ip4_addr("127.0.0.1", 0, &at);
    uv_tcp_bind(&listener, reinterpret_cast<const sockaddr*>(&at), 0);
    uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 1024, &take);
    int size = sizeof(at);
    uv_tcp_getsockname(&listener, reinterpret_cast<sockaddr*>(&at), &size);
    ready(ntohs(at.sin_port));
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_close(reinterpret_cast<uv_handle_t*>(&listener), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&end), nullptr);
    uv_run(&loop, UV_RUN_DEFAULT);  // clients see the end of their connections
    uv_loop_close(&loop);
  }
};

auto ping_pong(const bench::parameters& given) -> bench::sample {
  server served;
  return bench::timed_echo(given, [&](auto ready) { served.run(ready); }, [&] { uv_async_send(&served.end); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender who{.name = "libuv", .kind = bench::kind::rival, .version = uv_version_string()};
  return bench::run_program(count, arguments, "echo", {{"ping_pong", who, &ping_pong}});
}
