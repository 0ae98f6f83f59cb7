// sim/network.hpp: declares the simulated network: addresses, packets, faults, and TCP and UDP sockets.
#pragma once

#include <sim/descriptors.hpp>

#include <array>
#include <cstdint>
#include <string_view>

#include <netinet/in.h>

namespace sim {

/// An IP address with a port. An IPv4 address is stored as an IPv4-mapped IPv6 address.
struct address {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;

  [[nodiscard]] auto is_v4() const -> bool;
  [[nodiscard]] auto is_any() const -> bool;
  /// Returns whether the address belongs to the simulated machine.
  [[nodiscard]] auto is_local() const -> bool;
  friend auto operator==(const address&, const address&) -> bool = default;
};

/// Parses an address for a socket of this family. Returns 0, or the number of an error.
auto read_address(const sockaddr* from, socklen_t length, int family, address& read) -> int;
void write_address(const address& from, int family, sockaddr* to, socklen_t* length);
auto any_address(int family) -> address;
auto loopback(bool is_v4) -> address;
/// Returns the address from which this process sends to another address: the loopback address, or the machine's
/// address.
auto own_address(const address& target) -> address;

/// A socket option that the program has set. Sockets that a listener accepts inherit it.
struct option {
  int level;
  int name;
  bytes value;
};

/// The common base of simulated TCP and UDP sockets.
class internet_socket : public object {
 public:
  explicit internet_socket(int family) : family_(family), local_(any_address(family)) {}

  auto bind(const address& wanted) -> int;
  virtual auto connect(int descriptor, const sockaddr* to, socklen_t length) -> int = 0;
  virtual auto shutdown(int how) -> int = 0;
  [[nodiscard]] virtual auto has_peer() const -> bool = 0;
  [[nodiscard]] virtual auto is_tcp() const -> bool = 0;
  [[nodiscard]] virtual auto is_listening() const -> bool { return false; }
  void set_option(option wanted);
  auto take_error() -> int { return std::exchange(error_, 0); }
  void close() override;

  [[nodiscard]] auto family() const -> int { return family_; }
  [[nodiscard]] auto local() const -> const address& { return local_; }
  [[nodiscard]] auto remote() const -> const address& { return remote_; }
  [[nodiscard]] auto options() const -> const list<option>& { return options_; }
  [[nodiscard]] auto overlaps(const address& other) const -> bool;
  [[nodiscard]] auto receives(const address& to) const -> bool;
  [[nodiscard]] auto has_set(int level, int name) const -> bool;

 protected:
  void bind_if_free();
  [[nodiscard]] auto timeout(int name) const -> nanoseconds;
  [[nodiscard]] auto buffer(int name, std::size_t usual) const -> std::size_t;
  [[nodiscard]] auto conflicts(const address& wanted, bool listens) const -> bool;

  int family_;
  address local_;
  address remote_;
  int error_ = 0;
  bool is_bound_ = false;
  list<option> options_;
};

/// The kinds of events that can arrive at a socket.
enum class arrival : std::uint8_t {
  knock,
  connected,
  acknowledged,
  refused,
  given_up,
  data,
  end,
  reset,
  datagram,
  unreachable,
  time
};

class tcp_socket final : public internet_socket {
 public:
  using internet_socket::internet_socket;

  [[nodiscard]] auto ready() const -> std::uint32_t override;
  auto receive(int descriptor, message& wanted) -> ssize_t override;
  auto send(int descriptor, const message& given) -> ssize_t override;
  [[nodiscard]] auto unread() const -> int override { return static_cast<int>(input_.size() - read_); }
  void close() override;
  auto connect(int descriptor, const sockaddr* to, socklen_t length) -> int override;
  auto shutdown(int how) -> int override;
  [[nodiscard]] auto has_peer() const -> bool override { return state_ == state::connected; }
  [[nodiscard]] auto is_tcp() const -> bool override { return true; }
  [[nodiscard]] auto is_listening() const -> bool override { return state_ == state::listening; }
  /// Returns the number of connections that the program has not accepted yet.
  [[nodiscard]] auto waiting() const -> std::size_t { return accepted_.size(); }
  [[nodiscard]] auto backlog() const -> std::size_t { return backlog_; }
  /// Returns the state of the connection, as TCP_INFO reports it.
  [[nodiscard]] auto system_state() const -> int;
  /// Returns the number of bytes that the other side has not read.
  [[nodiscard]] auto unsent() const -> std::size_t { return peer_ == nullptr ? unread_by_machine_ : peer_->pending_; }

  auto listen(int backlog) -> int;
  /// Waits until a connection can be accepted. Returns false and sets errno if the wait fails.
  auto wait_for_client(int descriptor) -> bool;
  auto accept() -> std::shared_ptr<tcp_socket>;

  // The functions below handle packets that arrive at this socket.
  void knock();  ///< the first packet of this socket reaches the other side
  void give_up();
  void become_connected();
  /// Lets the listener accept the connection, because the client has received the answer to its request.
  void become_established();
  void refuse(int error);
  void arrive(bytes data);
  void end_input();
  void reset();

