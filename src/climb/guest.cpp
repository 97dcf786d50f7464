// SPDX-License-Identifier: Apache-2.0
// climb/guest.cpp: loads a shared library with a custom rung, and reports what is wrong with any other file.
#include "climb/guest.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "climb/device_trials.hpp"
#include "climb/problems.hpp"
#include "system/child.hpp"
#include "system/float_mode.hpp"

namespace upsweep {
namespace {

constexpr GuestArray kScan[] = {{"in"}, {"out"}};
constexpr GuestArray kReduce[] = {{"in"}, {"sum"}};
constexpr GuestArray kOffsets[] = {{"starts"}, {"stops"}, {"offsets", 8}};
constexpr GuestArray kSegmentedReduce[] = {{"content"}, {"offsets", 8}, {"sums"}};
constexpr GuestArray kFilteredSum[] = {{"key", 4}, {"quantity", 8}, {"price", 8}, {"sum", 8}};
constexpr GuestArray kSubsetSum[] = {{"sums", 8}};

constexpr GuestProblem kGuestProblems[] = {
    {"scan", "upsweep_rung_scan", "upsweep_rung_cuda_scan", kScan},
    {"reduce", "upsweep_rung_reduce", "upsweep_rung_cuda_reduce", kReduce},
    {"offsets", "upsweep_rung_offsets", "upsweep_rung_cuda_offsets", kOffsets},
    {"segmented-reduce", "upsweep_rung_segmented_reduce", "upsweep_rung_cuda_segmented_reduce", kSegmentedReduce},
    {"filtered-sum", "upsweep_rung_filtered_sum", nullptr, kFilteredSum},
    {"subset-sum", "upsweep_rung_subset_sum", nullptr, kSubsetSum}};

[[noreturn]] void refuse(const std::string& message) { throw Error(Code::invalid_argument, "--with: " + message); }

void append(std::string& list, std::string_view one) { list.append(list.empty() ? "" : ", ").append(one); }

const char* function_of(const GuestProblem& problem, Backend backend) {
  return backend == Backend::cuda ? problem.on_gpu : problem.on_cpu;
}

std::string place_text(Backend backend) { return backend == Backend::cuda ? "a GPU" : "the CPU"; }

const GuestProblem& guest_problem(std::string_view name, Backend backend) {
  std::string those;
  for (const GuestProblem& one : kGuestProblems) {
    if (function_of(one, backend) == nullptr) continue;
    if (one.problem == name) return one;
    append(those, one.problem);
  }
  refuse("the " + std::string(name) + " ladder does not support custom rungs" +
         (backend == Backend::cuda ? " on a GPU" : "") + "; these do: " + those);
}

/// A function of the library, or null.
template <class Function>
Function* find_function(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
auto* find_version(void* library) {
  return find_function<decltype(upsweep_rung_version)>(library, "upsweep_rung_version");
}
auto* find_name(void* library) { return find_function<decltype(upsweep_rung_name)>(library, "upsweep_rung_name"); }

/// Opens the whole path: names without a slash are searched for elsewhere.
void* open(const std::string& path) { return dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL); }

/// First loads the library in a separate process, as its code may run at once: a constructor, or a variable called as
/// a function.
void require_loadable(const std::string& path) {
  constexpr int kMostSeconds = 20;
  constexpr std::string_view kLoaded = "loaded";
  const auto [said, how] = run_in_child(
      [&](int out) {
        void* const library = open(path);
        if (library != nullptr && find_version(library) != nullptr) (void)find_version(library)();
        if (library != nullptr && find_name(library) != nullptr) (void)find_name(library)();
        (void)!write(out, kLoaded.data(), kLoaded.size());
      },
      kMostSeconds);
  if (said != kLoaded) refuse(path + " " + how + " while it is loaded and asked for its version and name");
}

void* load_library(const std::string& path) {
  if (!std::filesystem::exists(path)) refuse("there is no file " + path);
  require_loadable(path);
  void* const library = open(path);
  if (library != nullptr) return library;
  const std::string reason = dlerror();
  // The end of dlopen()'s message about a file that exists.
  const bool is_other =
      reason.starts_with(std::filesystem::absolute(path).string()) && reason.ends_with("such file or directory");
  refuse("not a shared library that can be loaded: " +
         (is_other ? path + " is truncated, or made for another processor" : reason));
}

void require_version(void* library, const std::string& path) {
  auto* const version = find_version(library);
  if (version == nullptr) refuse(path + " has no upsweep_rung_version(): see upsweep/rung.h");
  const int theirs = version();
  if (theirs == UPSWEEP_RUNG_VERSION) return;
  refuse(path + " is for version " + std::to_string(theirs) + " of upsweep/rung.h, this is version " +
         std::to_string(UPSWEEP_RUNG_VERSION) + ": compile it again");
}

/// The names of the problems that the library has a rung of.
std::string problems_on(void* library, Backend backend) {
  std::string names;
  for (const GuestProblem& one : kGuestProblems) {
    const char* const function = function_of(one, backend);
    if (function != nullptr && dlsym(library, function) != nullptr) append(names, one.problem);
  }
  return names;
}

void* require_rung(void* library, const std::string& path, const GuestProblem& wanted, Backend backend) {
  const char* const function = function_of(wanted, backend);
  if (void* const found = dlsym(library, function)) return found;
  const Backend elsewhere = backend == Backend::cuda ? Backend::cpu : Backend::cuda;
  const char* const other = function_of(wanted, elsewhere);
  if (other != nullptr && dlsym(library, other) != nullptr) {
    refuse(path + " has a rung of " + std::string(wanted.problem) + " for " + place_text(elsewhere) + ", none for " +
           place_text(backend) + " (" + function + "): " + (backend == Backend::cuda ? "omit" : "add") +
           " --device cuda");
  }
  std::string has;
  for (const Backend one : {backend, elsewhere}) {
    const std::string names = problems_on(library, one);
    if (!names.empty()) append(has, "a rung of " + names + (one == Backend::cuda ? " for a GPU" : ""));
  }
  has = has.empty() ? "no rung" : has + ", none of " + std::string(wanted.problem);
  refuse(path + " has " + has + ": there is no function " + function);
}

/// "guest.NAME", as the library says, otherwise its file name.
std::string id_of(void* library, const std::string& path) {
  constexpr std::size_t kLongest = 16;  // fits the table's column
  auto* const says = find_name(library);
  const char* const said = says == nullptr ? nullptr : says();
  std::string name = said == nullptr ? "" : said;
  if (name.empty()) {
    name = std::filesystem::path(path).stem().string();
    if (name.starts_with("lib") && name.size() > 3) name.erase(0, 3);
  }
  name.resize(std::min(name.size(), kLongest));
  for (char& one : name) {
    if (std::isalnum(static_cast<unsigned char>(one)) == 0) one = '_';
  }
  return "guest." + name;
}

}  // namespace

Guest::Guest(std::string id, Backend backend, void* function, LastError last_error, const GuestProblem& problem)
    : id_(std::move(id)),
      backend_(backend),
      function_(function),
      last_error_(last_error),
      problem_(problem),
      info_{.id = id_,
            .idea = "a custom rung",
            .needs = backend == Backend::cuda ? "any GPU" : "any CPU",
            .traffic = "",
            .cost = "",
            .limit = "",
            .determinism = Determinism::no} {}  // it may add floats in any order: the serial bound holds for all orders

const Guest& Guest::load(const std::string& path, std::string_view problem, Backend backend) {
  const GuestProblem& wanted = guest_problem(problem, backend);
  const KeptFloatMode kept;  // -ffast-math has a constructor that changes it
  void* const library = load_library(path);
  require_version(library, path);
  void* const function = require_rung(library, path, wanted, backend);
  auto* const last_error = find_function<decltype(upsweep_rung_cuda_error)>(library, "upsweep_rung_cuda_error");
  return *new Guest(id_of(library, path), backend, function, backend == Backend::cuda ? last_error : nullptr, wanted);
}

void Guest::refuse_exception(std::string_view what) {
  throw Error(Code::invalid_argument,
              "throws an exception" + std::string(what.empty() ? "" : ": ") + std::string(what));
}

void Guest::require_success(int returned) const {
  const int left = last_error_ == nullptr ? 0 : last_error_();
  if (returned == UPSWEEP_RUNG_SKIPS) throw Error(Code::unsupported, "does not support this type");
  if (returned != 0) {
    const std::string text = backend_ == Backend::cuda ? gpu::runtime_error_text(returned) : "";
    throw Error(Code::invalid_argument,
                "returns error " + std::to_string(returned) + (text.empty() ? "" : " (" + text + ")"));
  }
  if (left != 0) throw Error(Code::invalid_argument, "returns 0 after a CUDA error: " + gpu::runtime_error_text(left));
}

}  // namespace upsweep
