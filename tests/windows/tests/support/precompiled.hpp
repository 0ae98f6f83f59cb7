// tests/windows/tests/support/precompiled.hpp: what nearly every test includes, compiled once for all of them.
#pragma once

#include <doctest/doctest.h>

#include <braid/coro.hpp>
#include <braid/graph.hpp>
#include <braid/http.hpp>
#include <braid/io.hpp>
#include <braid/redis.hpp>
#include <braid/slab.hpp>
#include <braid/task.hpp>
#include <braid/threads.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>