  // The functions below handle packets from other machines of the world.
  [[nodiscard]] auto is_full() const -> bool { return accepted_.size() + half_open_.size() > backlog_; }
  /// Makes the server's side of a connection. The program can accept the connection when it is established.
  auto welcome(const address& source, const address& target, std::uint64_t connection) -> tcp_socket*;
  void open_window(std::uint64_t count);
  void time_out();
  void expire() override;

 private:
  enum class state : std::uint8_t { fresh, listening, connecting, connected, failed, ended };

  [[nodiscard]] auto self_pointer() -> std::shared_ptr<tcp_socket> {
    return std::static_pointer_cast<tcp_socket>(shared_from_this());
  }
  [[nodiscard]] auto capacity() const -> std::size_t;
  [[nodiscard]] auto room() const -> std::size_t;
  [[nodiscard]] auto is_writable() const -> bool { return 3 * room() >= capacity(); }
  auto wait_until_connected(int descriptor) -> int;
  [[nodiscard]] auto connect_outcome() -> int;
  void end_both_ways(int error);
  [[nodiscard]] auto make_other_side(const address& source, const address& target) -> std::shared_ptr<tcp_socket>;
  [[nodiscard]] auto has_other_side() const -> bool { return peer_ != nullptr || connection_ != 0; }
  void knock_at_machine();
  void answer_request();
  void drop_half_open();
  void forget_connection();
  void refuse_waiting();
  auto arrival_time() -> nanoseconds;
  [[nodiscard]] auto server_port() const -> std::uint16_t { return is_client_ ? remote_.port : local_.port; }
  void send_bytes(bytes data);
  void send_end() { transmit(arrival::end); }
  void send_reset() { transmit(arrival::reset); }
  /// Sends a packet to the other side, which is in this process or on another machine.
  void transmit(arrival kind, bytes data = {});
  void take_input(std::size_t count);

  state state_ = state::fresh;
  bool is_client_ = false;
  bool has_ended_ = false;  // the other side sends no more
  bool is_read_shut_ = false;
  bool is_write_shut_ = false;
  bool was_full_ = false;  // a send found no room since the last event of room
  bool is_closed_ = false;
  bool is_outcome_known_ = true;  // the outcome of connect is known
  int attempts_ = 0;
  std::shared_ptr<tcp_socket> peer_;  // until one of them is closed, and what it sent has arrived
  std::uint64_t connection_ = 0;      // the number of a connection to another machine
  std::size_t unread_by_machine_ = 0;
  std::size_t read_since_window_ = 0;
  bytes input_;
  std::size_t read_ = 0;     // bytes of input_ that the program has read
  std::size_t pending_ = 0;  // bytes sent to this socket that the program has not read
  nanoseconds last_arrival_ = 0;
  std::size_t backlog_ = 0;
  queue<std::shared_ptr<tcp_socket>> accepted_;
  list<std::shared_ptr<tcp_socket>> half_open_;  // connections whose clients have not acknowledged the answer
  tcp_socket* listener_ = nullptr;               // of a half-open connection
};

class udp_socket final : public internet_socket {
 public:
  using internet_socket::internet_socket;

  [[nodiscard]] auto ready() const -> std::uint32_t override;
  auto receive(int descriptor, message& wanted) -> ssize_t override;
  auto send(int descriptor, const message& given) -> ssize_t override;
  [[nodiscard]] auto unread() const -> int override;
  auto connect(int descriptor, const sockaddr* to, socklen_t length) -> int override;
  auto shutdown(int how) -> int override;
  [[nodiscard]] auto has_peer() const -> bool override { return has_peer_; }
  [[nodiscard]] auto is_tcp() const -> bool override { return false; }

  void arrive(const address& from, bytes data);
  void refuse(int error);

 private:
  struct datagram {
    address from;
    bytes data;
  };
  queue<datagram> input_;
  std::size_t size_ = 0;
  nanoseconds last_arrival_ = 0;
  bool has_peer_ = false;
  bool is_read_shut_ = false;
};

// --- packets and other events ---

struct event {
  nanoseconds at = 0;
  arrival what = arrival::time;
  std::shared_ptr<object> to = nullptr;
  bytes data = {};
  address source = {};
  address target = {};
  std::uint64_t number = 0;
};

void add_event(event added);
/// Delivers all packets and events that are due.
void run_events();
/// Returns the time of the next event, or `never`.
auto next_event() -> nanoseconds;

/// Returns a random travel time for a packet.
auto latency() -> nanoseconds;
/// Returns a random number below `bound`, for decisions about the network.
auto network_chance(std::uint64_t bound) -> std::uint64_t;
/// Decides whether a fault of this kind happens now, and counts it if so.
auto happens(fault kind) -> bool;
/// Returns until when a network partition drops packets from clients to a server's port, or from that port to clients.
/// Returns 0 if no partition drops them. May start a new partition.
auto cut_until(std::uint16_t port, bool to_server) -> nanoseconds;

/// A host name that the command line defines, with its address.
struct host_name {
  std::string_view name;
  std::string_view text;  ///< the text of the address
  address where;
};
auto host_names() -> const list<host_name>&;

/// Returns all sockets that are bound to an address.
auto bound_sockets() -> list<internet_socket*>&;
/// Returns the socket that receives a packet, or null. If several sockets match, the seed chooses one.
auto find_receiver(const address& to, const address& from, bool is_tcp) -> internet_socket*;

}  // namespace sim
