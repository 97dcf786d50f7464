// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/device_way.hpp: whether a file goes by way of a GPU, how much of its memory it takes there, and what that waits for.
#pragma once

#include <cstdint>
#include <string>

#include "commands.hpp"
#include "io/column.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {

/// --device-memory: 0 where it is empty. Throws invalid_argument for what is no size.
std::int64_t parse_device_memory(const std::string& text);

/// Of a column as it is computed with; 0 where its length is not known.
std::int64_t bytes_of(const io::ColumnInfo& info);

/// What work by way of a GPU has taken.
struct DeviceWay {
  gpu::ChunkedUse use;
  gpu::LinkRates link;
  double seconds = 0;  ///< with reading and writing files

  DeviceWay& operator+=(const DeviceWay& more);
};
/// What it ran at: "the link: 54.1 GB/s to the device, of 55.2 GB/s", "the host's memory: …", "files: …", "kernels: …".
std::string limit_text(const DeviceWay& way);
Json limit_json(const DeviceWay& way);

/// Where a command runs, and why if there was something to choose.
struct DeviceChoice {
  bool on_gpu = false;
  std::string why = {};
};
/// What --device auto does with that many bytes of files, of which little comes back: the faster one of the CPU, which reads its
/// memory, and a GPU, to which they are copied by the same memory and over the link. Fewer than a gigabyte are the CPU's. (So is what
/// is written, too: by way of a GPU it goes through the host's memory six times, on the CPU twice.)
DeviceChoice choose_device(const Common& common, std::int64_t bytes);
/// The same of rates that are known.
DeviceChoice choose_by_rates(const MemoryRates& host, const gpu::LinkRates& link);
/// The options with the device that is chosen; why is reported on a terminal.
Common with_device(const Common& common, std::int64_t bytes);

}  // namespace upsweep::command
