// sim/wire.hpp: declares the messages between a machine of a world and the coordinator.
#pragma once

#include <array>
#include <cstdint>

namespace sim {

/// The kinds of messages. A machine sends `pause` when it returns the token, and the coordinator sends `go` when it
/// grants the token. The kinds from `knock` to `unreachable` are packets, which the coordinator passes on. The kinds
/// from `disk_write` on are about the disk of the machine, and do not end the machine's turn.
enum class word : std::uint32_t {
  pause,
  go,
  knock,         ///< a client requests a connection
  connected,     ///< the server's system answers the request
  acknowledged,  ///< the client has received this answer, so the connection exists on both sides
  refused,       ///< no process listens
  data,          ///< bytes of a connection
  end,           ///< the sender sends no more
  reset,         ///< the connection does not exist any more
  timed_out,     ///< the other side has not answered for too long
  window,        ///< `count` bytes of a connection have been read
  datagram,      ///< bytes of UDP
  unreachable,   ///< nobody receives the datagrams that `target` has sent to `source`
  disk_write,    ///< bytes of a file were written: a disk_change, the bytes before, the bytes after
  disk_resize,   ///< the size of a file was set: a disk_change, and the bytes that were cut off
  disk_add,      ///< a name was added to a folder: a disk_change, the name
  disk_remove,   ///< a name was removed from a folder: a disk_change, the name, the target of a symbolic link
  disk_move,     ///< a file was renamed: a disk_change, the old name, the new name
  disk_sync,     ///< a file or folder is durable: a disk_change
  disk_rule,     ///< from the coordinator: a fault of the disk begins: a disk_change, a pattern of paths
  count
};

inline constexpr std::array word_names = {"pause",    "go",          "knock",       "connected",  "acknowledged",
                                          "refused",  "data",        "end",         "reset",      "timed out",
                                          "window",   "datagram",    "unreachable", "disk write", "disk resize",
                                          "disk add", "disk remove", "disk move",   "disk sync",  "disk rule"};
static_assert(word_names.size() == static_cast<std::size_t>(word::count));

constexpr auto name(word shown) -> const char* { return word_names[static_cast<std::size_t>(shown)]; }

/// The 16 bytes of an IP address in a message. An IPv4 address is stored as an IPv4-mapped IPv6 address.
struct wire_address {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  friend auto operator==(const wire_address&, const wire_address&) -> bool = default;
};

/// The head of a message. `size` bytes follow the head. Times are nanoseconds of the world's clock.
struct wire_message {
  word what = word::pause;
  std::uint32_t size = 0;
  std::uint64_t connection = 0;  ///< the number of a TCP connection
  wire_address source{};
  wire_address target{};
  std::int64_t time = 0;
  std::int64_t limit = 0;   ///< pause: the time of the machine's next work; go: the time to return the token
  std::uint64_t count = 0;  ///< pause: the number of runnable threads; go: of following messages; window: of bytes
  std::uint64_t turns = 0;  ///< go: the number of choices after which the machine returns the token
};

/// The ways in which a disk can fail for the paths that match a pattern.
enum class disk_fault : std::uint32_t { none, full, error, slow };

/// The beginning of the data of a message about a disk. Descriptors of the changed file or of the changed folders are
/// sent with the message.
struct disk_change {
  std::uint64_t offset = 0;    ///< of written bytes
  std::uint64_t length = 0;    ///< of the bytes before that the message contains, or of the first name
  std::uint64_t old_size = 0;  ///< of the file
  std::uint64_t new_size = 0;
  std::uint32_t mode = 0;        ///< the kind and permissions of a removed or replaced file; 0: there is none
  std::uint32_t flags = 0;       ///< of renameat2
  std::uint32_t is_durable = 0;  ///< 1 if the descriptor has O_SYNC or O_DSYNC
  disk_fault fault = disk_fault::none;
  std::uint64_t device = 0;   ///< disk_sync: of the file or folder; 0: all files are durable
  std::uint64_t inode = 0;    ///< disk_sync: of the file or folder
  std::uint64_t changes = 0;  ///< disk_sync: the first changes of this process are durable
  std::int64_t delay_ns = 0;  ///< disk_rule: how long a slow sync takes
};

/// The descriptor of a machine's connection to the coordinator, which the program cannot close.
inline constexpr int world_descriptor = 1000;

/// The time at which a world begins. This time is larger than the real time since the computer was started, which /proc
/// shows.
inline constexpr std::int64_t start_time = 100'000'000'000'000'000;

/// Converts a time of a machine to the time of the world. The clock of a machine drifts by `drift_ppm` millionths.
/// Returns the earliest time of the world at which the clock shows `local`.
constexpr auto to_world(std::int64_t local, std::int32_t drift_ppm) -> std::int64_t {
  __extension__ using wide = __int128;
  if (drift_ppm == 0 || local == INT64_MAX) return local;
  const wide rate = 1'000'000 + drift_ppm;
  const wide elapsed = (static_cast<wide>(local - start_time) * 1'000'000 + rate - 1) / rate;
  return start_time + static_cast<std::int64_t>(elapsed);
}

/// Returns the time that the clock of a machine shows at a time of the world.
constexpr auto to_local(std::int64_t world, std::int32_t drift_ppm) -> std::int64_t {
  __extension__ using wide = __int128;
  if (drift_ppm == 0 || world == INT64_MAX) return world;
  return start_time +
         static_cast<std::int64_t>(static_cast<wide>(world - start_time) * (1'000'000 + drift_ppm) / 1'000'000);
}

}  // namespace sim
