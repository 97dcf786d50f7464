// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/device_way.hpp: chooses the CPU or a GPU for a file, and determines what limits the work on a GPU.
#pragma once

#include <cstdint>
#include <string>

#include "commands.hpp"
#include "io/column.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {

/// Parses --device-memory; returns 0 if it is empty. Throws invalid_argument for text that is not a size.
std::int64_t parse_device_memory(const std::string& text);

/// The bytes of a column in the type that it is computed in; 0 if its length is not known.
std::int64_t bytes_of(const io::ColumnInfo& info);

/// The measured use of a GPU.
struct DeviceWay {
  gpu::ChunkedUse use;
  gpu::LinkRates link;
  double seconds = 0;  ///< including reading and writing files

  DeviceWay& operator+=(const DeviceWay& more);
};
/// Names the limit: "the link: 54.1 GB/s to the device, of 55.2 GB/s", "host memory: …", "files: …", "kernels: …".
std::string limit_text(const DeviceWay& way);
Json limit_json(const DeviceWay& way);

/// Where a command runs, and the reason if there was a choice.
struct DeviceChoice {
  bool on_gpu = false;
  std::string why = {};
};
/// Chooses the device for --device auto, for this number of bytes in files, if the output is small. The CPU reads them
/// from its memory. To a GPU they are copied through the same memory and over the link. The faster device is chosen.
/// Less than a gigabyte is processed on the CPU. (Large outputs are also written on the CPU: with a GPU the data passes
/// host memory six times, on the CPU twice.)
DeviceChoice choose_device(const Common& common, std::int64_t bytes);
/// Chooses the device as choose_device() does, for known rates.
DeviceChoice choose_by_rates(const MemoryRates& host, const gpu::LinkRates& link);
/// Returns the options with the chosen device. Reports the reason on a terminal.
Common with_device(const Common& common, std::int64_t bytes);

}  // namespace upsweep::command
