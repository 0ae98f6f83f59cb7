// sim/network.hpp: the simulated network: addresses, what travels, faults, TCP and UDP sockets.
#pragma once

#include <sim/descriptors.hpp>

#include <array>
#include <cstdint>
#include <string_view>

#include <netinet/in.h>

namespace sim {

/// An address of the internet. One of version 4 is mapped into version 6.
struct address {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;

  [[nodiscard]] auto is_v4() const -> bool;
  [[nodiscard]] auto is_any() const -> bool;
  /// Returns true if the address belongs to the simulated machine.
  [[nodiscard]] auto is_local() const -> bool;
  friend auto operator==(const address&, const address&) -> bool = default;
};

/// Reads an address for a socket of this family. Returns an error of errno, or 0.
auto read_address(const sockaddr* from, socklen_t length, int family, address& read) -> int;
void write_address(const address& from, int family, sockaddr* to, socklen_t* length);
auto any_address(int family) -> address;
auto loopback(bool is_v4) -> address;

/// An option that the program has set, for sockets that a listener accepts.
struct option {
  int level;
  int name;
  bytes value;
};

/// Parts that TCP and UDP sockets share.
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
  /// Returns the number of connections that wait for accept.
  [[nodiscard]] auto waiting() const -> std::size_t { return accepted_.size(); }
  [[nodiscard]] auto backlog() const -> std::size_t { return backlog_; }
  /// Returns the state as TCP_INFO shows it.
  [[nodiscard]] auto system_state() const -> int;
  /// Bytes that the other side has not read.
  [[nodiscard]] auto unsent() const -> std::size_t { return peer_ == nullptr ? 0 : peer_->pending_; }

  auto listen(int backlog) -> int;
  /// Waits until a connection waits for accept. Returns false with errno.
  auto wait_for_client(int descriptor) -> bool;
  auto accept() -> std::shared_ptr<tcp_socket>;

  // What the network brings
  void knock();  ///< the first packet of this socket reaches the other side
  void give_up();
  void become_connected();
  void refuse(int error);
  void arrive(bytes data);
  void end_input();
  void reset();

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
  void refuse_waiting();
  auto arrival_time() -> nanoseconds;
  [[nodiscard]] auto server_port() const -> std::uint16_t { return is_client_ ? remote_.port : local_.port; }
  void send_bytes(bytes data);
  void send_end();
  void send_reset();
  void take_input(std::size_t count);

  state state_ = state::fresh;
  bool is_client_ = false;
  bool has_ended_ = false;  // the other side sends no more
  bool is_read_shut_ = false;
  bool is_write_shut_ = false;
  bool was_full_ = false;  // a send found no room since the last event of room
  bool is_closed_ = false;
  bool is_outcome_known_ = true;  // of connect
  int attempts_ = 0;
  std::shared_ptr<tcp_socket> peer_;  // until one of them is closed, and what it sent has arrived
  bytes input_;
  std::size_t read_ = 0;     // bytes of input_ that the program has read
  std::size_t pending_ = 0;  // bytes sent to this socket that the program has not read
  nanoseconds last_arrival_ = 0;
  std::size_t backlog_ = 0;
  queue<std::shared_ptr<tcp_socket>> accepted_;
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

// --- what travels ---

enum class arrival : std::uint8_t {
  knock,
  connected,
  refused,
  given_up,
  data,
  end,
  reset,
  datagram,
  unreachable,
  time
};

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
/// Delivers what has arrived by now.
void run_events();
/// The time of the next event, or never.
auto next_event() -> nanoseconds;

/// Returns the time that a packet travels.
auto latency() -> nanoseconds;
/// A number below a bound, for faults.
auto network_chance(std::uint64_t bound) -> std::uint64_t;
/// Returns true if a fault of this kind happens here. Counts it.
auto happens(fault kind) -> bool;
/// Returns the time until which the network between a server's port and its clients is cut, or 0. A fault may cut it.
auto cut_until(std::uint16_t port, bool to_server) -> nanoseconds;

/// A line of the table of names.
struct host_name {
  std::string_view name;
  std::string_view text;  ///< of the address
  address where;
};
auto host_names() -> const list<host_name>&;

/// All sockets that have an address.
auto bound_sockets() -> list<internet_socket*>&;
/// Finds the socket that receives what `from` sends to an address; the seed chooses among several.
auto find_receiver(const address& to, const address& from, bool is_tcp) -> internet_socket*;

}  // namespace sim
