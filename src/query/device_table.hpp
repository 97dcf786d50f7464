// SPDX-License-Identifier: Apache-2.0
// query/device_table.hpp: the chunks of a device table, which are its parts.
#pragma once

#include "query/device_chunk.hpp"
#include "upsweep/device_table.hpp"
