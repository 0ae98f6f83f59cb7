// cmake/precompiled_rankd.hpp: precompiled.hpp, and what nearly every source of rankd includes from elsewhere.
#pragma once

#include "precompiled.hpp"

#include <nlohmann/json.hpp>

#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>
