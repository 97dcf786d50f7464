// SPDX-License-Identifier: Apache-2.0
// cuda/nvrtc.cpp: NVRTC by dlopen, because only GPU queries need it, and a folder of compiled code.
#include "cuda/nvrtc.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "upsweep/error.hpp"

namespace upsweep::gpu {
namespace {

namespace fs = std::filesystem;

/// The options for all sources. No fused multiply-add: products of floats are rounded as on the CPU.
constexpr std::array kOptions = {"--std=c++17", "--device-int128", "--fmad=false", "--disable-warnings"};

/// Returns the value of an environment variable that names a folder. Returns "" if the value is not an absolute path:
/// the contents of a relative path depend on where the program is started.
std::string folder_in(const char* variable) {
  const char* const folder = std::getenv(variable);
  return folder != nullptr && fs::path(folder).is_absolute() ? folder : std::string();
}

/// Returns 12 for a driver for CUDA 12.8; nothing without a driver.
std::optional<int> driver_major() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return std::nullopt;
  const auto version_of = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  return version_of != nullptr && version_of(&version) == 0 ? std::optional(version / 1000) : std::nullopt;
}

/// The functions of nvrtc.h that are used here. The header is not needed when upsweep is built.
class Nvrtc {
 public:
  using Program = void*;

  /// Throws Error unsupported.
  static const Nvrtc& get() {
    static const Nvrtc library;
    return library;
  }

  std::string compile(const std::string& source, int major, int minor) const {
    Program program = nullptr;
    require(create_(&program, source.c_str(), "query.cu", 0, nullptr, nullptr));
    const auto destroy = [this](Program* last) { (void)destroy_(last); };
    const std::unique_ptr<Program, decltype(destroy)> destroyed(&program, destroy);
    const int device = 10 * major + minor;
    const int known = newest_up_to(device);
    // For a device that is newer than NVRTC: PTX of the newest architecture that it supports, which the driver
    // compiles.
    const std::string arch =
        (known == device ? "--gpu-architecture=sm_" : "--gpu-architecture=compute_") + std::to_string(known);
    std::vector<const char*> options = {arch.c_str()};
    options.insert(options.end(), kOptions.begin(), kOptions.end());
    const int failed = compile_program_(program, static_cast<int>(options.size()), options.data());
    std::string code;
    if (failed != 0) {
      code = text(program, log_size_, log_);
    } else if (known == device) {
      code = text(program, cubin_size_, cubin_);
    } else {
      code = text(program, ptx_size_, ptx_);
    }
    if (failed != 0) {
      throw Error(Code::device_failed, "NVRTC " + version_ +
                                           " does not compile a query's code for compute capability " +
                                           std::to_string(major) + "." + std::to_string(minor) + ": " + code);
    }
    return code;
  }

  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  Nvrtc() {
    int major = 0;
    int minor = 0;
    require(version_of_(&major, &minor));
    version_ = std::to_string(major) + "." + std::to_string(minor);
  }

