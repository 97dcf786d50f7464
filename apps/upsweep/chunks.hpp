// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/chunks.hpp: processes a column of any length chunk by chunk, and determines where its output goes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "device_way.hpp"
#include "io/column.hpp"
#include "io/posix.hpp"
#include "io/result_writer.hpp"
#include "output.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {

/// Elements that are sent to a GPU in one call: 16 MB of the widest type, which are stored there as a whole. Scans and
/// reductions send 256 MB, which they divide into smaller chunks.
inline constexpr std::int64_t kDeviceLength = std::int64_t{1} << 21;
inline constexpr std::int64_t kDeviceLengthInChunks = std::int64_t{1} << 25;

/// The number of elements of a chunk. A short column is one chunk. On a GPU, a chunk of a longer column has `on_device`
/// elements. On the CPU it has 4 MB, which caches still hold during the computation, or more if there are threads for
/// more. The number is always a multiple of 2^18, where the blocks of every rung end, short and long. A float scan in
/// chunks therefore has the same bits as a scan of the whole column.
inline std::int64_t chunk_length(const Common& common, const io::ColumnInfo& info, std::int64_t on_device) {
  constexpr std::int64_t kPerThread = std::int64_t{1} << 18;
  constexpr std::int64_t kMost = std::int64_t{1} << 21;
  std::int64_t length = on_device;
  if (!common.on_gpu()) {
    const std::int64_t threads = common.threads > 0 ? common.threads : machine().threads;
    length = std::min(kMost, std::max((std::int64_t{4} << 20) / size_of(info.type), threads * kPerThread));
  }
  return info.count < 0 ? length : std::clamp<std::int64_t>(info.count, 1, length);
}

/// The formats of standard output, by the words of --format.
inline io::ResultFormat parse_format(const std::string& word, std::string_view text_word) {
  if (word == "csv") return io::ResultFormat::csv;
  if (word == "json") return io::ResultFormat::json;
  if (word == "npy") return io::ResultFormat::npy;
  if (word.empty() || word == text_word) return io::ResultFormat::text;
  refuse("--format '{}' is not one of {}, csv, json, npy", word, text_word);
}

/// Determines where the output goes, and returns its format. Sets options.output to "-" also for other names of
/// standard output, such as /dev/stdout, and for --format without -o. Throws invalid_argument in three cases:
///   - the name has no known format;
///   - .npy would be written to a terminal;
///   - values and the JSON of --json would both be written to standard output.
/// `text_word`: the word of --format for text. `of_devices`: the format of devices and pipes without --format.
/// `on_ranks`: mpirun gives its processes a terminal, which is not the user's.
template <class Options>
io::ResultFormat settle_output(const Common& common, Options& options, bool on_ranks = false,
                               std::string_view text_word = "text",
                               io::ResultFormat of_devices = io::ResultFormat::npy) {
  std::optional<std::string>& output = options.output;
  if (output == "") refuse("-o needs the name of a file, or - for standard output");
  const io::ResultFormat asked = parse_format(options.format, text_word);
  if (!output && !options.format.empty()) output = "-";
  if (!output) return io::ResultFormat::text;
  const auto named = io::format_of_name(*output);
  if (io::is_standard_output(*output)) output = "-";
  if (output == "-" && common.json) {
    refuse("{} and --json both write to standard output: choose one", options.format.empty() ? "-o -" : "--format");
  }
  const bool is_default = options.format.empty() && output != "-";
  const io::ResultFormat format = named ? *named : io::format_of_results(*output, is_default ? of_devices : asked);
  if (!options.format.empty() && format != asked) {
    refuse("--format {}: the name {} shows its format; leave out --format, which is for -o -", options.format, *output);
  }
  if (format == io::ResultFormat::npy && !on_ranks && is_terminal(*output)) {
    refuse("-o {} would write binary data to a terminal: name a file, such as -o OUT.npy{}", *output,
           output == "-" ? ", or redirect standard output, such as by > OUT.npy" : "");
  }
  return format;
}

/// Gives the results their names, and then reports. If a name cannot be used, only that error is reported. If the
/// report cannot be printed, the files that had the names before are restored. `writer` may be null.
template <class Writer, class Report>
void name_and_report(Writer* writer, Report report) {
  if (writer == nullptr) return report();
  writer->close();
  try {
    report();
  } catch (...) {
    writer->take_back();
    throw;
  }
}

/// "12 ms in kernels, 40 ms to the device, 41 ms back".
inline std::string times_text(const gpu::StagingTimes& times) {
  return fmt::format("{} in kernels, {} to the device, {} back", duration(times.kernel), duration(times.to_device),
                     duration(times.to_host));
}

/// The data of a summary about work on chunks.
struct Work {
  std::int64_t count = 0;
  std::int64_t nulls = 0;  ///< NULL rows that were left out
  double seconds = 0;
  std::string_view rung = "none";
  std::optional<gpu::StagingTimes> times = {};  ///< on a GPU
  std::optional<DeviceWay> way = {};            ///< of scans and reductions on a GPU

  [[nodiscard]] std::string time_text() const { return times ? times_text(*times) : duration(seconds); }
  Work& operator+=(const Work& next) {
    count += next.count;
    nulls += next.nulls;
    seconds += next.seconds;
    rung = next.rung;
    if (next.times) {
      times = times.value_or(gpu::StagingTimes{});
      times->to_device += next.times->to_device;
      times->kernel += next.times->kernel;
      times->to_host += next.times->to_host;
    }
    if (next.way) {
      way = way.value_or(DeviceWay{});
      *way += *next.way;
    }
    return *this;
  }
  void add_times(Json& json) const {
    json["seconds"] = times ? times->kernel : seconds;
    if (!times) return;
    json["to_device_s"] = times->to_device;
    json["to_host_s"] = times->to_host;
    if (way) json["limit"] = limit_json(*way);
  }
};

/// Processes chunk after chunk. `next` returns a chunk with its `count`, and with its `nulls` if it leaves them out.
/// `run` computes it and returns the rung; its
/// `device` is null on the CPU. `done` is called afterwards. `verb` and `total` are for the progress line.
/// `device_bytes` is passed to Staged.
template <class Next, class Run, class Done>
Work work_on_chunks(const Common& common, Policy policy, std::string_view verb, std::int64_t total, Next next, Run run,
                    Done done, std::int64_t device_bytes = 0) {
  std::optional<dynamic::Staged> device;
  if (common.on_gpu()) device.emplace(policy.rung, 0, device_bytes, policy.threads);
  const Stopwatch all;  // excludes the start-up time of a GPU
  Progress progress(common.quiet);
  Work work;
  for (;;) {
    const auto chunk = next();
    if constexpr (requires { chunk.nulls; }) work.nulls += chunk.nulls;
    // A column without elements still runs its rung, so that an unsuitable rung is refused.
    if (chunk.count == 0 && work.count > 0) break;
    const Stopwatch watch;
    work.rung = run(device ? &*device : nullptr, policy, chunk);
    work.seconds += watch.seconds();
    policy.rung = work.rung;  // a shorter last chunk must not change the rung
    if (chunk.count == 0) break;
    done(chunk);
    work.count += chunk.count;
    progress.count(verb, work.count + work.nulls, total);
  }
  if (!device) return work;
  work.times = device->times();
  if (device->use().to_device > 0) work.way = DeviceWay{device->use(), {}, all.seconds()};
  try {
    if (work.way) work.way->link = device->measure_link();
  } catch (const Error&) {  // the work is done: only the rates to compare it with are missing
    work.way.reset();
  }
  return work;
}

}  // namespace upsweep::command
