// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/commands.hpp: the commands, their common options, and the options of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "upsweep/io.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::command {

/// The options of every command: --device, --rung, --threads, --json, --quiet.
struct Common {
  std::string device = "auto";
  std::string rung;
  int threads = 0;
  bool json = false;
  bool quiet = false;
  std::string command_line;  ///< the whole command line; ranks compare it
  io::CsvOptions csv;        ///< how CSV files are written

  /// Throws not_built or no_device if the device is not available.
  [[nodiscard]] Policy policy() const;
  /// Whether a terminal shows what was understood of files. JSON has it in any case.
  [[nodiscard]] bool shows_remarks() const { return !quiet && !json; }
  /// Files are processed on the CPU, unless the GPU or one of its rungs is requested.
  [[nodiscard]] bool on_gpu() const { return device == "cuda" || (device == "auto" && rung.starts_with("cuda.")); }
};

struct ScanOptions {
  std::string input;
  std::vector<std::string> files;  ///< from --mpi, instead of the input
  std::string op = "add";
  bool exclusive = false;
  std::optional<std::string> init;
  std::string dtype;
  std::string overflow;
  std::string nulls = "refuse";
  std::string device_memory;  ///< "": the default
  std::optional<std::string> output;
  std::string format;     ///< of standard output; "": text
  bool one_file = false;  ///< with --mpi
  std::optional<int> axis;
};

struct ReduceOptions {
  std::string input;
  std::vector<std::string> files;  ///< from --mpi, instead of the input
  std::string op = "add";
  std::string dtype;
  std::string nulls = "refuse";
  std::string device_memory;  ///< "": the default
  std::optional<int> axis;
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": text
};

struct OffsetsOptions {
  std::string starts;
  std::string stops;
  std::int64_t starts_offset = 0;
  std::int64_t stops_offset = 0;
  std::int64_t length = -1;
  bool strict = false;
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": text
};

struct SegmentOptions {
  std::string content;
  std::optional<std::string> offsets;
  std::string op = "add";
  std::optional<std::string> by;
  bool exclusive = false;
  bool descending = false;
  bool nan_first = false;
  std::optional<std::string> init;
  std::string dtype;
  std::string overflow;
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": text
};

struct SelectOptions {
  std::vector<std::string> contents;
  std::string mask;
  std::optional<std::string> offsets;
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": text
};

struct PackOptions {
  std::vector<std::string> inputs;
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": text
};

struct QueryOptions {
  std::string sql;
  std::vector<std::string> tables;  ///< NAME=PATH
  std::vector<std::string> files;   ///< from --mpi: the table
  std::string memory;               ///< "": the default, a share of free memory
  std::string spill_folder;         ///< "": the folder of temporary files
  std::string device_memory;        ///< "": the default
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": a table
};

struct SchemaOptions {
  std::vector<std::string> files;
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": text
};

struct SubsetSumOptions {
  std::string input;
  std::string target;
  bool decide = false;
  bool closest = false;
  std::optional<std::string> tolerance;
  std::int64_t all = 0;  ///< number of solutions to list; 0: not requested
  std::optional<std::string> id;
  bool no_early_stop = false;
  bool explain = false;
  std::optional<std::string> output;
  std::string format;  ///< of standard output; "": text
};

struct LadderOptions {
  std::string problem;
  std::string sizes;
  std::string types;
  std::vector<std::string> input;
  std::optional<std::string> guest;
  std::string threads = "0";
  double max_seconds = 5;
  std::map<std::string, std::string> settings;  ///< options of single problems, by name
};

struct BenchOptions {
  std::vector<std::string> problems;
  std::optional<std::string> output;
  std::vector<std::string> compare;  ///< two files of results; if given, nothing is measured
  bool quick = false;
  std::string sizes;
  std::string threads;
  double max_seconds = 5;
};

/// The values of --op of `segment`: "add, mul, …, argsort".
std::string segment_names();

// Each runs one command and returns its exit status; failures are thrown as upsweep::Error.
int run_scan(const Common& common, const ScanOptions& options);
int run_reduce(const Common& common, const ReduceOptions& options);
int run_offsets(const Common& common, const OffsetsOptions& options);
int run_segment(const Common& common, const SegmentOptions& options);
int run_select(const Common& common, const SelectOptions& options);
int run_pack(const Common& common, const PackOptions& options);
int run_query(const Common& common, const QueryOptions& options);
int run_schema(const Common& common, const SchemaOptions& options);
int run_subset_sum(const Common& common, const SubsetSumOptions& options);
int run_ladder(const Common& common, const LadderOptions& options);
int run_bench(const Common& common, const BenchOptions& options);
int run_devices(const Common& common);

}  // namespace upsweep::command