  static void* open() {
    std::vector<std::string> folders = {""};
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const std::string root = folder_in(variable); !root.empty()) folders.push_back(root + "/lib64/");
    }
    folders.emplace_back("/usr/local/cuda/lib64/");
    // A driver cannot load the code of a newer NVRTC.
    const int newest = driver_major().value_or(kMajors.front());
    for (const std::string& folder : folders) {
      for (const int major : kMajors) {
        if (major > newest) continue;
        void* const library = dlopen((folder + "libnvrtc.so." + std::to_string(major)).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr) return library;
      }
    }
    throw Error(Code::unsupported,
                "queries on a GPU are compiled at run time by CUDA's NVRTC, but no libnvrtc.so.13 or .12 was found "
                "that is not newer than the driver (CUDA " +
                    std::to_string(newest) +
                    "); install it and add it to LD_LIBRARY_PATH or CUDA_HOME (an absolute path), or run the "
                    "query on the CPU");
  }
  static constexpr std::array kMajors = {13, 12};  // the newest one first

  /// A function of the library, as a pointer of any type.
  struct Found {
    void* address;
    template <class Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor): it stands for the pointer
      return reinterpret_cast<Function*>(address);
    }
  };
  [[nodiscard]] Found find(const char* name) const {
    void* const address = dlsym(library_, name);
    if (address == nullptr) throw Error(Code::unsupported, std::string("the NVRTC library has no ") + name);
    return {address};
  }

  void require(int status) const {
    if (status != 0) throw Error(Code::device_failed, std::string("NVRTC: ") + error_text_(status));
  }

  /// Returns the newest architecture that NVRTC compiles for and whose code runs on a device of architecture `device`.
  /// If there is none, it returns the device's own, so that NVRTC reports the error.
  [[nodiscard]] int newest_up_to(int device) const {
    int count = 0;
    require(architecture_count_(&count));
    std::vector<int> all(static_cast<std::size_t>(count));
    require(architectures_(all.data()));
    int newest = 0;
    for (const int architecture : all) {
      if (architecture <= device && architecture > newest) newest = architecture;
    }
    return newest == 0 ? device : newest;
  }

  std::string text(Program program, int (*size_of)(Program, std::size_t*), int (*copy)(Program, char*)) const {
    std::size_t size = 0;
    require(size_of(program, &size));
    std::string all(size, '\0');
    require(copy(program, all.data()));
    return all;
  }

  void* library_ = open();
  int (*version_of_)(int*, int*) = find("nvrtcVersion");
  int (*create_)(Program*, const char*, const char*, int, const char* const*,
                 const char* const*) = find("nvrtcCreateProgram");
  int (*compile_program_)(Program, int, const char* const*) = find("nvrtcCompileProgram");
  int (*destroy_)(Program*) = find("nvrtcDestroyProgram");
  int (*cubin_size_)(Program, std::size_t*) = find("nvrtcGetCUBINSize");
  int (*cubin_)(Program, char*) = find("nvrtcGetCUBIN");
  int (*ptx_size_)(Program, std::size_t*) = find("nvrtcGetPTXSize");
  int (*ptx_)(Program, char*) = find("nvrtcGetPTX");
  int (*architecture_count_)(int*) = find("nvrtcGetNumSupportedArchs");
  int (*architectures_)(int*) = find("nvrtcGetSupportedArchs");
  int (*log_size_)(Program, std::size_t*) = find("nvrtcGetProgramLogSize");
  int (*log_)(Program, char*) = find("nvrtcGetProgramLog");
  const char* (*error_text_)(int) = find("nvrtcGetErrorString");
  std::string version_;
};

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

/// Returns the beginning of a file of the cache: everything that its code depends on, so that equal hashes do no harm.
std::string head_of(const std::string& source, int major, int minor, const std::string& version) {
  std::string head = "upsweep " + std::to_string(major) + "." + std::to_string(minor) + " NVRTC " + version;
  for (const char* option : kOptions) head += std::string(" ") + option;
  return head + " " + std::to_string(source.size()) + "\n" + source + "\n";
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Returns the end of a file of the cache: a truncated or damaged file is compiled again.
std::string tail_of(std::string_view code) { return "\nupsweep " + std::to_string(hash_of(code)) + "\n"; }

/// Returns the code in a file of the cache; empty if there is none for this head, or it is damaged.
std::string code_in(const std::string& file, const std::string& head) {
  if (!file.starts_with(head)) return {};
  const std::size_t end = file.rfind("\nupsweep ");
  if (end == std::string::npos || end < head.size()) return {};
  std::string code = file.substr(head.size(), end - head.size());
  return file.substr(end) == tail_of(code) ? code : std::string();
}

/// Writes a file. A cache that cannot be written is not an error: the next run compiles again.
void write(const fs::path& path, const std::string& content) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  static std::atomic<unsigned> files{0};  // threads may compile the same source, each for its own device
  const fs::path unfinished = path.string() + "." + std::to_string(::getpid()) + "." + std::to_string(++files);
  {
    std::ofstream file(unfinished, std::ios::binary);
    file << content;
    if (!file.flush()) {
      fs::remove(unfinished, ignored);
      return;
    }
  }
  fs::rename(unfinished, path, ignored);
  if (ignored) fs::remove(unfinished, ignored);
}

}  // namespace

std::string cache_folder() {
  if (std::getenv("UPSWEEP_CACHE") != nullptr) return folder_in("UPSWEEP_CACHE");
  for (const auto& [variable, folder] : {std::pair("XDG_CACHE_HOME", "/upsweep"), {"HOME", "/.cache/upsweep"}}) {
    if (const std::string root = folder_in(variable); !root.empty()) return root + folder;
  }
  return {};
}

std::string compiled(const std::string& source, int major, int minor) {
  const Nvrtc& nvrtc = Nvrtc::get();
  const std::string head = head_of(source, major, minor, nvrtc.version());
  const std::string folder = cache_folder();
  const fs::path path = fs::path(folder) / (std::to_string(hash_of(head)) + ".cubin");
  if (!folder.empty()) {
    std::string known = code_in(read(path), head);
    if (!known.empty()) return known;
  }
  std::string code = nvrtc.compile(source, major, minor);
  if (!folder.empty()) write(path, head + code + tail_of(code));
  return code;
}

}  // namespace upsweep::gpu
