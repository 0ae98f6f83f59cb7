// tests/sim/programs/sockets.cpp: sockets of TCP, UDP and Unix, and names. The checks hold outside of the simulator as
// well, so that the kernel confirms each of them.
#include <tests/sim/programs/sockets.hpp>

using namespace simulated;

namespace {

// --- TCP ---

void streams() {
  pair both = connected();
  CHECK(address_of(both.client).sin_port != 0);
  sockaddr_in peer{};
  socklen_t size = sizeof(peer);
  CHECK(getpeername(both.server, as_system(peer), &size) == 0 && size == sizeof(peer));
  CHECK(peer.sin_port == address_of(both.client).sin_port && peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  CHECK(to_events(both.client) == POLLOUT);
  CHECK(write(both.client, "hello", 5) == 5);
  CHECK(wait_in(both.server) == POLLIN);
  int unread = 0;
  CHECK(ioctl(both.server, FIONREAD, &unread) == 0 && unread == 5);
  std::array<char, 16> memory{};
  CHECK(recv(both.server, memory.data(), 3, MSG_PEEK) == 3 && std::memcmp(memory.data(), "hel", 3) == 0);
  CHECK(text_of(both.server) == "hello");
  CHECK(recv(both.server, memory.data(), 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  std::array<char, 2> first{};
  std::array<char, 4> second{};
  const std::array<iovec, 2> out = {{{const_cast<char*>("ab"), 2}, {const_cast<char*>("cdef"), 4}}};
  const std::array<iovec, 2> in = {{{first.data(), 2}, {second.data(), 4}}};
  CHECK(writev(both.server, out.data(), 2) == 6);
  CHECK(wait_in(both.client) == POLLIN);
  CHECK(readv(both.client, in.data(), 2) == 6 && second[3] == 'f');
  std::thread slow([&] {
    for (int part = 0; part < 4; ++part) {
      std::this_thread::sleep_for(20ms);
      send(both.client, "1234", 4, 0);
    }
  });
  CHECK(recv(both.server, memory.data(), 16, MSG_WAITALL) == 16);
  slow.join();
}

void ends() {
  pair both = connected();
  CHECK(write(both.client, "last", 4) == 4);
  CHECK(shutdown(both.client, SHUT_WR) == 0);
  CHECK(send(both.client, "more", 4, MSG_NOSIGNAL) == -1 && errno == EPIPE);
  while ((to_events(both.server) & POLLRDHUP) == 0) std::this_thread::sleep_for(1ms);
  CHECK(to_events(both.server) == (POLLIN | POLLOUT | POLLRDHUP));
  CHECK(text_of(both.server) == "last" && text_of(both.server).empty());
  CHECK(write(both.server, "answer", 6) == 6);
  CHECK(text_of(both.client) == "answer");
  both.server.close();
  CHECK(text_of(both.client).empty());
  CHECK((to_events(both.client) & (POLLIN | POLLHUP)) == (POLLIN | POLLHUP));
  CHECK(shutdown(tcp(), SHUT_WR) == -1 && errno == ENOTCONN);
}

int pipe_signals = 0;

void resets() {
  pair hard = connected();
  const linger at_once{1, 0};
  setsockopt(hard.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  hard.client.close();
  CHECK((wait_in(hard.server) & POLLERR) != 0);
  CHECK((to_events(hard.server) & (POLLIN | POLLERR | POLLHUP)) == (POLLIN | POLLERR | POLLHUP));
  std::array<char, 8> memory{};
  CHECK(read(hard.server, memory.data(), 8) == -1 && errno == ECONNRESET);
  CHECK(read(hard.server, memory.data(), 8) == 0);
  CHECK(send(hard.server, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);

  pair unread = connected();
  CHECK(write(unread.client, "nobody reads this", 17) == 17);
  CHECK(wait_in(unread.server) == POLLIN);
  unread.server.close();
  CHECK((wait_in(unread.client) & POLLERR) != 0);
  CHECK(find_option(unread.client, SOL_SOCKET, SO_ERROR) == ECONNRESET);
  CHECK(find_option(unread.client, SOL_SOCKET, SO_ERROR) == 0);

  pair late = connected();
  late.server.close();
  CHECK(wait_in(late.client) == (POLLIN | POLLRDHUP));
  CHECK(write(late.client, "too late", 8) == 8);
  while ((to_events(late.client) & POLLHUP) == 0) std::this_thread::sleep_for(1ms);
  CHECK(read(late.client, memory.data(), 8) == 0);  // the end came before the reset
  signal(SIGPIPE, [](int) { ++pipe_signals; });
  CHECK(write(late.client, "x", 1) == -1 && errno == EPIPE);
  CHECK(write(late.client, "x", 1) == -1 && errno == EPIPE);
  CHECK(pipe_signals >= 1);
  signal(SIGPIPE, SIG_DFL);
}

void connecting() {
  owned listener = listening();
  sockaddr_in at = address_of(listener);
  CHECK(find_option(listener, SOL_SOCKET, SO_ACCEPTCONN) == 1);
  owned client = tcp(SOCK_NONBLOCK);
  CHECK(to_events(client) == (POLLOUT | POLLHUP));
  CHECK(connect(client, as_system(at), sizeof(at)) == -1 && errno == EINPROGRESS);
  CHECK(wait_in(listener) == POLLIN);
  CHECK(to_events(client, POLLOUT, 10'000) == POLLOUT);
  CHECK(find_option(client, SOL_SOCKET, SO_ERROR) == 0);
  CHECK(connect(client, as_system(at), sizeof(at)) == 0);
  CHECK(connect(client, as_system(at), sizeof(at)) == -1 && errno == EISCONN);
  sockaddr_in from{};
  socklen_t size = sizeof(from);
  const owned server(accept4(listener, as_system(from), &size, SOCK_NONBLOCK));
  CHECK(from.sin_port == address_of(client).sin_port);
  CHECK((fcntl(server, F_GETFL) & O_NONBLOCK) != 0);
  make_nonblocking(listener);
  CHECK(accept(listener, nullptr, nullptr) == -1 && errno == EAGAIN);

  const owned other = tcp();
  CHECK(bind(other, as_system(at), sizeof(at)) == -1 && errno == EADDRINUSE);
  listener.close();
  const owned refused = tcp();
  CHECK(connect(refused, as_system(at), sizeof(at)) == -1 && errno == ECONNREFUSED);
  const owned later = tcp(SOCK_NONBLOCK);
  CHECK(connect(later, as_system(at), sizeof(at)) == -1 && errno == EINPROGRESS);
  CHECK((to_events(later, POLLOUT, 10'000) & (POLLOUT | POLLERR | POLLHUP)) == (POLLOUT | POLLERR | POLLHUP));
  CHECK(find_option(later, SOL_SOCKET, SO_ERROR) == ECONNREFUSED);

  const owned unconnected = tcp();
  CHECK(send(unconnected, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
  CHECK(recv(unconnected, &at, 1, 0) == -1 && errno == ENOTCONN);
  CHECK(getpeername(unconnected, as_system(from), &size) == -1 && errno == ENOTCONN);
  CHECK(accept(unconnected, nullptr, nullptr) == -1 && errno == EINVAL);
  sockaddr_in foreign = any_port();
  foreign.sin_addr.s_addr = inet_addr("192.0.2.1");
  CHECK(bind(unconnected, as_system(foreign), sizeof(foreign)) == -1 && errno == EADDRNOTAVAIL);
}

void options() {
  const owned listener = listening();
  const int on = 1;
  const int idle = 77;
  setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(listener, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  const owned client = connected_to(address_of(listener));
  const owned server(accept(listener, nullptr, nullptr));
  CHECK(find_option(server, IPPROTO_TCP, TCP_NODELAY) == 1 && find_option(client, IPPROTO_TCP, TCP_NODELAY) == 0);
  CHECK(find_option(server, IPPROTO_TCP, TCP_KEEPIDLE) == 77);
  tcp_info info{};
  socklen_t size = sizeof(info);
  CHECK(getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_LISTEN);
  CHECK(info.tcpi_sacked == 16 && info.tcpi_unacked == 0);
  CHECK(getsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_ESTABLISHED);
  const timeval limit{0, 50'000};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const auto start = std::chrono::steady_clock::now();
  std::array<char, 4> memory{};
  CHECK(read(client, memory.data(), 4) == -1 && errno == EAGAIN);
  CHECK(std::chrono::steady_clock::now() - start >= 45ms);

  sockaddr_in at = any_port();
  const owned first = tcp();
  const owned second = tcp();
  for (const int each : {first.number, second.number}) setsockopt(each, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
  CHECK(bind(first, as_system(at), sizeof(at)) == 0);
  at = address_of(first);
  CHECK(bind(second, as_system(at), sizeof(at)) == 0);
  CHECK(listen(first, 5) == 0 && listen(second, 5) == 0);
  const owned either = connected_to(at);
  pollfd both[] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  CHECK(poll(both, 2, 10'000) == 1);
}

void buffers() {
  const pair both = connected();
  make_nonblocking(both.client);
  const std::string block(10'000, 'x');
  std::size_t sent = 0;
  for (;;) {
    const ssize_t size = write(both.client, block.data(), block.size());
    if (size < 0 && to_events(both.client, POLLOUT, 100) == 0) break;
    if (size > 0) sent += static_cast<std::size_t>(size);
  }
  CHECK(sent > 10'000);
  std::thread reader([&] {
    std::string memory(100'000, '\0');
    std::size_t read_bytes = 0;
    while (read_bytes < sent + 5)
      read_bytes += static_cast<std::size_t>(read(both.server, memory.data(), memory.size()));
    CHECK(memory.find('x') != std::string::npos && read_bytes == sent + 5);
  });
  CHECK(to_events(both.client, POLLOUT, 10'000) == POLLOUT);
  CHECK(write(both.client, "12345", 5) == 5);
  reader.join();
}

/// In the kernel, the last connections take minutes.
void backlogs() {
  const owned listener = listening(1);
  sockaddr_in at = address_of(listener);
  std::vector<owned> clients;
  for (int each = 0; each < 6; ++each) {
    clients.push_back(tcp(SOCK_NONBLOCK));
    connect(clients.back(), as_system(at), sizeof(at));
  }
  std::this_thread::sleep_for(100ms);
  int count = 0;
  for (const owned& each : clients) count += to_events(each, POLLOUT) == POLLOUT ? 1 : 0;
  CHECK(count == 2);  // one more than the backlog
  std::vector<owned> servers;
  while (servers.size() < 6) servers.emplace_back(accept(listener, nullptr, nullptr));
  for (const owned& each : clients) CHECK(to_events(each, POLLOUT, 10'000) == POLLOUT);
}

void copies() {
  pair both = connected();
  owned copy(dup(both.client));
  both.client.close();
  CHECK(write(copy, "still here", 10) == 10);
  CHECK(text_of(both.server) == "still here");
  CHECK(dup2(both.server, copy) == copy);  // which closes the connection
  CHECK(wait_in(both.server) == (POLLIN | POLLRDHUP));
  const owned third(fcntl(both.server, F_DUPFD_CLOEXEC, 0));
  CHECK(text_of(third).empty());
  FILE* stream = nullptr;
  pair more = connected();
  CHECK((stream = fdopen(dup(more.client), "w")) != nullptr);
  std::fputs("by a stream", stream);
  std::fclose(stream);
  CHECK(text_of(more.server) == "by a stream");
}

// --- UDP, names, local sockets ---

auto udp() -> owned {
  owned made(socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in at = any_port();
  bind(made, as_system(at), sizeof(at));
  return made;
}

void datagrams() {
  owned one = udp();
  const owned two = udp();
  const owned third = udp();
  sockaddr_in to = address_of(two);
  CHECK(sendto(one, "first", 5, 0, as_system(to), sizeof(to)) == 5);
  CHECK(sendto(one, "", 0, 0, as_system(to), sizeof(to)) == 0);
  CHECK(sendto(one, "second", 6, 0, as_system(to), sizeof(to)) == 6);
  std::array<char, 3> few{};
  sockaddr_in from{};
  iovec part{few.data(), few.size()};
  msghdr whole{};
  whole.msg_name = &from;
  whole.msg_namelen = sizeof(from);
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  CHECK(recvmsg(two, &whole, 0) == 3 && (whole.msg_flags & MSG_TRUNC) != 0);
  CHECK(from.sin_port == address_of(one).sin_port && whole.msg_namelen == sizeof(from));
  CHECK(recv(two, few.data(), 3, 0) == 0);
  CHECK(recv(two, few.data(), 3, MSG_TRUNC) == 6);
  CHECK(send(two, "x", 1, 0) == -1 && errno == EDESTADDRREQ);
  to = address_of(one);
  CHECK(connect(two, as_system(to), sizeof(to)) == 0);
  sockaddr_in connected_at = address_of(two);
  CHECK(sendto(third, "stranger", 8, 0, as_system(connected_at), sizeof(connected_at)) == 8);
  CHECK(sendto(one, "friend", 6, 0, as_system(connected_at), sizeof(connected_at)) == 6);
  CHECK(text_of(two) == "friend");
  one.close();
  CHECK(send(two, "anybody?", 8, 0) == 8);
  CHECK((to_events(two, POLLIN, 10'000) & POLLERR) != 0);
  CHECK(recv(two, few.data(), 3, 0) == -1 && errno == ECONNREFUSED);
  const std::string large(70'000, 'x');
  CHECK(send(two, large.data(), large.size(), 0) == -1 && errno == EMSGSIZE);
}

void names() {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  CHECK(getaddrinfo("localhost", "80", &wanted, &found) == 0 && found != nullptr);
  const auto* at = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  CHECK(at->sin_addr.s_addr == htonl(INADDR_LOOPBACK) && at->sin_port == htons(80));
  freeaddrinfo(found);
  CHECK(getaddrinfo("127.0.0.7", nullptr, &wanted, &found) == 0);
  freeaddrinfo(found);
}

/// Runs if the command line defines the name, with --name far.example=10.0.0.5.
void named() {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  check(getaddrinfo("other.example", nullptr, &wanted, &found) == EAI_NONAME, "an unknown name is not found");
  const int status = getaddrinfo("far.example", "7070", &wanted, &found);
  check(status == 0, "a name of the table is found");
  if (status != 0) return;
  const owned listener = tcp();
  check(bind(listener, found->ai_addr, found->ai_addrlen) == 0 && listen(listener, 5) == 0, "its address belongs here");
  const owned client = tcp();
  check(connect(client, found->ai_addr, found->ai_addrlen) == 0, "it can be reached");
  freeaddrinfo(found);
  const owned lost = tcp();
  sockaddr_in at = any_port();
  at.sin_port = htons(80);
  at.sin_addr.s_addr = inet_addr("192.0.2.1");
  check(connect(lost, as_system(at), sizeof(at)) == -1 && errno == ETIMEDOUT, "no other machine answers");
}

void local_sockets() {
  std::array<int, 2> ends{};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  std::thread writer([&] { CHECK(write(ends[1], "from a thread", 13) == 13); });
  CHECK(text_of(ends[0]) == "from a thread");
  writer.join();
  const owned listener(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;  // without a name, the kernel chooses one
  CHECK(bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof(sa_family_t)) == 0 && listen(listener, 5) == 0);
  socklen_t size = sizeof(at);
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  const owned client(socket(AF_UNIX, SOCK_STREAM, 0));
  CHECK(connect(client, reinterpret_cast<sockaddr*>(&at), size) == 0);
  const owned server(accept(listener, nullptr, nullptr));
  CHECK(write(server, "local", 5) == 5 && text_of(client) == "local");
  for (const int each : ends) close(each);
}

/// Passes a socket through a socket, which a simulation refuses.
void passed() {
  std::array<int, 2> ends{};
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
  const owned given = tcp();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char byte = 'x';
  iovec part{&byte, 1};
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  whole.msg_control = control.data();
  whole.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&whole);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &given.number, sizeof(int));
  sendmsg(ends[0], &whole, 0);
}

const std::map<std::string_view, void (*)()> parts = {
    {"streams", &streams}, {"ends", &ends},          {"resets", &resets}, {"connecting", &connecting},
    {"options", &options}, {"buffers", &buffers},    {"copies", &copies}, {"datagrams", &datagrams},
    {"names", &names},     {"local", &local_sockets}};
const std::map<std::string_view, void (*)()> parts_by_name = {
    {"named", &named}, {"passed", &passed}, {"backlogs", &backlogs}};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, parts, parts_by_name); }
